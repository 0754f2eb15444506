import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../shared/gateway-error.ts';
import type { Json, JsonObject } from '../shared/json.ts';
import type { MemberChanges } from '../shared/json-document.ts';

/**
 * An outbound rule's view of a chat body, written by a caller or made by translation. `value` is for reading. A rule
 * that rebuilds members takes them from `exact`, where numbers that a `number` cannot hold are raw JSON.
 */
export interface ChatBody {
  readonly value: JsonObject;
  readonly exact: (key: string) => Json | undefined;
}

/** An outbound rule: returns the top-level members that it changes in a body, or why the body cannot be sent. */
export type BodyEdit = (body: ChatBody) => Either<GatewayError, MemberChanges>;

/** A rule for the list of messages: whether it has something to change in a list, and the list as it changes it. */
export type MessagesRule = readonly [
  needed: (messages: Json | undefined) => boolean,
  rewrite: (messages: Json | undefined) => Json,
];

/** Replaces these members, or removes those whose value is `undefined`. */
export const changesOf = (
  ...changes: readonly (readonly [key: string, value: Json | undefined])[]
): Either<never, MemberChanges> => E.right(new Map(changes));

const nothing: MemberChanges = new Map();

export const noChanges: Either<never, MemberChanges> = E.right(nothing);

/** Combines edits. Each has its own members and reads the unchanged body. The first error wins. */
export const allOf =
  (edits: readonly BodyEdit[]): BodyEdit =>
  (body) => {
    let all: MemberChanges = nothing;
    for (const edit of edits) {
      const changes = edit(body);
      if (E.isLeft(changes)) return changes;
      if (changes.right.size > 0) all = all === nothing ? changes.right : new Map([...all, ...changes.right]);
    }
    return E.right(all);
  };
