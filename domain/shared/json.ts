/** A JSON value. Numbers that a `number` cannot hold exactly are kept by {@link parseExact} as raw JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const isString = (value: Json | undefined): value is string => typeof value === 'string';

/** The objects of an array member; anything else in it is passed over. */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] =>
  isArray(value) ? value.filter(isObject) : [];

/** The object without one of its members; the same object when it has no such member. */
export function without(object: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(object, key)) return object;
  const { [key]: _, ...rest } = object;
  return rest;
}

/** Objects merge deeply; arrays, scalars and null replace (CONTRACT: `extra_body`). */
export function deepMerge(base: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, Json | undefined> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const present = merged[key];
    merged[key] = isMergeable(present) && isObject(value) ? deepMerge(present, value) : value;
  }
  return merged;
}

const isMergeable = (value: Json | undefined): value is JsonObject =>
  isObject(value) && !exact.isRawJSON(value);

interface ReviverContext {
  readonly source?: string;
}
interface ExactJson {
  parse(text: string, revive: (key: string, value: Json, context: ReviverContext) => unknown): unknown;
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): boolean;
}
const exact = JSON as unknown as ExactJson;

/** A number, as text, that printing the parsed `number` might spell in another way. */
const digitsAtRisk = /\d\.\d|\d[eE][+-]?\d|\d{16}|-0/;

/**
 * Parses so that `JSON.stringify` gives every number back digit for digit.
 * Such numbers are opaque: read values from a plain `JSON.parse`, use this one to rebuild what is sent on.
 */
export function parseExact(text: string): Json {
  if (!digitsAtRisk.test(text)) return JSON.parse(text) as Json;
  return exact.parse(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined && String(value) !== context.source
      ? exact.rawJSON(context.source)
      : value,
  ) as Json;
}
