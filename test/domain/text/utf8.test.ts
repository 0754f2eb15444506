import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isAscii, unitsWithin, utf8Bytes } from '../../../domain/text/utf8.ts';
import { anyText } from '../../support/arbitraries/text.ts';

/** Texts, also longer than what is encoded at once, with characters of each size at any position. */
const aText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      anyText.map((text) => text.toWellFormed()),
      fc.constantFrom('a', '"', '\u007f', 'é', '–', '😀', '\u{10ffff}'),
      fc
        .tuple(fc.constantFrom('a', 'é', '–', '😀'), fc.nat(20_000))
        .map(([text, times]) => text.repeat(times)),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

/** A plain implementation, character by character. */
function plainUnitsWithin(text: string, bytes: number): number {
  let units = 0;
  let used = 0;
  for (const char of text) {
    used += Buffer.byteLength(char);
    if (used > bytes) break;
    units += char.length;
  }
  return units;
}

describe('the UTF-8 size of a text', () => {
  it('is counted exactly, or until it exceeds the limit', () => {
    fc.assert(
      fc.property(aText, fc.nat(100_000), (text, limit) => {
        expect(utf8Bytes(text, Number.POSITIVE_INFINITY)).toBe(Buffer.byteLength(text));
        expect(utf8Bytes(text, limit) > limit).toBe(Buffer.byteLength(text) > limit);
      }),
    );
  });

  it('is one byte for each character exactly if all are ASCII', () => {
    fc.assert(
      fc.property(aText, (text) => {
        expect(isAscii(text)).toBe(Buffer.byteLength(text) === text.length);
      }),
    );
  });

  it('determines how many whole characters of its beginning fit into a number of bytes', () => {
    fc.assert(
      fc.property(aText, fc.oneof(fc.nat(50), fc.nat(60_000)), (text, bytes) => {
        expect(unitsWithin(text, bytes)).toBe(plainUnitsWithin(text, bytes));
      }),
    );
  });
});
