import { isObject, type Json, type JsonObject, objectsOf, itemsIn } from '../shared/json.ts';
import { oneContent } from '../shared/message-content.ts';

/** Whether any system message is not at the front. */
export const isScattered = (messages: Json | undefined): boolean =>
  objectsOf(messages).slice(1).some(isOfSystem);

/**
 * Chat messages with all system messages merged into one at the front, for upstreams whose templates allow no other
 * place. It is the first system message with its content replaced.
 */
export function withLeadingSystem(messages: Json | undefined): Json {
  const system = objectsOf(messages).filter(isOfSystem);
  const content = oneContent(system.map((message) => message['content'] ?? null));
  const others = itemsIn(messages).filter((message) => !isObject(message) || !isOfSystem(message));
  return [{ ...system[0], content }, ...others];
}

const isOfSystem = ({ role }: JsonObject): boolean => role === 'system' || role === 'developer';
