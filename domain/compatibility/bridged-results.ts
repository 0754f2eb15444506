import { isArray, isObject, type Json, type JsonObject, objectsOf } from '../shared/json.ts';

/** Said between the results of tools and the user. It has words, because upstreams also refuse an empty message. */
const bridge: JsonObject = { role: 'assistant', content: 'Understood.' };

/** Whether a user message follows the results of tools, directly or behind system messages. */
export function hasUserAfterResults(messages: Json | undefined): boolean {
  let last: Json | undefined;
  for (const { role } of objectsOf(messages)) {
    if (role === 'user' && last === 'tool') return true;
    if (role !== 'system' && role !== 'developer') last = role;
  }
  return false;
}

/** Chat messages with one of the assistant wherever a user message directly follows the result of a tool. */
export const withBridges = (messages: Json | undefined): Json =>
  (isArray(messages) ? messages : []).flatMap((message, index, all) =>
    hasRole(message, 'user') && hasRole(all[index - 1], 'tool') ? [bridge, message] : [message],
  );

const hasRole = (message: Json | undefined, role: string): boolean =>
  isObject(message) && message['role'] === role;
