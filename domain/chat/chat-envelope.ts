import { isAbsent, isArray, type Json, type JsonObject } from '../shared/json.ts';
import type { StreamChunk } from '../shared/stream-event.ts';

/** The id, model and creation time of a translated answer. */
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

/** A whole answer that was translated to chat. `members` are those beside the choices, such as `usage`. */
export const chatCompletion = (
  names: ChatNames,
  choices: readonly JsonObject[],
  members: JsonObject,
): JsonObject => envelope('chat.completion', names, choices, members);

/** A chunk of a streamed answer that was translated to chat. */
export const chatChunk = (
  names: ChatNames,
  choices: readonly JsonObject[],
  members: JsonObject,
): JsonObject => envelope('chat.completion.chunk', names, choices, members);

/** A chunk that the gateway wrote itself: no incoming bytes can be sent in its place. */
export const writtenChunk = (chunk: JsonObject, terminal: boolean): StreamChunk<JsonObject> => ({
  kind: 'chunk',
  chunk,
  wire: undefined,
  terminal,
});

/**
 * The member of a message, delta, completion or chunk for what chat has no field for, under the provider's own
 * namespace: reasoning, citations, and parts that are neither text nor a call. None of it is ever in the content. The
 * member is omitted when it would be empty.
 */
export function providerMetadata(namespace: string, members: JsonObject): JsonObject {
  const there = Object.entries(members).filter(([, value]) => saysSomething(value));
  return there.length === 0 ? {} : { provider_metadata: { [namespace]: Object.fromEntries(there) } };
}

const saysSomething = (value: Json | undefined): boolean =>
  isArray(value) ? value.length > 0 : !isAbsent(value);
