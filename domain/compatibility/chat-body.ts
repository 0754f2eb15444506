import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { GatewayError } from '../shared/gateway-error.ts';
import type { Json, JsonObject } from '../shared/json.ts';
import type { MemberChanges } from '../shared/json-document.ts';

/**
 * What an outbound rule sees of a chat body, whether a caller wrote it or a translation made it. `value` is for
 * reading. What a rule rebuilds it takes from `exact`, where numbers that a `number` cannot hold are raw JSON.
 */
export interface ChatBody {
  readonly value: JsonObject;
  readonly exact: (key: string) => Json | undefined;
}

/** An outbound rule: the top-level members that it changes in a body, or why the body cannot be sent. */
export type BodyEdit = (body: ChatBody) => Either<GatewayError, MemberChanges>;

/** These members are replaced, and taken away where there is no value. */
export const changesOf = (
  ...changes: readonly (readonly [key: string, value: Json | undefined])[]
): Either<never, MemberChanges> => E.right(new Map(changes));

const nothing: MemberChanges = new Map();

/** The body stays as it is. */
export const noChanges: Either<never, MemberChanges> = E.right(nothing);

/** The changes of all edits. Each has members of its own and reads the body as it came; the first error stands. */
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
