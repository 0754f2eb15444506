import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fieldError } from './field-errors.ts';
import type { GatewayError } from './gateway-error.ts';
import {
  isAbsent,
  isArray,
  isObject,
  isString,
  isTexts,
  type Json,
  type JsonObject,
  membersOf,
  numberOf,
} from './json.ts';
import { isRespelled } from './respelled-key.ts';

/** What a field that the gateway reads must be: its name in errors, the check, and the same as JSON Schema. */
export type ValueShape = readonly [name: string, is: (value: Json) => boolean, schema: JsonObject];

/** Fields and the shape of each. */
export type FieldShapes = readonly (readonly [field: string, shape: ValueShape])[];

export const aBoolean: ValueShape = ['a boolean', (value) => typeof value === 'boolean', { type: 'boolean' }];
export const anObject: ValueShape = ['an object', isObject, { type: 'object', additionalProperties: true }];
export const anArrayOfObjects: ValueShape = [
  'an array of objects',
  (value) => isArray(value) && value.every(isObject),
  { type: 'array', items: { type: 'object', additionalProperties: true } },
];
export const aStringOrObjects: ValueShape = [
  'a string or an array of objects',
  (value) => isString(value) || anArrayOfObjects[1](value),
  { anyOf: [{ type: 'string' }, anArrayOfObjects[2]] },
];

export const aString: ValueShape = ['a string', isString, { type: 'string' }];
export const strings: ValueShape = [
  'an array of strings',
  isTexts,
  { type: 'array', items: { type: 'string' } },
];

const isFrom = (minimum: number, maximum: number, value: Json): boolean => {
  const number = numberOf(value);
  return number !== undefined && number >= minimum && number <= maximum;
};

export const numberFrom = (minimum: number, maximum: number): ValueShape => [
  `a number from ${minimum} to ${maximum}`,
  (value) => isFrom(minimum, maximum, value),
  { type: 'number', minimum, maximum },
];
export const integerFrom = (minimum: number, maximum: number): ValueShape => [
  `an integer from ${minimum} to ${maximum}`,
  (value) => Number.isInteger(numberOf(value)) && isFrom(minimum, maximum, value),
  { type: 'integer', minimum, maximum },
];

/** The largest integer of 32 bits. */
export const maxInt32 = 2 ** 31 - 1;
export const aCount: ValueShape = [
  'an integer that is not negative',
  integerFrom(0, Number.MAX_SAFE_INTEGER)[1],
  { type: 'integer', minimum: 0 },
];

/** A shape that only some upstreams require. */
export const onRoute = ([name, is, schema]: ValueShape): ValueShape => [
  `${name} on this model's route`,
  is,
  schema,
];

/** Fields that decide which model answers, where it runs, and whether its usage can be read. */
const deciding = new Set([
  'model',
  'models',
  'fallbacks',
  'provider',
  'stream',
  'stream_options',
  'include_usage',
]);

/** The `model` of a body. Every family requires one, and no upstream may read another one in its place. */
export function modelOf(body: JsonObject): Either<GatewayError, string> {
  const { model, stream_options: options } = body;
  if (!isString(model) || model === '') return E.left(fieldError('model', 'must be a non-empty string.'));
  const keys = [...Object.keys(body), ...Object.keys(membersOf(options))];
  const respelled = keys.find((key) => isRespelled(key, deciding));
  return respelled === undefined
    ? E.right(model)
    : E.left(
        fieldError(respelled, 'is another spelling of a field, which some upstreams read in its place.'),
      );
}

/**
 * An error for the first field that is present with the wrong shape. Null counts as absent. `place` is the path of an
 * object in the body, with a dot.
 */
export function shapeError(object: JsonObject, shapes: FieldShapes, place = ''): GatewayError | undefined {
  for (const [field, [name, is]] of shapes) {
    const value = object[field];
    if (!isAbsent(value) && !is(value)) return fieldError(`${place}${field}`, `must be ${name}.`);
  }
  return undefined;
}
