import * as E from 'fp-ts/lib/Either.js';
import { parseText } from './parse-text.ts';

/** A JSON value. Numbers that a `number` cannot hold exactly are kept by {@link parseExact} as raw JSON. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** An object with members; a number that {@link parseExact} keeps as raw JSON is not one. */
export const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !exact.isRawJSON(value);

export const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

export const isString = (value: Json | undefined): value is string => typeof value === 'string';

/** Null counts as absent wherever a field is read. */
export const isAbsent = (value: Json | undefined): value is undefined | null =>
  value === undefined || value === null;

/** It says something: it is not absent, and no empty text or array. */
export const isFilled = (value: Json | undefined): boolean =>
  !isAbsent(value) && value !== '' && !(isArray(value) && value.length === 0);

/** An object, or one without members where there is none. */
export const membersOf = (value: Json | undefined): JsonObject => (isObject(value) ? value : {});

/** The objects of an array member; anything else in it is passed over. */
export const objectsOf = (value: Json | undefined): readonly JsonObject[] =>
  isArray(value) ? value.filter(isObject) : [];

/** Whether a value is a list of texts and of nothing else. */
export const isTexts = (value: Json | undefined): value is readonly string[] =>
  isArray(value) && value.every(isString);

/** Takes each text in a value, as deep as it goes; keys are none. */
export function eachText(value: Json, take: (text: string) => void): void {
  if (isString(value)) take(value);
  else if (isArray(value)) for (const item of value) eachText(item, take);
  else if (isObject(value)) for (const member of Object.values(value)) eachText(member ?? null, take);
}

/** The array with its objects changed; anything else in it stays. */
export const mapObjects = (value: Json | undefined, change: (object: JsonObject) => Json): readonly Json[] =>
  isArray(value) ? value.map((item) => (isObject(item) ? change(item) : item)) : [];

/** The object without some of its members; the same object when it has none of them. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  if (!keys.some((key) => Object.hasOwn(object, key))) return object;
  const gone = new Set(keys);
  return Object.fromEntries(Object.entries(object).filter(([key]) => !gone.has(key)));
}

/** The members that are there; null counts as absent. */
export const present = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => !isAbsent(value)));

/** The object with these of its members alone. */
export const only = (object: JsonObject, keys: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => keys.has(key)));

/** Objects merge deeply; arrays, scalars and null replace (rule 32.38). The same object when nothing is merged in. */
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

/** A number as the upstream means it, also one that {@link parseExact} keeps as raw JSON (`12.0`). */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return exact.isRawJSON(value) ? Number(value.rawJSON) : undefined;
}

/** A whole number above 0, no larger than a `number` holds exactly. */
export function isPositiveInteger(value: Json | undefined): value is Json {
  const count = numberOf(value);
  return count !== undefined && Number.isSafeInteger(count) && count > 0;
}

/** Whether arrays and objects are nested deeper than `levels`; the walk itself goes no deeper. */
export function isDeeperThan(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

/** The value of a text, or undefined where it is no JSON. */
export function parseJson(text: string): Json | undefined {
  const parsed = E.tryCatch(
    () => parseText(text) as Json,
    () => undefined,
  );
  return E.isRight(parsed) ? parsed.right : undefined;
}

/** A number, as text, that printing the parsed `number` might spell in another way. */
const digitsAtRisk = /\d\.\d|\d[eE][+-]?\d|\d{16}|-0/;

/**
 * Parses so that `JSON.stringify` gives every number back digit for digit.
 * Such numbers are opaque: read values from a plain `JSON.parse`, use this one to rebuild what is sent on.
 */
export function parseExact(text: string): Json {
  if (!digitsAtRisk.test(text)) return parseText(text) as Json;
  return parseText(text, (_key, value, context) =>
    typeof value === 'number' && context.source !== undefined && String(value) !== context.source
      ? exact.rawJSON(context.source)
      : value,
  ) as Json;
}

/** The same of a text that was found to be an object. */
export const parseExactObject = (text: string): JsonObject => parseExact(text) as JsonObject;
