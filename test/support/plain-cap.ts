import { type Part, share } from '../../domain/payload/share.ts';
import { truncationMarker } from '../../domain/payload/truncate.ts';
import {
  Digits,
  isText,
  Items,
  Members,
  decodedText,
  printed,
  type Written,
} from '../../domain/text/written.ts';

/** Bytes that are enough for the marker in place of any value. */
const floor = 64;

/** Bytes below which items are not shortened to keep more of them: enough to recognise each item. */
const enoughOfAnItem = 512;

/** Bytes that a key may take in a truncated object: field names are shorter. */
const maxKeyBytes = 128;

/**
 * The final byte limit: the JSON, printed without white space, has at most `maxBytes` bytes of UTF-8. The
 * largest members are truncated first: each level shares its bytes so that small members stay whole and large
 * ones get equal parts. Items and members without room are dropped from the end, and a marker gives their
 * number.
 */
export function plainlyCapped(payload: Members, maxBytes: number): Written {
  if (size(payload) <= maxBytes) return payload;
  return maxBytes < floor ? preview(maxBytes) : fit(payload, maxBytes);
}

const size = (value: Written): number => Buffer.byteLength(printed(value, 'tight'));
const memberSize = (key: string, value: number): number => size(key) + 2 + value;

/** Too few bytes for any shape: the result is still valid JSON. */
const preview = (maxBytes: number): Written => {
  if (maxBytes < 2) return new Digits('0');
  return maxBytes < 13 ? '' : '[TRUNCATED]';
};

/** The value in at most `bytes` bytes; there are at least {@link floor} of them, or the value is smaller. */
function fit(value: Written, bytes: number): Written {
  if (size(value) <= bytes) return value;
  if (isText(value)) return fitText(decodedText(value), bytes);
  if (value instanceof Items) return fitItems(value, bytes);
  if (value instanceof Members) return fitMembers(value, bytes);
  return '[TRUNCATED number]';
}

/** Truncates the decoded text, character by character. */
function fitText(text: string, bytes: number): string {
  const room = bytes - 2 - truncationMarker(text.length).length;
  let end = 0;
  let used = 0;
  for (const char of text) {
    used += size(char) - 2;
    if (used > room) break;
    end += char.length;
  }
  return text.slice(0, end) + truncationMarker(text.length - end);
}

function fitItems({ items }: Items, bytes: number): Items {
  const count = items.length;
  const mark = size(leftOut(count, 'items')) + 1;
  const partAt = (index: number): Part => ({ fixed: 1, size: size(items[index] ?? null) });
  const least = Math.max(floor, Math.min(enoughOfAnItem, Math.floor(bytes / 8)));
  const { kept, most } = share(count, partAt, least, bytes - 1, mark);
  const fitted = items.slice(0, kept).map((item) => fit(item, most));
  return new Items(kept === count ? fitted : [...fitted, leftOut(count - kept, 'items')]);
}

function fitMembers({ keys, values }: Members, bytes: number): Members {
  const count = keys.length;
  const mark = memberSize(leftOutKey, size(`${count} members`));
  const partAt = (index: number): Part => ({
    fixed: memberSize(shortKey(keys[index] ?? ''), 0),
    size: size(values[index] ?? null),
  });
  const { kept, most } = share(count, partAt, floor, bytes - 1, mark);
  const shortKeys = keys.slice(0, kept).map(shortKey);
  const fitted = values.slice(0, kept).map((value) => fit(value, most));
  return kept === count
    ? new Members(shortKeys, fitted)
    : new Members([...shortKeys, leftOutKey], [...fitted, `${count - kept} members`]);
}

const leftOut = (count: number, what: string): string => `[TRUNCATED ${count} ${what}]`;

const leftOutKey = '[TRUNCATED]';

const shortKey = (key: string): string => (size(key) > maxKeyBytes ? fitText(key, maxKeyBytes) : key);
