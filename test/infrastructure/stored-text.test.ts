import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { storedJson, storedPrint } from '../../infrastructure/postgres/stored-text.ts';
import { aJsonObject, literalOf } from '../support/arbitraries/json-text.ts';
import { anyText } from '../support/arbitraries/text.ts';

/** Strings that PostgreSQL cannot store or that look so, and ordinary ones. */
const awkward = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\0',
        '\uD800',
        '\uDFFF',
        '\uD83D\uDE00',
        '\uDE00\uD83D',
        '\\',
        '\\u0000',
        '\\\0',
        '\\\\u0000',
        '"',
        '\uFFFD',
        '\u0001',
      ),
      anyText,
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(''));

const replaced = (text: string): string => text.toWellFormed().replaceAll('\0', '\uFFFD');

describe('text that PostgreSQL cannot hold (U+0000, lone surrogates) is stored replaced by U+FFFD', () => {
  it.each([
    ['a null byte', 'a\0b', 'a\uFFFDb'],
    ['two null bytes', '\0\0', '\uFFFD\uFFFD'],
    ['a lone high surrogate', 'a\uD800b', 'a\uFFFDb'],
    ['a lone low surrogate', '\uDFFF', '\uFFFD'],
    ['a pair in the wrong order', '\uDE00\uD83D', '\uFFFD\uFFFD'],
    ['a pair in order stays', '\uD83D\uDE00', '😀'],
    ['a backslash and a null byte', '\\\0', '\\\uFFFD'],
    ['text that only looks like an escape stays', '\\u0000 \\ud800', '\\u0000 \\ud800'],
    ['the same after a backslash stays', '\\\\u0000', '\\\\u0000'],
    ['other control characters stay', '\u0001\n\t\u001f\u007f', '\u0001\n\t\u001f\u007f'],
    ['an empty text', '', ''],
  ])('in values: %s', (_, text, stored) => {
    expect(JSON.parse(storedJson(text))).toBe(stored);
    expect(JSON.parse(storedJson([{ nested: [text] }]))).toEqual([{ nested: [stored] }]);
  });

  it('in keys, too', () => {
    expect(JSON.parse(storedJson({ 'a\0': 1, inner: { '\uD800': '\0' } }))).toEqual({
      'a\uFFFD': 1,
      inner: { '\uFFFD': '\uFFFD' },
    });
  });

  it('in any text', () => {
    fc.assert(
      fc.property(awkward, (text) => {
        expect(JSON.parse(storedJson({ text, list: [text] }))).toEqual({
          text: replaced(text),
          list: [replaced(text)],
        });
      }),
      { numRuns: 1000 },
    );
  });

  it('in JSON that is already written, however its strings are escaped', () => {
    fc.assert(
      fc.property(
        awkward.chain((text) => fc.tuple(fc.constant(text), literalOf(text))),
        ([text, literal]) => {
          expect(JSON.parse(storedPrint(`{"a":${literal}}`))).toEqual({ a: replaced(text) });
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('leaves no character or escape that PostgreSQL rejects', () => {
    fc.assert(
      fc.property(fc.dictionary(awkward, awkward), (object) => {
        const json = storedJson(object);
        expect(json.isWellFormed()).toBe(true);
        // Escaped backslashes apart, no escape of U+0000 or of a surrogate is left.
        expect(json.replaceAll('\\\\', '')).not.toMatch(/\\u(?:0000|d[89a-f])/i);
        for (const [key, value] of Object.entries(JSON.parse(json) as Record<string, string>))
          expect(`${key}${value}`).not.toMatch(/\0|\p{Surrogate}/u);
      }),
      { numRuns: 500 },
    );
  });
});

describe('text that PostgreSQL can hold is stored unchanged', () => {
  it.each([[null], [true], [0], [-1.5], ['text'], [[]], [{}], [[1, { a: null }]]])('in %j', (value) => {
    expect(storedJson(value)).toBe(JSON.stringify(value));
  });

  it('in any JSON object', () => {
    fc.assert(
      fc.property(aJsonObject, (value) => {
        fc.pre(!/\\u0000/.test(JSON.stringify(value)));
        expect(storedJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });
});
