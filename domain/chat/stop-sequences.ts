import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { FieldValue } from '../reasoning/reasoning-request.ts';
import { disagreement, fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, isString, isTexts, type Json, type JsonObject } from '../shared/json.ts';

/** Stop sequences, and the field that has them. */
export type AskedStops = FieldValue<readonly string[]>;

/**
 * The stop sequences of a chat body. `stop_sequences` is the messages API's name for `stop`; when both are present they
 * must agree.
 */
export function askedStops({
  stop,
  stop_sequences: own,
}: JsonObject): Either<GatewayError, AskedStops | undefined> {
  const stops = isString(stop) ? [stop] : stop;
  if (isAbsent(own)) return isAbsent(stops) ? E.right(undefined) : textsIn('stop', stops);
  return isAbsent(stops) || sameTexts(stops, own)
    ? textsIn('stop_sequences', own)
    : E.left(disagreement('stop_sequences', 'stop'));
}

const shapes = { stop: 'a string or an array of strings', stop_sequences: 'an array of strings' } as const;

const textsIn = (field: keyof typeof shapes, value: Json): Either<GatewayError, AskedStops> =>
  isTexts(value) ? E.right({ field, value }) : E.left(fieldError(field, `must be ${shapes[field]}.`));

const sameTexts = (one: Json, other: Json): boolean =>
  isTexts(one) &&
  isTexts(other) &&
  one.length === other.length &&
  one.every((text, at) => text === other[at]);

/**
 * The error for a sequence that models of the messages family reject, with the words `each stop sequence must contain
 * non-whitespace`: https://github.com/BerriAI/litellm/issues/3286
 */
export const blankStop = ({ field, value }: AskedStops): GatewayError | undefined =>
  value.some((text) => text.trim() === '')
    ? fieldError(field, "must have more than white space in each sequence on this model's route.")
    : undefined;
