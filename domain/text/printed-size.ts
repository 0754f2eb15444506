import {
  Digits,
  isText,
  Items,
  Members,
  printedSpan,
  printedText,
  Quoted,
  type Span,
  type Text,
  type Written,
} from './written.ts';
import { utf8Bytes } from './utf8.ts';

/** Whether a printed text takes at most this many bytes of UTF-8. */
export const fitsIn = (text: string, maxBytes: number): boolean =>
  text.length * maxBytesPerUnit <= maxBytes || utf8Bytes(text, maxBytes) <= maxBytes;

const maxBytesPerUnit = 3;

/** A lower bound on the characters that a value takes when printed as it came. Counting stops above `limit`. */
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

/** UTF-8 bytes of a value printed tight. Counting stops above `limit`. */
export type PrintedSize = (value: Written) => number;

/** Sizes of arrays and objects are cached, so that each is counted once. */
export function printedSizes(limit: number): PrintedSize {
  const known = new Map<Written, number>();
  const size: PrintedSize = (value) => {
    if (isText(value)) return textSize(printedText(value, 'tight'), limit);
    if (value instanceof Digits) return value.text.length;
    if (value === null || typeof value === 'boolean') return String(value).length;
    const span = printedSpan(value, 'tight');
    if (span?.source.isAscii === true) return span.to - span.from;
    const before = known.get(value);
    if (before !== undefined) return before;
    const counted = shortSpanSize(span) ?? (value instanceof Items ? itemsSize(value) : membersSize(value));
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

/** Spans up to this many characters are encoded at once, not part by part. Values in them may be counted again. */
const shortSpan = 4096;

const shortSpanSize = (span: Span | undefined): number | undefined =>
  span === undefined || span.to - span.from > shortSpan
    ? undefined
    : utf8Bytes(span.source.text.slice(span.from, span.to), shortSpan * 3);

/** A member with its colon, and with a comma or bracket. */
export const memberSize = (key: string, value: number, limit: number): number =>
  textSize(key, limit) + 2 + value;

/** Bytes of a string with its quotes. One whose length alone exceeds the limit is not examined. */
export function textSize(text: Text, limit: number): number {
  if (text instanceof Quoted)
    return text.literal.length > limit ? text.literal.length : utf8Bytes(text.literal, limit);
  return text.length > limit ? text.length + 2 : utf8Bytes(JSON.stringify(text), limit);
}
