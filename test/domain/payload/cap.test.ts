import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { capped as cappedWritten } from '../../../domain/payload/cap.ts';
import { printedSizes as sizesOfWritten } from '../../../domain/text/printed-size.ts';
import { Members, printed, type Written } from '../../../domain/text/written.ts';
import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  parseExact,
} from '../../../domain/shared/json.ts';
import { aJsonObject, exactJsonText, writtenOf as spelledOf } from '../../support/arbitraries/json-text.ts';
import { anyText } from '../../support/arbitraries/text.ts';
import { plainlyCapped } from '../../support/plain-cap.ts';
import { onJson, writtenOf, writtenText } from '../../support/written.ts';

const capped = onJson(cappedWritten);
const printedSizes = (limit: number) => (value: Json) => sizesOfWritten(limit)(writtenOf(value));

const bytesOf = (value: Json | undefined): number => Buffer.byteLength(JSON.stringify(value));

const anyJson: fc.Arbitrary<Json> = fc.oneof(
  exactJsonText.map((text) => parseExact(text)),
  aJsonObject,
  fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      anyText,
      fc.tuple(anyText, fc.nat(300)).map(([text, times]) => text.repeat(times)),
      fc.double(),
      fc.array(tie('value'), { maxLength: 30 }),
      fc.dictionary(anyText, tie('value'), { maxKeys: 8, noNullPrototype: true }),
      fc
        .tuple(anyText, fc.nat(200), tie('value'))
        .map(([key, times, value]) => ({ [`k${key.repeat(times)}`]: value })),
    ),
  })).value,
);

/** A value whose JSON text has arbitrary blanks and escapes. */
const anyWritten: fc.Arbitrary<Written> = anyJson
  .map((value) => JSON.parse(JSON.stringify(value)) as Json)
  .chain((value) => spelledOf(value))
  .map(writtenText);

