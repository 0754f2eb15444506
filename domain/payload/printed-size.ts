import { isArray, isString, type Json, type JsonObject, numberOf } from '../shared/json.ts';

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
