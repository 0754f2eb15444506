import * as E from 'fp-ts/lib/Either.js';
import { parseText } from './parse-text.ts';

/** A JSON value. {@link parseExact} keeps numbers that a `number` cannot hold exactly as raw JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** Whether a value is an object with members. A number that {@link parseExact} keeps as raw JSON is not. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !exact.isRawJSON(value);

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const isString = (value: Json | undefined): value is string => typeof value === 'string';

/** Null counts as absent wherever a field is read. */
export const isAbsent = (value: Json | undefined): value is undefined | null =>
  value === undefined || value === null;

/** Whether a value is present and is not an empty string or array. */
export const isFilled = (value: Json | undefined): boolean =>
  !isAbsent(value) && value !== '' && !(isArray(value) && value.length === 0);

/** The object itself, or an empty one when the value is not an object. */
export const membersOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

/** The items of an array; none when the value is not an array. */
export const itemsIn = (value: Json | undefined): readonly Json[] => (isArray(value) ? value : []);

/** The string itself, or an empty one when the value is not a string. */
export const textIn = (value: Json | undefined): string => (isString(value) ? value : '');

/** The objects in an array; other items are skipped. */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] => itemsIn(value).filter(isObject);

/** Whether a value is an array of strings only. */
export const isTexts = (value: Json | undefined): value is readonly string[] =>
  isArray(value) && value.every(isString);

/** Calls `take` with every string in a value, at any depth. Keys are not visited. */
export function eachText(value: Json, take: (text: string) => void): void {
  if (isString(value)) take(value);
  else if (isArray(value)) for (const item of value) eachText(item, take);
  else if (isObject(value)) for (const member of Object.values(value)) eachText(member ?? null, take);
}

/** The array with its objects changed. Other items stay. */
export const mapObjects = (value: Json | undefined, change: (object: JsonObject) => Json): readonly Json[] =>
  itemsIn(value).map((item) => (isObject(item) ? change(item) : item));

/** The object without these members, or the same object when it has none of them. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(object, key))) return object;
  const gone = new Set(keys);
  return Object.fromEntries(Object.entries(object).filter(([key]) => !gone.has(key)));
}

/** The members that are present; null counts as absent. */
export const present = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => !isAbsent(value)));

/** The object with only these members. */
export const only = (object: JsonObject, keys: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => keys.has(key)));

/** Objects merge deeply; arrays, scalars and null replace (rule 32.38). The same object when `over` is empty. */
export function deepMerge(base: JsonObject, over: JsonObject): JsonObject {
  const changes = Object.entries(over).map(([key, value]) => {
    const present = Object.hasOwn(base, key) ? base[key] : undefined;
    return [key, isObject(present) && isObject(value) ? deepMerge(present, value) : value] as const;
  });
  return changes.length === 0 ? base : { ...base, ...Object.fromEntries(changes) };
}

interface ExactJson {
  rawJSON(text: string): unknown;
  isRawJSON(value: unknown): value is { readonly rawJSON: string };
}
const exact = JSON as unknown as ExactJson;

/** The value of a number, including one that {@link parseExact} keeps as raw JSON (`12.0`). */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return exact.isRawJSON(value) ? Number(value.rawJSON) : undefined;
}

/** A whole number above 0 that a `number` holds exactly. */
export function isPositiveInteger(value: Json | undefined): value is Json {
  const count = numberOf(value);
  return count !== undefined && Number.isSafeInteger(count) && count > 0;
}

/** Whether arrays and objects nest deeper than `levels`. The walk itself goes no deeper. */
export function isDeeperThan(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

/** The parsed text, or `undefined` when it is not JSON. */
export function parseJson(text: string): Json | undefined {
  const parsed = E.tryCatch(
    () => parseText(text) as Json,
    () => undefined,
  );
  return E.isRight(parsed) ? parsed.right : undefined;
}

/** Matches a number that might be spelled differently after being parsed to a `number` and printed. */
const digitsAtRisk = /\d\.\d|\d[eE][+-]?\d|\d{16}|-0/;

/**
 * Parses so that `JSON.stringify` prints every number digit for digit as it came. Such numbers are opaque: read values
 * from a plain `JSON.parse`, and use this one to rebuild what is sent on.
 */
export function parseExact(text: string): Json {
  if (!digitsAtRisk.test(text)) return parseText(text) as Json;
  return parseText(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined && String(value) !== context.source
      ? exact.rawJSON(context.source)
      : value,
  ) as Json;
}

/** The same for a text that is known to be an object. */
export const parseExactObject = (text: string): JsonObject => parseExact(text) as JsonObject;
