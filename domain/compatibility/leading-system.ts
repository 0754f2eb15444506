import { oneContent } from '../messages/one-content.ts';
import { isArray, isObject, type Json, type JsonObject, objectsOf } from '../shared/json.ts';

/** Whether the system's words stand anywhere but in one message at the front. */
export const isScattered = (messages: Json | undefined): boolean =>
  objectsOf(messages).slice(1).some(isOfSystem);

/**
 * Chat messages with all of the system's words in one message at the front, for upstreams whose templates know no other
 * place for them. It is what the first of them is in everything but its content.
 */
export function withLeadingSystem(messages: Json | undefined): Json {
  const all = isArray(messages) ? messages : [];
  const system = objectsOf(messages).filter(isOfSystem);
  const content = oneContent(system.map((message) => message['content'] ?? null));
  const others = all.filter((message) => !isObject(message) || !isOfSystem(message));
  return [{ ...system[0], content }, ...others];
}

const isOfSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer';
