import { memberSize, type PrintedSize, printedSizes, textSize } from '../text/printed-size.ts';
import { type Part, share } from './share.ts';
import { truncationMarker } from './truncate.ts';
import { escapesOf } from '../text/escapes.ts';
import { unitsWithin } from '../text/utf8.ts';
import {
  Digits,
  isText,
  Items,
  Members,
  decodedText,
  Quoted,
  type Text,
  type Written,
} from '../text/written.ts';

/** Bytes that are enough for the marker that replaces any value. */
const floor = 64;

/** To keep more items, none is shortened below this many bytes, or below an eighth of the room if that is less. */
const enoughOfAnItem = 512;

/** Bytes of a key in an object that is capped. Real field names stay below it. */
const maxKeyBytes = 128;

/**
 * The final byte cap: printed tight, the JSON has at most `maxBytes` bytes of UTF-8. The largest members are shortened
 * first: at each level, small values stay whole and large ones get equal shares of the remaining bytes. Items and
 * members without room are left out from the end, and a marker says how many.
 */
export function capped(payload: Members, maxBytes: number): Written {
  const size = printedSizes(maxBytes);
  if (size(payload) <= maxBytes) return payload;
  return maxBytes < floor ? preview(maxBytes) : fit(payload, maxBytes, size);
}

/** For a cap too small to keep any structure. The result is still valid JSON. */
const preview = (maxBytes: number): Written => {
  if (maxBytes < 2) return new Digits('0');
  return maxBytes < textSize(leftOutKey, maxBytes) ? '' : leftOutKey;
};

/** The value in at most `bytes` bytes. Either `bytes` is at least {@link floor}, or the value fits already. */
function fit(value: Written, bytes: number, size: PrintedSize): Written {
  if (size(value) <= bytes) return value;
  if (isText(value)) return fitText(value, bytes);
  if (value instanceof Items) return fitItems(value, bytes, size);
  if (value instanceof Members) return fitMembers(value, bytes, size);
  return '[TRUNCATED number]';
}

/** As much of the string as fits, and how many characters were cut off. */
function fitText(text: Text, bytes: number): Quoted {
  const chars = text instanceof Quoted ? text.literal.length - 2 - text.spelling.spare : text.length;
  const kept = printWithin(printOfBeginning(text, bytes), bytes - 2 - truncationMarker(chars).length);
  const spelling = escapesOf(kept);
  const left = chars - kept.length + spelling.spare;
  return new Quoted(`"${kept}${truncationMarker(left)}"`, spelling, false);
}

/**
 * The start of the string's print, without quotes, with at least as many characters as fit. It is copied from the
 * literal when that is spelled exactly like the print.
 */
function printOfBeginning(text: Text, bytes: number): string {
  if (text instanceof Quoted && !text.spelling.hasNumbers && !text.spelling.hasSlashes) {
    const print = text.literal.slice(1, Math.min(1 + bytes, text.literal.length - 1));
    if (print.isWellFormed()) return print;
  }
  return JSON.stringify(decodedText(text).slice(0, bytes)).slice(1, -1);
}

/** The start of a print that has at most this many bytes, without splitting an escape. */
function printWithin(print: string, bytes: number): string {
  const end = unitsWithin(print, bytes);
  const last = print.lastIndexOf('\\', end - 1);
  if (last < end - maxEscape) return print.slice(0, end);
  let first = last;
  while (print[first - 1] === '\\') first -= 1;
  const isEscaped = (last - first) % 2 === 1;
  const length = print[last + 1] === 'u' ? maxEscape : 2;
  return print.slice(0, isEscaped || last + length <= end ? end : last);
}

/** Characters of the longest escape. */
const maxEscape = '\\u0000'.length;

function fitItems({ items }: Items, bytes: number, size: PrintedSize): Items {
  const count = items.length;
  const mark = textSize(leftOut(count), bytes) + 1;
  const partAt = (index: number): Part => ({ fixed: 1, size: size(items[index] ?? null) });
  const least = Math.max(floor, Math.min(enoughOfAnItem, Math.floor(bytes / 8)));
  const { kept, most } = share(count, partAt, least, bytes - 1, mark);
  const fitted = items.slice(0, kept).map((item) => fit(item, most, size));
  return new Items(kept === count ? fitted : [...fitted, leftOut(count - kept)]);
}

function fitMembers({ keys, values }: Members, bytes: number, size: PrintedSize): Members {
  const count = keys.length;
  const mark = memberSize(leftOutKey, textSize(`${count} members`, bytes), bytes);
  const partAt = (index: number): Part => ({
    fixed: memberSize(shortKey(keys[index] ?? ''), 0, bytes),
    size: size(values[index] ?? null),
  });
  const { kept, most } = share(count, partAt, floor, bytes - 1, mark);
  const shortKeys = keys.slice(0, kept).map(shortKey);
  const fitted = values.slice(0, kept).map((value) => fit(value, most, size));
  return kept === count
    ? new Members(shortKeys, fitted)
    : new Members([...shortKeys, leftOutKey], [...fitted, `${count - kept} members`]);
}

const leftOut = (count: number): string => `[TRUNCATED ${count} items]`;

const leftOutKey = '[TRUNCATED]';

const shortKey = (key: string): string =>
  textSize(key, maxKeyBytes) > maxKeyBytes ? fitText(key, maxKeyBytes).decoded : key;
