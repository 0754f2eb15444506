import {
  isArray,
  isDeeperThan,
  isObject,
  isString,
  type Json,
  type JsonObject,
  numberOf,
} from '../shared/json.ts';
import { maxPayloadDepth } from '../shared/limits.ts';
import { mappedItems, mappedMembers } from './mapped.ts';

/** Headers of a request, as the door reads them. */
export type PayloadHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A body that was none, or could not be read, is null. */
export const wrapRequest = (headers: PayloadHeaders, body: Json | undefined): JsonObject => ({
  headers,
  body: body ?? null,
});

export const wrapResponse = (body: Json | undefined): JsonObject => ({ body: body ?? null });

export const wrapStream = (
  events: readonly Json[],
  usage: Json | undefined,
  error: Json | undefined,
): JsonObject => ({ stream: true, events, usage: usage ?? null, error: error ?? null });

const tooDeep = '[TRUNCATED: nested too deeply]';

/** A value that everything after it can walk and a database can hold. */
export interface Holdable<A> {
  readonly value: A;
  /** Something was nested too deeply, and a marker stands in its place. */
  readonly truncated: boolean;
}

/**
 * What is nested without a bound becomes a marker, and a number that no database holds becomes its digits as text;
 * the same value when it has neither.
 */
export function holdable<A extends Json>(value: A): Holdable<A> {
  if (isHoldable(value, maxPayloadDepth)) return { value, truncated: false };
  const bounded = bound(value, maxPayloadDepth) as A;
  return { value: bounded, truncated: bounded !== value && isDeeperThan(value, maxPayloadDepth) };
}

/** Nearly every value is: it is only looked at. */
function isHoldable(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  if (isArray(value)) return value.every((item) => isHoldable(item, levels - 1));
  if (numberOf(value) !== undefined) return isHoldableNumber(value);
  for (const key in value) if (!isHoldable(value[key], levels - 1)) return false;
  return true;
}

function bound(value: Json, levels: number): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (isObject(value) && numberOf(value) !== undefined) return boundNumber(value);
  if (levels === 0) return tooDeep;
  return isArray(value)
    ? mappedItems(value, (item) => bound(item, levels - 1))
    : mappedMembers(value, (inner) => bound(inner, levels - 1));
}

/** PostgreSQL's `numeric` has 131,072 digits before the point and 16,383 after it. */
const maxNumberChars = 8000;

/** A number whose digits a database holds. */
export const isHoldableNumber = (raw: JsonObject): boolean => boundNumber(raw) === raw;

function boundNumber(raw: JsonObject): Json {
  const digits = raw['rawJSON'];
  if (!isString(digits)) return raw;
  const exponent = Number(/[eE](.*)$/.exec(digits)?.[1] ?? 0);
  return digits.length > maxNumberChars || Math.abs(exponent) > maxNumberChars ? digits : raw;
}
