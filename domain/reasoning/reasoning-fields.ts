import {
  isAbsent,
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  without,
} from '../shared/json.ts';

/**
 * Native reasoning is never placed in `content`: parts of type `thinking`, `redacted_thinking` or `reasoning` move to
 * `provider_metadata.<provider>.reasoning`, and the rest of the content becomes plain text. Returns the same message
 * when there is nothing to move.
 */
export function withoutThinkingContent(message: JsonObject, namespace: string): JsonObject {
  const content = message['content'];
  if (!isArray(content) || !content.some(isThinkingPart)) return message;
  const metadata = membersOf(message['provider_metadata']);
  const own = membersOf(metadata[namespace]);
  return {
    ...message,
    content: plainText(content.filter((part) => !isThinkingPart(part))),
    provider_metadata: {
      ...metadata,
      [namespace]: { ...own, reasoning: content.filter(isThinkingPart) },
    },
  };
}

export const hasThinkingContent = (message: JsonObject): boolean => {
  const content = message['content'];
  return isArray(content) && content.some(isThinkingPart);
};

const thinkingTypes: ReadonlySet<Json | undefined> = new Set(['thinking', 'redacted_thinking', 'reasoning']);

/** Whether a part of a message's content is reasoning. When sent back it is dropped: replay is not performed. */
export const isThinkingPart = (part: Json): boolean => isObject(part) && thinkingTypes.has(part['type']);

/** Text parts joined to one string. Parts that are not all text stay an array. */
function plainText(parts: readonly Json[]): Json {
  const texts = parts.map((part) => (isObject(part) && part['type'] === 'text' ? part['text'] : undefined));
  return texts.every(isString) ? texts.join('') : parts;
}

const nonCanonical = ['reasoning_content', 'reasoning_text'] as const;

/** The fields of a message or delta for reasoning, the canonical one first. */
export const reasoningFields = ['reasoning', ...nonCanonical] as const;

/**
 * The field to use as `delta.reasoning` when the canonical field is absent; null counts as absent. A field with text
 * wins, because some upstreams fill fields that they do not use with empty strings.
 */
export function movableReasoning(delta: JsonObject): (typeof nonCanonical)[number] | undefined {
  if (!isAbsent(delta['reasoning'])) return undefined;
  const found = nonCanonical.find((field) => isString(delta[field]) && delta[field] !== '');
  return found ?? nonCanonical.find((field) => delta[field] === '');
}

/** `delta.reasoning_content` and `delta.reasoning_text` map to `delta.reasoning`: moved, not copied. */
export function withCanonicalReasoning(delta: JsonObject): JsonObject {
  const field = movableReasoning(delta);
  return field === undefined ? delta : { ...without(delta, field), reasoning: delta[field] };
}
