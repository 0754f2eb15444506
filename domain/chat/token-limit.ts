import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { FieldValue } from '../reasoning/reasoning-request.ts';
import { disagreement } from '../shared/field-errors.ts';
import { integerFrom, maxInt32, shapeError } from '../shared/field-shapes.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, type JsonObject, numberOf } from '../shared/json.ts';

/** Integers of the platforms' APIs have 32 bits. */
const aLimit = integerFrom(1, maxInt32);

/**
 * The most tokens that a chat body allows for the answer, and the field that says so. How many a model can write is left
 * to the upstream. `max_tokens` is the older name of `max_completion_tokens`; when both are present they must agree.
 */
export function askedLimit(body: JsonObject): Either<GatewayError, FieldValue<number> | undefined> {
  const { max_tokens: older, max_completion_tokens: newer } = body;
  const field = isAbsent(newer) ? 'max_tokens' : 'max_completion_tokens';
  if (field !== 'max_tokens' && !isAbsent(older) && numberOf(older) !== numberOf(newer))
    return E.left(disagreement('max_tokens', field));
  const fault = shapeError(body, [[field, aLimit]]);
  const value = numberOf(body[field]);
  return fault === undefined ? E.right(value === undefined ? undefined : { field, value }) : E.left(fault);
}
