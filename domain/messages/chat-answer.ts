import { reasoningFields } from '../reasoning/reasoning-fields.ts';
import type { KnownCalls } from '../routing/generation-request.ts';
import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
  objectsOf,
  textIn,
  membersOf,
} from '../shared/json.ts';
import { meantJsonText, meantText } from '../shared/meant-text.ts';
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
  if (!isArray(content)) return meantJsonText(content);
  return objectsOf(content)
    .map(({ type, text }) => (type === 'text' ? textIn(text) : ''))
    .join('');
}

const spokenIn = (audio: Json | undefined): string => textIn(membersOf(audio)['transcript']);

/** The field of a message or delta with sound, an image or anything else for which a message has no block. */
export function untranslatableField(message: JsonObject): string | undefined {
  const { content, images, audio, provider_metadata: metadata } = message;
  if (isArray(images) && images.length > 0) return 'images';
  if (textIn(membersOf(audio)['data']) !== '') return 'audio';
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
export const refusalOf = ({ refusal }: JsonObject): string => textIn(refusal);

/**
 * The reasoning of a message or delta: from its own field, from the blocks in `reasoning_details`, or from
 * `provider_metadata.<provider>.reasoning`.
 */
export function reasoningOf(message: JsonObject): string {
  for (const field of reasoningFields) {
    const value = meantText(message[field]) || thinkingIn(message[field], 3);
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
