import {
  Digits,
  isText,
  Items,
  Members,
  printedSpan,
  printedText,
  Quoted,
  type Text,
  type Written,
} from './written.ts';

/** Whether a printed text has no more than so many bytes of UTF-8. */
export const fitsIn = (text: string, maxBytes: number): boolean =>
  text.length * maxBytesPerUnit <= maxBytes || utf8Bytes(text, maxBytes) <= maxBytes;

const maxBytesPerUnit = 3;

/**
 * Bytes of UTF-8 of a printed text, counted until there are more than `limit`. It holds no lone surrogates: both halves
 * of a pair are there, with two bytes each.
 */
function utf8Bytes(text: string, limit: number): number {
  if (!beyondAscii.test(text)) return text.length;
  let bytes = 0;
  for (let at = 0; at < text.length && bytes <= limit; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) bytes += 1;
    else bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return bytes;
}

/** Bytes of UTF-8 of a printed text. */
export const printedBytes = (text: string): number => utf8Bytes(text, Number.POSITIVE_INFINITY);

/** Characters that a value takes as it came, at least; counted until there are more than `limit`. */
export function leastChars(value: Written, limit: number): number {
  if (typeof value === 'string') return value.length + 2;
  if (value instanceof Quoted) return value.literal.length;
  if (!(value instanceof Items || value instanceof Members)) return 1;
  if (value.span !== undefined) return value.span.to - value.span.from;
  const parts = value instanceof Items ? value.items : value.values;
  let chars = 2;
  for (let index = 0; index < parts.length && chars <= limit; index += 1)
    chars += leastChars(parts[index] ?? null, limit);
  return chars;
}

/** UTF-8 bytes of a value as it is printed tight, counted until there are more than `limit`. */
export type PrintedSize = (value: Written) => number;

/** Sizes of containers are kept: each is counted once, however often it is asked for. */
export function printedSizes(limit: number): PrintedSize {
  const known = new Map<Written, number>();
  const size: PrintedSize = (value) => {
    if (isText(value)) return textSize(printedText(value, 'tight'), limit);
    if (value instanceof Digits) return value.text.length;
    if (value === null || typeof value === 'boolean') return String(value).length;
    const span = printedSpan(value, 'tight');
    if (span !== undefined) return span.to - span.from;
    const before = known.get(value);
    if (before !== undefined) return before;
    const counted = value instanceof Items ? itemsSize(value) : membersSize(value);
    known.set(value, counted);
    return counted;
  };
  const itemsSize = ({ items }: Items): number => {
    let bytes = 2 + Math.max(0, items.length - 1);
    for (let index = 0; index < items.length && bytes <= limit; index += 1)
      bytes += size(items[index] ?? null);
    return bytes;
  };
  const membersSize = ({ keys, values }: Members): number => {
    let bytes = 1;
    for (let index = 0; index < keys.length && bytes <= limit; index += 1)
      bytes += memberSize(keys[index] ?? '', size(values[index] ?? null), limit);
    return Math.max(2, bytes);
  };
  return size;
}

/** A member with its colon, and with a comma or bracket. */
export const memberSize = (key: string, value: number, limit: number): number =>
  textSize(key, limit) + 2 + value;

/** Bytes of a text with its quotes; one that is over the limit by its length alone is not looked at. */
export function textSize(text: Text, limit: number): number {
  if (text instanceof Quoted)
    return text.literal.length > limit ? text.literal.length : utf8Bytes(text.literal, limit);
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
