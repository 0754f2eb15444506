import { reasoningFields } from '../reasoning/reasoning-fields.ts';
import { isFilled, isString, type JsonObject, mapObjects, objectsOf, without } from '../shared/json.ts';
import type { MessagesRule } from './chat-body.ts';

type ReasoningField = (typeof reasoningFields)[number];

/** For a message without reasoning. It is not empty, because Kimi's API counts an empty text as missing. */
const noReasoning = ' ';

/** The assistant's messages have their reasoning in this field, all of them: some upstreams refuse one without it. */
export const reasoningIn = (field: ReasoningField): MessagesRule => [
  (messages) => objectsOf(messages).some((message) => lacks(field, message)),
  (messages) =>
    mapObjects(messages, (message) => (lacks(field, message) ? withReasoning(field, message) : message)),
];

/** The assistant's messages have no reasoning, because strict APIs refuse fields that they do not know. */
export const withoutReasoning: MessagesRule = [
  (messages) => objectsOf(messages).some((message) => omitted(message) !== message),
  (messages) => mapObjects(messages, omitted),
];

const omitted = (message: JsonObject): JsonObject =>
  message['role'] === 'assistant' ? without(message, ...reasoningFields, 'reasoning_details') : message;

const lacks = (field: ReasoningField, message: JsonObject): boolean =>
  message['role'] === 'assistant' && !isFilled(message[field]);

function withReasoning(field: ReasoningField, message: JsonObject): JsonObject {
  const from = reasoningFields.find((other) => isString(message[other]) && message[other] !== '');
  return from === undefined
    ? { ...message, [field]: noReasoning }
    : { ...without(message, from), [field]: message[from] ?? noReasoning };
}
