import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { FieldValue } from '../reasoning/reasoning-request.ts';
import { disagreement } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isString, isTexts, type Json, type JsonObject } from '../shared/json.ts';

/**
 * The stop sequences of a chat body, and the field that has them. Their validity is left to the upstream.
 * `stop_sequences` is the messages API's name for `stop`; when both are present they must agree.
 */
export function askedStops({
  stop,
  stop_sequences: own,
}: JsonObject): Either<GatewayError, FieldValue<Json> | undefined> {
  const stops = isString(stop) ? [stop] : stop;
  if (isAbsent(own)) return E.right(isAbsent(stops) ? undefined : { field: 'stop', value: stops });
  return isAbsent(stops) || sameTexts(stops, own)
    ? E.right({ field: 'stop_sequences', value: own })
    : E.left(disagreement('stop_sequences', 'stop'));
}

const sameTexts = (one: Json, other: Json): boolean =>
  isTexts(one) &&
  isTexts(other) &&
  one.length === other.length &&
  one.every((text, at) => text === other[at]);
