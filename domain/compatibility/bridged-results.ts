import { isObject, itemsIn, type Json, type JsonObject } from '../shared/json.ts';

/** Said between the results of tools and the user. It has words, because upstreams also refuse an empty message. */
const bridge: JsonObject = { role: 'assistant', content: 'Understood.' };

/** Whether a user message directly follows the result of a tool. */
export const hasUserAfterResults = (messages: Json | undefined): boolean =>
  itemsIn(messages).some(followsResult);

/** Chat messages with one of the assistant wherever a user message directly follows the result of a tool. */
export const withBridges = (messages: Json | undefined): Json =>
  itemsIn(messages).flatMap((message, index, all) =>
    followsResult(message, index, all) ? [bridge, message] : [message],
  );

const followsResult = (message: Json, index: number, all: readonly Json[]): boolean =>
  hasRole(message, 'user') && hasRole(all[index - 1], 'tool');

const hasRole = (message: Json | undefined, role: string): boolean =>
  isObject(message) && message['role'] === role;
