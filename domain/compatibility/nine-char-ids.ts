import { ConversationIds, type NameCall } from '../calls/conversation-ids.ts';
import { isArray, isString, type Json, type JsonObject, mapObjects, objectsOf } from '../shared/json.ts';
import type { MessagesRule } from './chat-body.ts';

/** The only ids of tool calls that Mistral's API and the templates of its models take. */
const nineChars = /^[A-Za-z0-9]{9}$/;

/** Tool calls have ids of nine letters and digits, each its own, and results have those of their calls. */
export const nineCharIds: MessagesRule = [
  (messages) => {
    const ids = callIdsIn(messages);
    return new Set(ids).size < ids.length || [...ids, ...resultIdsIn(messages)].some(isForeign);
  },
  (messages) => {
    const ids = new ConversationIds(numbered([...callIdsIn(messages), ...resultIdsIn(messages)]));
    return mapObjects(messages, (message) => withIds(message, ids));
  },
];

const isForeign = (id: string): boolean => !nineChars.test(id);

const callIdsIn = (messages: Json | undefined): readonly string[] =>
  objectsOf(messages)
    .flatMap(({ tool_calls: calls }) => objectsOf(calls).map(({ id }) => id))
    .filter(isString);

const resultIdsIn = (messages: Json | undefined): readonly string[] =>
  objectsOf(messages)
    .map(({ tool_call_id: id }) => id)
    .filter(isString);

function withIds(message: JsonObject, ids: ConversationIds): JsonObject {
  const { tool_calls: calls, tool_call_id: id } = message;
  if (isString(id)) return { ...message, tool_call_id: ids.ofResult(id) };
  if (!isArray(calls)) return message;
  ids.beginAnswer();
  const named = (call: JsonObject) => (isString(call['id']) ? { ...call, id: ids.ofCall(call['id']) } : call);
  return { ...message, tool_calls: mapObjects(calls, named) };
}

/**
 * The first call of a valid id keeps it. Any other gets the next number that is no id of the conversation, so that a
 * conversation that grows keeps its ids, and the upstream finds it in its cache.
 */
function numbered(ids: readonly string[]): NameCall {
  const taken = new Set(ids);
  const names = new Map<string, string>();
  let last = 0;
  const next = (): string => {
    let name: string;
    do name = String((last += 1)).padStart(9, '0');
    while (taken.has(name));
    return name;
  };
  return (id, earlier) => {
    if (earlier === 0 && !isForeign(id)) return id;
    const call = `${earlier} ${id}`;
    const name = names.get(call) ?? next();
    names.set(call, name);
    return name;
  };
}
