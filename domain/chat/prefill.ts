import { isString, type JsonObject, objectsOf } from '../shared/json.ts';

/**
 * A conversation that ends with a message of the assistant for the model to continue, without the white space at its
 * end. Models of the messages family reject that white space, and chat upstreams accept it (rule 17.34).
 */
export function withoutTrailingSpace(messages: readonly JsonObject[]): readonly JsonObject[] {
  const last = messages.at(-1);
  const blocks = objectsOf(last?.['content']);
  const end = blocks.at(-1);
  if (last?.['role'] !== 'assistant' || !isString(end?.['text'])) return messages;
  const text = end['text'].trimEnd();
  return [...messages.slice(0, -1), { ...last, content: [...blocks.slice(0, -1), { ...end, text }] }];
}
