import { answerInCalls } from '../chat/chat-envelope.ts';
import { reasoningFields } from '../chat/reasoning-fields.ts';
import { carriedSignature } from '../chat/thought-signature.ts';
import type { KnownCalls } from '../routing/generation-request.ts';
import {
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
import { messagesUsage } from './messages-usage.ts';

/** The names in a translated answer: an id that the gateway made, and the model as the caller asked for it. */
export interface MessageNames {
  readonly id: string;
  readonly model: string;
  readonly calls?: KnownCalls | undefined;
}

/** The name of a called tool as the caller wrote it. */
export const callersToolName = ({ calls }: MessageNames, name: string): string =>
  calls?.toolNames.get(name) ?? name;

/**
 * The pieces of the one choice that is translated: those with index 0, and a choice without an index counts as 0. Some
 * upstreams put the text of one answer in one of them, and its calls in another (rule 35.44).
 */
export const firstChoicePieces = (choices: Json | undefined): readonly JsonObject[] =>
  objectsOf(choices).filter(({ index }) => (numberOf(index) ?? 0) === 0);

/**
 * The text of a message or delta: a string or number, its text parts, or the object that a schema asked for. For a
 * spoken message it is the transcript.
 */
export const textOf = ({ content, audio }: JsonObject): string => writtenIn(content) || spokenIn(audio);

function writtenIn(content: Json | undefined): string {
  if (!isArray(content)) return asText(content);
  return content.map((part) => (isObject(part) && part['type'] === 'text' ? partText(part) : '')).join('');
}

const partText = ({ text }: JsonObject): string => (isString(text) ? text : '');

const spokenIn = (audio: Json | undefined): string =>
  isObject(audio) && isString(audio['transcript']) ? audio['transcript'] : '';

/** The field of a message or delta with sound, an image or anything else for which a message has no block. */
export function untranslatableField(message: JsonObject): string | undefined {
  const { content, images, audio, provider_metadata: metadata } = message;
  if (isArray(images) && images.length > 0) return 'images';
  if (isObject(audio) && isString(audio['data']) && audio['data'] !== '') return 'audio';
  if (objectsOf(content).some(({ type }) => type !== 'text')) return 'content';
  return isObject(metadata) && Object.values(metadata).some(keepsParts) ? 'provider_metadata' : undefined;
}

/** Whether it keeps parts of a native answer for which chat has no field. */
const keepsParts = (own: Json | undefined): boolean =>
  isObject(own) && (objectsOf(own['parts']).length > 0 || objectsOf(own['blocks']).length > 0);

/** An answer without text would look as if the model had nothing to say. */
export const untranslatableMessage = (field: string): string =>
  `The upstream's answer has no words, and its \`${field}\` cannot be told in a message.`;

/** The text of the model's refusal. */
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
 * Thinking is a string, or blocks whose `thinking`, `text` or `summary` is a string or blocks in turn. Some gateways
 * pass on the converse block unchanged.
 */
function thinkingIn(value: Json | undefined, levels: number): string {
  if (isString(value)) return value;
  if (levels === 0) return '';
  if (isArray(value)) return value.map((block) => thinkingIn(block, levels - 1)).join('');
  if (!isObject(value)) return '';
  const { thinking, text, summary, reasoningText, reasoningContent } = value;
  return thinkingIn(thinking ?? text ?? summary ?? reasoningText ?? reasoningContent, levels - 1);
}

/** A tool call, or a piece of one; fields that it does not contain are empty. */
export interface CallPiece {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** The signature that the upstream expects back with the call. */
  readonly signature: string | undefined;
}

/** The calls of a message or delta. */
export const callsOf = ({ tool_calls }: JsonObject): readonly CallPiece[] =>
  objectsOf(tool_calls).map((call) => pieceOf(call, calleeOf(call)));

/** The callee: a function, or a custom tool, which takes free text instead of arguments. */
export const calleeOf = ({ function: callee, custom }: JsonObject): Json | undefined =>
  isFilled(callee) || !isObject(custom) ? callee : { ...custom, arguments: custom['input'] ?? null };

/**
 * The single call of the older API. Many upstreams always send the field, even when there is no call, and some repeat
 * in it the call that `tool_calls` has.
 */
export function legacyCallOf(message: JsonObject): CallPiece | undefined {
  const { function_call } = message;
  if (!isObject(function_call) || !callsOf(message).every(isEmptyCall)) return undefined;
  const piece = pieceOf({}, function_call);
  return isEmptyCall(piece) ? undefined : piece;
}

function pieceOf(call: JsonObject, callee: Json | undefined): CallPiece {
  const { name, arguments: text } = membersOf(callee);
  return {
    index: numberOf(call['index']),
    id: idInCall(call),
    name: isString(name) ? name : '',
    text: asText(text),
    signature: carriedSignature(call),
  };
}

/** The id of a call, which some upstreams send as a number (rule 35.52). */
export const idInCall = ({ id }: JsonObject): string => plainText(id);

/** Some upstreams send arguments, or the JSON that a schema asked for, as the object itself. */
const asText = (value: Json | undefined): string =>
  isObject(value) && !isDeeperThan(value, maxJsonDepth) ? JSON.stringify(value) : plainText(value);

/** A text. Some upstreams send a piece that consists of digits as a number. */
const plainText = (value: Json | undefined): string => {
  if (isString(value)) return value;
  return numberOf(value) === undefined ? '' : JSON.stringify(value);
};

/** Whether every field of a call is empty: some upstreams send such calls. */
export const isEmptyCall = ({ id, name, text }: Omit<CallPiece, 'index' | 'signature'>): boolean =>
  id === '' && name === '' && text === '';

/**
 * The ids of an answer's calls. Messages callers find the result of a call by its id, but some upstreams give none, some
 * give all calls of an answer the same one, and some begin with the same ids in each answer of a conversation. A call
 * without an id of its own gets a generated one, the same whether the answer is streamed or whole (rule 35.40).
 */
export class CallIds {
  private readonly answer: string;
  private readonly given: Set<string>;

  constructor({ id, calls }: MessageNames) {
    this.answer = answerInCalls(id);
    this.given = new Set(calls?.ids);
  }

  /** `ordinal` is the call's place in the answer. */
  give(id: string, ordinal: number): string {
    if (id === '' || this.given.has(id)) return `toolu_${this.answer}_${ordinal}`;
    this.given.add(id);
    return id;
  }
}

/** Some models call a tool without parameters with empty arguments, others with null. */
export const isEmptyArguments = (text: string): boolean => text.trim() === '' || text.trim() === 'null';

/**
 * The input of a call, from its arguments, with every digit. Arguments that are not a JSON object stay text, under
 * `_raw_arguments`: the caller's tool then refuses them, and the model sees that refusal.
 */
export function inputOf(text: string): JsonObject {
  if (isEmptyArguments(text)) return {};
  return exactObject(text) ?? writtenTwice(text) ?? { _raw_arguments: text };
}

/** Some upstreams send the object's text encoded once more as a JSON string. */
function writtenTwice(text: string): JsonObject | undefined {
  const inner = parseJson(text);
  return isString(inner) ? exactObject(inner) : undefined;
}

/**
 * The object in a text, with every digit; `undefined` when the text is not an object, or one nested too deeply to
 * traverse.
 */
export function exactObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isObject(value) && !isDeeperThan(value, maxJsonDepth) ? parseExactObject(text) : undefined;
}

/**
 * In a whole message clients also read the breakdown of cache writes. When there are writes, their breakdown is
 * unknown.
 */
const nothingWritten: JsonObject = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };

/** A whole message, and the message with which a stream begins. */
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
