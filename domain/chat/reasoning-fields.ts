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
 * Native reasoning is never placed in `content`: parts of type `thinking` or `reasoning` move to
 * `provider_metadata.<provider>.reasoning`, and what is left of the content becomes plain text.
 * The same message comes back when there is nothing to move.
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

/** A part of a message's content that says what was thought. Sent back it is dropped: replay is not performed. */
export const isThinkingPart = (part: Json): boolean => isObject(part) && thinkingTypes.has(part['type']);

/** Text parts as one string; other parts cannot be text and stay an array. */
function plainText(parts: readonly Json[]): Json {
  const texts = parts.map((part) => (isObject(part) && part['type'] === 'text' ? part['text'] : undefined));
  return texts.every(isString) ? texts.join('') : parts;
}

const nonCanonical = ['reasoning_content', 'reasoning_text'] as const;

/** The fields of a message or delta that hold reasoning, the canonical one first. */
export const reasoningFields = ['reasoning', ...nonCanonical] as const;

/**
 * The field that stands for `delta.reasoning` when no canonical field exists; null counts as absent. Of both the one that
 * says something: some upstreams fill fields that they do not use with empty texts.
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
