import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from './gateway-error.ts';
import { isAbsent, isArray, isObject, isString, type Json, type JsonObject } from './json.ts';

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

/** The `model` of a body. Every family requires one. */
export const modelOf = ({ model }: JsonObject): Either<GatewayError, string> =>
  isString(model) && model !== ''
    ? E.right(model)
    : E.left(invalidRequest('`model` must be a non-empty string.', 'model'));

/** An error for the first field that is present with the wrong shape. Null counts as absent. */
export function shapeError(body: JsonObject, shapes: FieldShapes): GatewayError | undefined {
  for (const [field, [name, is]] of shapes) {
    const value = body[field];
    if (!isAbsent(value) && !is(value)) return invalidRequest(`\`${field}\` must be ${name}.`, field);
  }
  return undefined;
}
