import { isArray, isObject, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';

/** A sign that is printed as an escape: `\u0001`. */
const maxBytesPerChar = 6;
/** `-1.2345678901234567e-308`. */
const maxScalarChars = 24;

/** How many bytes a printed value has at least and at most, by the lengths of its texts alone. */
interface Bounds {
  least: number;
  most: number;
}

/**
 * Whether the printed value has at most so many bytes of UTF-8. Most values are told by the lengths of their texts;
 * only one that is near the limit is printed.
 */
export function fitsIn(value: Json, maxBytes: number): boolean {
  const bounds = { least: 0, most: 0 };
  measure(value, bounds, maxBytes);
  if (bounds.least > maxBytes) return false;
  return bounds.most <= maxBytes || utf8Bytes(JSON.stringify(value), maxBytes) <= maxBytes;
}

/** Characters of a printed value at least: what it takes of memory. Counted until there are more than `limit`. */
export function leastChars(value: Json, limit: number): number {
  const bounds = { least: 0, most: 0 };
  measure(value, bounds, limit);
  return bounds.least;
}

function measure(value: Json | undefined, bounds: Bounds, limit: number): void {
  if (isString(value)) addText(value.length, bounds);
  else if (typeof value !== 'object' || value === null || numberOf(value) !== undefined) {
    bounds.least += 1;
    bounds.most += isObject(value) ? JSON.stringify(value).length : maxScalarChars;
  } else if (isArray(value)) {
    bounds.least += 2;
    bounds.most += 2 + value.length;
    for (let index = 0; index < value.length && bounds.least <= limit; index += 1)
      measure(value[index], bounds, limit);
  } else measureMembers(value, bounds, limit);
}

function measureMembers(object: JsonObject, bounds: Bounds, limit: number): void {
  bounds.least += 2;
  bounds.most += 2;
  for (const key of Object.keys(object)) {
    if (bounds.least > limit) return;
    const value = object[key];
    if (value === undefined) continue;
    addText(key.length, bounds);
    bounds.most += 2;
    measure(value, bounds, limit);
  }
}

function addText(chars: number, bounds: Bounds): void {
  bounds.least += 2 + chars;
  bounds.most += 2 + chars * maxBytesPerChar;
}

/**
 * Bytes of UTF-8 of a printed text, or fewer where no more than `limit` are possible. It holds no lone surrogates: both
 * halves of a pair are there, with two bytes each.
 */
export function utf8Bytes(text: string, limit: number): number {
  if (text.length * maxBytesPerUnit <= limit || !beyondAscii.test(text)) return text.length;
  let bytes = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    else bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}

const maxBytesPerUnit = 3;

/** UTF-8 bytes of a value as `JSON.stringify` prints it, counted until there are more than `limit`. */
export type PrintedSize = (value: Json | undefined) => number;

/** Sizes of containers are kept: each is counted once, however often it is asked for. */
export function printedSizes(limit: number): PrintedSize {
  const known = new Map<Json, number>();
  const size: PrintedSize = (value) => {
    if (isString(value)) return textSize(value, limit);
    if (typeof value !== 'object' || value === null || numberOf(value) !== undefined)
      return JSON.stringify(value ?? null).length;
    const before = known.get(value);
    if (before !== undefined) return before;
    const counted = isArray(value) ? itemsSize(value) : membersSize(value);
    known.set(value, counted);
    return counted;
  };
  const itemsSize = (items: readonly Json[]): number => {
    let bytes = 2 + Math.max(0, items.length - 1);
    for (let index = 0; index < items.length && bytes <= limit; index += 1) bytes += size(items[index]);
    return bytes;
  };
  const membersSize = (object: JsonObject): number => {
    let bytes = 1;
    for (const key of Object.keys(object)) {
      if (bytes > limit) break;
      if (object[key] !== undefined) bytes += memberSize(key, size(object[key]), limit);
    }
    return Math.max(2, bytes);
  };
  return size;
}

/** A member with its colon, and with a comma or bracket. */
export const memberSize = (key: string, value: number, limit: number): number =>
  textSize(key, limit) + 2 + value;

/** Bytes of a text with its quotes; one that is over the limit by its length alone is not looked at. */
export function textSize(text: string, limit: number): number {
  if (text.length > limit) return text.length + 2;
  if (!beyondAscii.test(text)) return JSON.stringify(text).length;
  let bytes = 2;
  for (let at = 0; at < text.length && bytes <= limit; at += 1) {
    const size = sizeAt(text, at);
    bytes += size;
    if (size === 4) at += 1;
  }
  return bytes;
}

const beyondAscii = /[^\0-\x7f]/;

/** Bytes of the character at `at`; the 4 of a surrogate pair are for both halves. */
export function sizeAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 0x80) return asciiSizes[unit] ?? 1;
  if (unit < 0x800) return 2;
  if (unit < 0xd800 || unit > 0xdfff) return 3;
  return text.codePointAt(at) === unit ? loneSurrogateSize : 4;
}

/** Printed as an escape, `\ud800`. */
const loneSurrogateSize = 6;

/** Controls, quotes and backslashes are escaped. */
const asciiSizes: readonly number[] = Array.from(
  { length: 0x80 },
  (_, unit) => JSON.stringify(String.fromCharCode(unit)).length - 2,
);