describe('the printed size of a value', () => {
  it('equals the UTF-8 length of its compact JSON, however it was written', () => {
    fc.assert(
      fc.property(anyWritten, (value) => {
        expect(sizesOfWritten(Number.MAX_SAFE_INTEGER)(value)).toBe(
          Buffer.byteLength(printed(value, 'tight')),
        );
      }),
      { numRuns: 100 },
    );
  });

  it('equals the UTF-8 length of what `JSON.stringify` prints', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(printedSizes(Number.MAX_SAFE_INTEGER)(value)).toBe(bytesOf(value));
      }),
      { numRuns: 500 },
    );
  });

  it('exceeds the limit exactly if the printed value does', () => {
    fc.assert(
      fc.property(anyJson, fc.nat(200), (value, limit) => {
        expect(printedSizes(limit)(value) > limit).toBe(bytesOf(value) > limit);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, Json]>([
    ['a lone surrogate', '\ud800'],
    ['surrogates in the wrong order', '\udc00\ud800'],
    ['control characters', '\0\b\t\n\v\f\r\u001f\u007f\u2028'],
    ['quotes and backslashes', '"\\/'],
    ['characters of two, three and four bytes', '😀é\u07ff\u0800\uffff'],
    ['numbers', [0, -0, 1e21, 1e-7, Number.MAX_VALUE, Number.POSITIVE_INFINITY]],
    ['numbers as they were written', parseExact('[1e400,-0.0,9007199254740993]')],
    ['absent members', { a: undefined, b: 1, c: undefined }],
    ['only absent members', { a: undefined }],
    ['empty values', [{}, [], '']],
  ])('%s', (_, value) => {
    expect(printedSizes(1e6)(value)).toBe(bytesOf(value));
  });
});

/** Whether each remaining text is the original text or its beginning. */
const isLeftOf = (before: Json | undefined, after: Json | undefined): boolean => {
  if (isString(after) && /^\[TRUNCATED[^\]]*\]$/.test(after)) return true;
  if (isString(before) && isString(after))
    return after === before || before.startsWith(after.replace(/\[TRUNCATED \d+ characters\]$/, ''));
  if (isArray(before) && isArray(after)) return after.every((item, index) => isLeftOf(before[index], item));
  if (isObject(before) && isObject(after))
    return Object.entries(after).every(([key, value]) => key.endsWith(']') || isLeftOf(before[key], value));
  return JSON.stringify(before) === JSON.stringify(after);
};

describe('the final byte cap', () => {
  it('leaves valid JSON of at most that many bytes, for any JSON and any cap', () => {
    const caps = fc.oneof(fc.integer({ min: 1, max: 100 }), fc.integer({ min: 1, max: 5000 }));
    fc.assert(
      fc.property(anyJson, caps, (body, maxBytes) => {
        const left = capped({ body }, maxBytes);
        expect(bytesOf(left)).toBeLessThanOrEqual(maxBytes);
        expect(JSON.parse(JSON.stringify(left))).toBeDefined();
      }),
      { numRuns: 3000 },
    );
  });

  it('gives the same result as cutting each decoded text by characters, however it was written', () => {
    const room = fc.oneof(fc.integer({ min: 64, max: 300 }), fc.integer({ min: 64, max: 3000 }));
    fc.assert(
      fc.property(fc.array(anyWritten, { maxLength: 4 }), room, (values, maxBytes) => {
        const payload = new Members(
          values.map((_, index) => `k${index}`),
          values,
        );
        expect(printed(cappedWritten(payload, maxBytes), 'tight')).toBe(
          printed(plainlyCapped(payload, maxBytes), 'tight'),
        );
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['backslashes', '\\\\'],
    ['quotes', '\\"a'],
    ['escapes with numbers', '\\u0001\\\\'],
    ['characters that need no escape', '\\u00e9\\u0061'],
    ['slashes', 'a\\/'],
    ['lone surrogates', '\\ud83d\\\\'],
    ['surrogates side by side', '😀\\ud83d\\ude00'],
    ['characters of several bytes', 'aé€😀'],
  ])('gives that result for every cap where a text repeats %s', (_, repeated) => {
    for (let before = 0; before < 4; before += 1)
      for (const times of [40, 400]) {
        const text = `"${'a'.repeat(before)}${repeated.repeat(times)}"`;
        const payload = new Members(['k'], [writtenText(text)]);
        for (let maxBytes = 64; maxBytes < 140; maxBytes += 1)
          expect(printed(cappedWritten(payload, maxBytes), 'tight')).toBe(
            printed(plainlyCapped(payload, maxBytes), 'tight'),
          );
      }
  });

  it('returns the very same value if it is within the cap', () => {
    fc.assert(
      fc.property(anyJson, fc.nat(10), (body, more) => {
        const payload = { body };
        expect(capped(payload, bytesOf(payload) + more)).toBe(payload);
      }),
    );
  });

  it('keeps only text that is identical to the input or its beginning', () => {
    fc.assert(
      fc.property(aJsonObject, fc.integer({ min: 64, max: 2000 }), (body, maxBytes) => {
        expect(isLeftOf({ body }, capped({ body }, maxBytes))).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('returns a value that was capped before unchanged', () => {
    fc.assert(
      fc.property(anyJson, fc.integer({ min: 64, max: 2000 }), (body, maxBytes) => {
        const once = capped({ body }, maxBytes) as JsonObject;
        expect(capped(once, maxBytes)).toBe(once);
      }),
    );
  });

  it('cuts the largest text first, and leaves the small ones whole', () => {
    const small = { role: 'user', content: 'Please read this.', numbers: [1, 2, 3] };
    const left = capped({ headers: { a: 'b' }, body: { small, large: 'x'.repeat(100_000) } }, 1000);
    expect(left).toEqual({
      headers: { a: 'b' },
      body: { small, large: expect.stringMatching(/^x+\[TRUNCATED \d+ characters\]$/) },
    });
    expect(bytesOf(left)).toBeGreaterThan(990);
  });

  it('gives large texts equal shares', () => {
    const left = capped({ a: 'x'.repeat(5000), b: 'y'.repeat(90_000), c: 'z' }, 2000);
    const { a, b, c } = left as Record<string, string>;
    expect(Math.abs(a!.length - b!.length)).toBeLessThan(5);
    expect(c).toBe('z');
  });

  it('states how many characters it cut off', () => {
    const { a } = capped({ a: '😀'.repeat(1000) }, 200) as { a: string };
    const [, kept, count] = /^((?:😀)*)\[TRUNCATED (\d+) characters\]$/u.exec(a)!;
    expect(kept!.length + Number(count)).toBe(2000);
  });

  it('keeps the first items of an array, and states how many it left out', () => {
    const items = Array.from({ length: 100_000 }, (_, index) => ({ role: 'user', content: `item ${index}` }));
    const { items: left } = capped({ items }, 65_536) as { items: Json[] };
    expect(left.slice(0, -1)).toEqual(items.slice(0, left.length - 1));
    expect(left.length).toBeGreaterThan(1500);
    expect(left.at(-1)).toBe(`[TRUNCATED ${100_000 - left.length + 1} items]`);
  });

  it('keeps the first members of an object, and states how many it left out', () => {
    const object = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key${index}`, index]));
    const { object: left } = capped({ object }, 500) as { object: JsonObject };
    const { '[TRUNCATED]': rest, ...first } = left;
    expect(object).toMatchObject(first);
    expect(rest).toBe(`${1000 - Object.keys(first).length} members`);
  });

  it('keeps the beginning of every message of a conversation', () => {
    const messages = Array.from({ length: 60 }, (_, index) => ({
      role: 'user',
      content: `${index} ${'x'.repeat(5000)}`,
    }));
    const { messages: left } = capped({ messages }, 65_536) as { messages: { content: string }[] };
    expect(left).toHaveLength(60);
    for (const [index, { content }] of left.entries())
      expect(content).toMatch(new RegExp(`^${index} x{800,}\\[TRUNCATED \\d+ characters\\]$`));
  });

  it.each([
    [1, 0],
    [2, ''],
    [12, ''],
    [13, '[TRUNCATED]'],
    [63, '[TRUNCATED]'],
  ])('of %d bytes leaves no structure of the payload', (maxBytes, left) => {
    expect(capped({ body: 'x'.repeat(100) }, maxBytes)).toBe(left);
  });

  it('shortens items to no less than an eighth of the room where that is less than 512 bytes', () => {
    const items = Array.from({ length: 20 }, () => 'x'.repeat(1000));
    const { items: left } = capped({ items }, 1700) as { items: string[] };
    expect(left).toEqual([
      ...Array.from({ length: 7 }, () => expect.stringMatching(/^x{180,}\[TRUNCATED \d+ characters\]$/)),
      '[TRUNCATED 13 items]',
    ]);
  });

  it('keeps a key of 128 bytes', () => {
    const key = 'k'.repeat(126);
    expect(Object.keys(capped({ [key]: 'x'.repeat(10_000) }, 1000) as JsonObject)).toEqual([key]);
  });

  it('cuts a key that is too long', () => {
    const left = capped({ ['k'.repeat(10_000)]: 'x'.repeat(10_000) }, 1000) as JsonObject;
    const [[key, value]] = Object.entries(left) as [[string, string]];
    expect(key).toMatch(/^k{50,}\[TRUNCATED \d+ characters\]$/);
    expect(value).toMatch(/^x{700,}\[TRUNCATED \d+ characters\]$/);
  });

  it('replaces a number that has too many digits with a marker', () => {
    expect(capped(parseExact(`{"a":${'9'.repeat(5000)},"b":1.50}`) as JsonObject, 1000)).toEqual({
      a: '[TRUNCATED number]',
      b: parseExact('1.50'),
    });
  });
});
