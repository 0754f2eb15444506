import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from './gateway-error.ts';
import { isAbsent, isArray, isObject, isString, type Json, type JsonObject, membersOf } from './json.ts';
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
  if (!isString(model) || model === '')
    return E.left(invalidRequest('`model` must be a non-empty string.', 'model'));
  const keys = [...Object.keys(body), ...Object.keys(membersOf(options))];
  const respelled = keys.find((key) => isRespelled(key, deciding));
  return respelled === undefined
    ? E.right(model)
    : E.left(
        invalidRequest(
          `\`${respelled}\` is another spelling of a field, which some upstreams read in its place.`,
          respelled,
        ),
      );
}

/** An error for the first field that is present with the wrong shape. Null counts as absent. */
export function shapeError(body: JsonObject, shapes: FieldShapes): GatewayError | undefined {
  for (const [field, [name, is]] of shapes) {
    const value = body[field];
    if (!isAbsent(value) && !is(value)) return invalidRequest(`\`${field}\` must be ${name}.`, field);
  }
  return undefined;
}
