import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { parseDocument, withMembers } from '../../../domain/shared/json-document.ts';
import { outboundBytes, outboundText, unchangedText } from '../../../domain/shared/outbound-text.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A text of which every other piece is replaced. */
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

describe('an outbound text with edits', () => {
  it('has the edits applied, and is otherwise unchanged', () => {
    fc.assert(
      fc.property(anEditedText, ({ outbound, after }) => {
        expect(outboundText(outbound)).toBe(after);
      }),
    );
  });

  it('has the edits applied to its bytes, too, whatever characters it has', () => {
    fc.assert(
      fc.property(anEditedText, ({ outbound, after }) => {
        const pieces = outboundBytes(outbound, utf8(outbound.before));
        expect(Buffer.concat(pieces).toString()).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it('consists of the very bytes of the request if there are no edits', () => {
    const came = utf8('{"model":"fast"} – ü');
    expect(outboundBytes(unchangedText('{"model":"fast"} – ü'), came)).toEqual([came]);
  });
});

it('members are added inside the braces of an empty object, whatever blanks precede it', () => {
  const document = parseDocument(' \n{ } ', {});
  const changes = new Map([['model', 'a']]);
  expect(E.isRight(document) && withMembers(document.right, changes)).toBe(' \n{"model":"a" } ');
});
