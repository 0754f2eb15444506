import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { FieldValue } from '../reasoning/reasoning-request.ts';
import { disagreement } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, type Json, type JsonObject, numberOf } from '../shared/json.ts';

/**
 * The most tokens that a chat body allows for the answer, and the field that says so. The limit's validity is left to
 * the upstream. `max_tokens` is the older name of `max_completion_tokens`; when both are present they must agree.
 */
export function askedLimit({
  max_tokens: older,
  max_completion_tokens: newer,
}: JsonObject): Either<GatewayError, FieldValue<Json> | undefined> {
  if (isAbsent(newer)) return E.right(isAbsent(older) ? undefined : { field: 'max_tokens', value: older });
  return isAbsent(older) || numberOf(older) === numberOf(newer)
    ? E.right({ field: 'max_completion_tokens', value: newer })
    : E.left(disagreement('max_tokens', 'max_completion_tokens'));
}
