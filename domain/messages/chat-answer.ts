import { reasoningFields } from '../chat/reasoning-fields.ts';
import { carriedSignature } from '../chat/thought-signature.ts';
import { billedOutputTokens } from '../ledger/price-usage.ts';
import { generationUsage, tokenCount } from '../ledger/usage.ts';
import {
  isAbsent,
  isArray,
  isDeeperThan,
  isFilled,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
  objectsOf,
  parseExactObject,
  parseJson,
} from '../shared/json.ts';
import { maxJsonDepth } from '../shared/limits.ts';

/** What a translated answer is called: an id of the gateway's own, and the model as the caller asked for it. */
export interface MessageNames {
  readonly id: string;
  readonly model: string;
}

/** The one choice that is translated; an upstream that numbers none means the first. */
export function firstChoice(choices: Json | undefined): JsonObject | undefined {
  if (!isArray(choices)) return undefined;
  for (const choice of choices) if (isObject(choice) && (numberOf(choice['index']) ?? 0) === 0) return choice;
  return undefined;
}

/**
 * The text of a message or delta: a string or number, its text parts, or the object that a schema asked for; of one
 * that is spoken, what is said.
 */
export const textOf = ({ content, audio }: JsonObject): string => writtenIn(content) || spokenIn(audio);

function writtenIn(content: Json | undefined): string {
  if (!isArray(content)) return asText(content);
  return content.map((part) => (isObject(part) && part['type'] === 'text' ? partText(part) : '')).join('');
}

const partText = ({ text }: JsonObject): string => (isString(text) ? text : '');

const spokenIn = (audio: Json | undefined): string =>
  isObject(audio) && isString(audio['transcript']) ? audio['transcript'] : '';

/** The field of a message or delta that holds sound, an image or anything else for which a message has no block. */
export function wordlessIn(message: JsonObject): string | undefined {
  const { content, images, audio, provider_metadata: metadata } = message;
  if (isArray(images) && images.length > 0) return 'images';
  if (isObject(audio) && isString(audio['data']) && audio['data'] !== '') return 'audio';
  if (objectsOf(content).some(({ type }) => type !== 'text')) return 'content';
  return isObject(metadata) && Object.values(metadata).some(keepsParts) ? 'provider_metadata' : undefined;
}

/** Parts of a native answer for which chat has no word itself. */
const keepsParts = (own: Json | undefined): boolean =>
  isObject(own) && (objectsOf(own['parts']).length > 0 || objectsOf(own['blocks']).length > 0);

/** An answer without a word would look like one in which the model had nothing to say. */
export const wordless = (field: string): string =>
  `The upstream's answer has no words, and its \`${field}\` cannot be told in a message.`;

/** The text with which the model refuses. */
export const refusalOf = ({ refusal }: JsonObject): string => (isString(refusal) ? refusal : '');

/**
 * The reasoning of a message or delta: from its own field, from the blocks in `reasoning_details`, or from
 * `provider_metadata.<provider>.reasoning`.
 */
export function reasoningOf(message: JsonObject): string {
  for (const field of reasoningFields) {
    const value = plainText(message[field]) || thinkingIn(message[field], 3);
    if (value !== '') return value;
  }
  const { reasoning_details: details, provider_metadata: metadata } = message;
  const detailed = thinkingIn(details, 2);
  if (detailed !== '' || !isObject(metadata)) return detailed;
  return Object.values(metadata)
    .map((own) => (isObject(own) ? thinkingIn(own['reasoning'], 4) : ''))
    .join('');
}

/**
 * Thinking is a string, or blocks whose `thinking`, `text` or `summary` is a string or blocks again. Some gateways pass
 * on the block of converse as it is.
 */
function thinkingIn(value: Json | undefined, levels: number): string {
  if (isString(value)) return value;
  if (levels === 0) return '';
  if (isArray(value)) return value.map((block) => thinkingIn(block, levels - 1)).join('');
  if (!isObject(value)) return '';
  const { thinking, text, summary, reasoningText, reasoningContent } = value;
  return thinkingIn(thinking ?? text ?? summary ?? reasoningText ?? reasoningContent, levels - 1);
}

/** A tool call, or a piece of one; what it does not say is empty. */
export interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** What its upstream wants to see again with it. */
  readonly signature: string | undefined;
}

/** The calls of a message or delta. */
export const callsOf = ({ tool_calls }: JsonObject): readonly CallPiece[] =>
  objectsOf(tool_calls).map((call) => pieceOf(call, calleeOf(call)));

/** What is called: a function, or a custom tool, which takes text of any kind instead of arguments. */
export const calleeOf = ({ function: callee, custom }: JsonObject): Json | undefined =>
  isFilled(callee) || !isObject(custom) ? callee : { ...custom, arguments: custom['input'] ?? null };

/** The single call of the older API; many upstreams send the field always, and mean nothing by it. */
export function legacyCallOf({ function_call }: JsonObject): CallPiece | undefined {
  if (!isObject(function_call)) return undefined;
  const piece = pieceOf({}, function_call);
  return saysNothing(piece) ? undefined : piece;
}

