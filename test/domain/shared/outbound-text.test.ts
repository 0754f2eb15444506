import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { parseDocument, withMembers } from '../../../domain/shared/json-document.ts';
import { outboundBytes, outboundText, unchangedText } from '../../../domain/shared/outbound-text.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A text in pieces, every other of which is replaced. */
const anEditedText = fc
  .array(
    fc.tuple(
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
      fc.string({ unit: 'grapheme' }),
    ),
  )
  .map((parts) => {
    let before = '';
    let after = '';
    const edits = parts.map(([stays, goes, comes]) => {
      const from = before.length + stays.length;
      before += stays + goes;
      after += stays + comes;
      return { from, to: from + goes.length, by: comes };
    });
    return { outbound: { before: `${before}…`, edits }, after: `${after}…` };
  });

describe('a text that goes upstream with edits', () => {
  it('has what was edited, and the rest as it was', () => {
    fc.assert(
      fc.property(anEditedText, ({ outbound, after }) => {
        expect(outboundText(outbound)).toBe(after);
      }),
    );
  });

  it('is the same in bytes, whatever characters it has', () => {
    fc.assert(
      fc.property(anEditedText, ({ outbound, after }) => {
        const pieces = outboundBytes(outbound, utf8(outbound.before));
        expect(Buffer.concat(pieces).toString()).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it('without an edit is the very bytes that it came in', () => {
    const came = utf8('{"model":"fast"} – ü');
    expect(outboundBytes(unchangedText('{"model":"fast"} – ü'), came)).toEqual([came]);
  });
});

it('an object without members takes them within its braces, whatever blanks stand before it', () => {
  const document = parseDocument(' \n{ } ', {});
  const changes = new Map([['model', 'a']]);
  expect(E.isRight(document) && withMembers(document.right, changes)).toBe(' \n{"model":"a" } ');
});
