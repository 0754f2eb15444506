import { isAbsent, isArray, type Json, type JsonObject } from '../shared/json.ts';
import type { StreamChunk } from '../shared/stream-event.ts';

/** What a translated answer is called: its id, its model, and when it was made. */
interface ChatNames {
  readonly id: string;
  readonly model: string;
  readonly createdSecs: number;
}

const envelope = (
  object: string,
  { id, createdSecs, model }: ChatNames,
  choices: readonly JsonObject[],
  members: JsonObject,
): JsonObject => ({ id, object, created: createdSecs, model, choices, ...members });

/** A whole answer that was translated to chat; `members` are those beside the choices, such as `usage`. */
export const chatCompletion = (
  names: ChatNames,
  choices: readonly JsonObject[],
  members: JsonObject = {},
): JsonObject => envelope('chat.completion', names, choices, members);

/** A piece of a streamed answer that was translated to chat. */
export const chatChunk = (
  names: ChatNames,
  choices: readonly JsonObject[],
  members: JsonObject = {},
): JsonObject => envelope('chat.completion.chunk', names, choices, members);

/** A piece that the gateway wrote: nothing came in that could go out in its place. */
export const writtenChunk = (chunk: JsonObject, terminal: boolean): StreamChunk<JsonObject> => ({
  kind: 'chunk',
  chunk,
  wire: undefined,
  terminal,
});

/** The id of a call that the upstream gave none: the same for the same call, streamed or whole. */
export const callId = ({ id }: Pick<ChatNames, 'id'>, choice: number, ordinal: number): string =>
  `call_${id.replace(/^chatcmpl-/, '')}_${choice}_${ordinal}`;

/**
 * The member of a message, delta, completion or chunk that holds what chat has no field for, under the provider's own
 * namespace: reasoning, citations, parts that are neither text nor a call. None of it is ever in the content. Where
 * none of the members is there, there is no such member.
 */
export function providerMetadata(namespace: string, members: JsonObject): JsonObject {
  const there = Object.entries(members).filter(([, value]) => saysSomething(value));
  return there.length === 0 ? {} : { provider_metadata: { [namespace]: Object.fromEntries(there) } };
}

const saysSomething = (value: Json | undefined): boolean =>
  isArray(value) ? value.length > 0 : !isAbsent(value);