function pieceOf(call: JsonObject, callee: Json | undefined): CallPiece {
  const { name, arguments: text } = membersOf(callee);
  return {
    index: numberOf(call['index']),
    id: isString(call['id']) ? call['id'] : '',
    name: isString(name) ? name : '',
    text: asText(text),
    signature: carriedSignature(call),
  };
}

/** Some upstreams send arguments, or the JSON that a schema asked for, as the object itself. */
const asText = (value: Json | undefined): string =>
  isObject(value) && !isDeeperThan(value, maxJsonDepth) ? JSON.stringify(value) : plainText(value);

/** A text; a piece of digits alone is one too, where an upstream sends it as the number that it looks like. */
const plainText = (value: Json | undefined): string => {
  if (isString(value)) return value;
  return numberOf(value) === undefined ? '' : JSON.stringify(value);
};

/** Some upstreams send calls in which every field is empty. */
export const saysNothing = ({ id, name, text }: Omit<CallPiece, 'index' | 'signature'>): boolean =>
  id === '' && name === '' && text === '';

/** The id of a call that the upstream gave none: the same for the same call, streamed or whole. */
export const madeUpId = (answerId: string, ordinal: number): string =>
  `toolu_${answerId.replace(/^msg_/, '')}_${ordinal}`;

/** Some models call a tool that has no parameters with nothing, others with null. */
export const meansNoArguments = (text: string): boolean => text.trim() === '' || text.trim() === 'null';

/**
 * The input that arguments mean, with every digit. Arguments that are no JSON object stay what they are, as text
 * under `_raw_arguments`: the caller's tool refuses them, and the model hears of it.
 */
export function inputOf(text: string): JsonObject {
  if (meansNoArguments(text)) return {};
  return exactObject(text) ?? writtenTwice(text) ?? { _raw_arguments: text };
}

/** Some upstreams send the text of the object as a JSON string once more. */
function writtenTwice(text: string): JsonObject | undefined {
  const inner = parseJson(text);
  return isString(inner) ? exactObject(inner) : undefined;
}

/** The object that a text is, with every digit; undefined: it is none, or one that is nested too deeply to be walked. */
export function exactObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isObject(value) && !isDeeperThan(value, maxJsonDepth) ? parseExactObject(text) : undefined;
}

/**
 * Usage in the messages family's words: what was read from a cache and written to one is not among its input tokens, and
 * output is what is billed as such, with what was thought among it where that is told. What is unknown is 0.
 */
export function messagesUsage(reported: Json | undefined): JsonObject {
  const usage = membersOf(reported);
  const details = membersOf(usage['prompt_tokens_details']);
  const counted = generationUsage(usage);
  const prompt = counted?.promptTokens ?? tokenCount(usage['prompt_tokens']) ?? 0;
  const read = tokenCount(details['cached_tokens'] ?? cachedIn(usage)) ?? 0;
  const written = tokenCount(writtenTo(details) ?? usage['cache_creation_input_tokens']) ?? 0;
  const output =
    counted === undefined
      ? (tokenCount(usage['completion_tokens']) ?? 0)
      : Number(billedOutputTokens(counted));
  return {
    input_tokens: uncached(usage, prompt, read + written),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    output_tokens: output,
    ...thoughtIn(usage, output),
  };
}

/** What was thought is told in the details, or beside the output, where some upstreams count more than is among it. */
function thoughtIn(usage: JsonObject, output: number): JsonObject {
  const { completion_tokens_details: details, reasoning_tokens: beside } = usage;
  const detailed = isObject(details) ? tokenCount(details['reasoning_tokens']) : undefined;
  const thought = detailed ?? tokenCount(beside);
  const isAmong = thought !== undefined && (thought === detailed || thought <= output);
  return isAmong ? { output_tokens_details: { thinking_tokens: thought } } : {};
}

/** Tokens of the prompt beside the cache. A count that has the name of the messages family leaves the cache out already. */
const uncached = (usage: JsonObject, prompt: number, cached: number): number =>
  isAbsent(usage['prompt_tokens']) ? (tokenCount(usage['input_tokens']) ?? 0) : Math.max(0, prompt - cached);

/** Where upstreams tell what was read from a cache that tell no details of the prompt. */
const cachedIn = (usage: JsonObject): Json | undefined =>
  usage['cached_tokens'] ??
  usage['num_cached_tokens'] ??
  usage['prompt_cache_hit_tokens'] ??
  usage['cache_read_input_tokens'];

/** What upstreams and routers call the tokens of a prompt that were written to a cache. */
const writtenTo = (details: JsonObject): Json | undefined =>
  details['cache_write_tokens'] ??
  details['cache_creation_input_tokens'] ??
  details['cache_creation_tokens'] ??
  details['cached_creation_tokens'];

/** In a whole message clients also read the breakdown of cache writes; how the writes divide is not known. */
const nothingWritten: JsonObject = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };

/** A message as it is told whole, and as a stream begins it. */
export const messageOf = (
  { id, model }: MessageNames,
  content: readonly JsonObject[],
  stop: string | null,
  reported: Json | undefined,
): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: withBreakdown(messagesUsage(reported)),
});

const withBreakdown = (usage: JsonObject): JsonObject => ({
  ...usage,
  cache_creation: usage['cache_creation_input_tokens'] === 0 ? nothingWritten : null,
});
