import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxKnownMembers } from '../../../domain/text/json-in-text.ts';
import { jsonEdits, jsonErrorEdits } from '../../../domain/payload/json-edits.ts';
import { edited } from '../../../domain/text/text-edits.ts';
import { exactJsonText } from '../../support/arbitraries/json-text.ts';
import { costWithin } from '../../support/cost.ts';

const clean = (text: string): string => edited(text, jsonEdits(text));
const cleanErrors = (text: string): string => edited(text, jsonErrorEdits(text));

describe('JSON inside a text', () => {
  it.each([
    ['a string', '{"password":"s"}', '{"password":"[REDACTED]"}'],
    ['an empty string', '{"password":""}', '{"password":"[REDACTED]"}'],
    ['a string with quotes', '{"token":"a\\"b\\\\","c":1}', '{"token":"[REDACTED]","c":1}'],
    ['a number', '{"token":-1.5e3,"c":1.50}', '{"token":"[REDACTED]","c":1.50}'],
    ['null', '{"token":null}', '{"token":"[REDACTED]"}'],
    ['an object', '{"secret":{"a":["}",{}]},"c":1}', '{"secret":"[REDACTED]","c":1}'],
    ['an array', '[{"credentials":[1,"]"]},2]', '[{"credentials":"[REDACTED]"},2]'],
    ['a key in any case', '{"API-Key":"s"}', '{"API-Key":"[REDACTED]"}'],
    ['blanks', '{ "password" :\n\t"s" }', '{ "password" :\n\t"[REDACTED]" }'],
    ['a key with escapes', '{"p\\u0061ssword":"s"}', '{"p\\u0061ssword":"[REDACTED]"}'],
    [
      'several members',
      '{"token":"a","b":"token","secret":"c"}',
      '{"token":"[REDACTED]","b":"token","secret":"[REDACTED]"}',
    ],
    [
      'nested JSON text',
      '{"a":"{\\"token\\": \\"s\\", \\"b\\": 1}"}',
      '{"a":"{\\"token\\": \\"[REDACTED]\\", \\"b\\": 1}"}',
    ],
    [
      'a number in nested JSON text',
      '{"a":"{\\"token\\":12,\\"b\\":1}"}',
      '{"a":"{\\"token\\":\\"[REDACTED]\\",\\"b\\":1}"}',
    ],
    [
      'JSON text nested twice',
      '{"a":"{\\"b\\":\\"{\\\\\\"token\\\\\\":\\\\\\"s\\\\\\"}\\"}"}',
      '{"a":"{\\"b\\":\\"{\\\\\\"token\\\\\\":\\\\\\"[REDACTED]\\\\\\"}\\"}"}',
    ],
    ['other text around it', 'Result: {"token": "s"}. Done', 'Result: {"token": "[REDACTED]"}. Done'],
    ['a code fence', '```json\n{\n  "token": "s"\n}\n```', '```json\n{\n  "token": "[REDACTED]"\n}\n```'],
    ['lines of JSON', '{"token":"a"}\n{"token":"b"}', '{"token":"[REDACTED]"}\n{"token":"[REDACTED]"}'],
    ['an unterminated string', '{"a":1,"token":"s', '{"a":1,"token":"[REDACTED]'],
    ['an unterminated object', '{"a":1,"token":{"b":"s"', '{"a":1,"token":"[REDACTED]"'],
    [
      'an unterminated string in nested JSON text',
      '{"a":"{\\"token\\":\\"s"}',
      '{"a":"{\\"token\\":\\"[REDACTED]"}',
    ],
    ['a missing beginning', 'x","token":"s"}', 'x","token":"[REDACTED]"}'],
    ['a URL', '{"image_url":"https://h/a?b=c"}', '{"image_url":"https://h/a?[REDACTED]"}'],
    ['a URL in an object', '{"image_url":{"url":"https://u:p@h/a"}}', '{"image_url":{"url":"https://h/a"}}'],
    [
      'URLs in an array',
      '{"image_urls":["a?b", "c", "d?e"]}',
      '{"image_urls":["a?[REDACTED]", "c", "d?[REDACTED]"]}',
    ],
    ['a URL with escaped slashes', '{"url":"https:\\/\\/h\\/a?b"}', '{"url":"https:\\/\\/h\\/a?[REDACTED]"}'],
    ['a URL with an escaped query', '{"url":"https://h/a\\u003fb"}', '{"url":"https://h/a?[REDACTED]"}'],
    [
      'a URL with a quote in its query',
      '{"url":"https://h/a?b=\\"c\\"","d":1}',
      '{"url":"https://h/a?[REDACTED]","d":1}',
    ],
    ['an unterminated URL', '{"url":"https://h/a?b', '{"url":"https://h/a?[REDACTED]'],
    ['a URL in nested JSON text', '{"a":"{\\"url\\":\\"h?b\\"}"}', '{"a":"{\\"url\\":\\"h?[REDACTED]\\"}"}'],
    ['JSON under a URL key', '{"url":"{\\"token\\":\\"s\\"}"}', '{"url":"{\\"token\\":\\"[REDACTED]\\"}"}'],
    [
      'JSON in an array under a media key',
      '{"data":["{\\"token\\":\\"s\\"}"]}',
      '{"data":["{\\"token\\":\\"[REDACTED]\\"}"]}',
    ],
  ])('has the values of redacted keys and the queries of URLs replaced: %s', (_, text, expected) => {
    expect(clean(text)).toBe(expected);
    expect(clean(expected)).toBe(expected);
  });

  /** JSON in which quotes inside strings are spelled as in .NET. */
  const withEscapedQuotes = (value: unknown): string =>
    JSON.stringify(value).replaceAll(/\\(["\\])/g, (escape, char) => (char === '"' ? '\\u0022' : escape));

  it.each([
    ['once', (text: string) => withEscapedQuotes({ a: text })],
    ['in a string alone', (text: string) => withEscapedQuotes(text).slice(1, -1)],
    ['twice', (text: string) => withEscapedQuotes({ a: withEscapedQuotes([text]) })],
    ['three times', (text: string) => withEscapedQuotes([withEscapedQuotes({ a: withEscapedQuotes(text) })])],
    ['by different programs', (text: string) => withEscapedQuotes({ a: JSON.stringify([text]) })],
    ['by others in turn', (text: string) => JSON.stringify({ a: withEscapedQuotes([text]) })],
  ])(
    'has the values of redacted keys replaced where it is nested %s and its quotes are spelled `\\u0022`',
    (_, nested) => {
      const inner = (token: string, query: string): string =>
        `{"b":"x\\\\","token":"${token}","url":"https://h/a?${query}","c":"y\\\\\\"z"}`;
      const expected = nested(inner('[REDACTED]', '[REDACTED]'));
      expect(clean(nested(inner('s\\"t\\\\', 'q=r')))).toBe(expected);
      expect(clean(expected)).toBe(expected);
      expect(cleanErrors(nested('{"error":"at https://h/a?b"}'))).toBe(
        nested('{"error":"at https://h/a?[REDACTED]"}'),
      );
    },
  );

  it.each([
    [''],
    ['"'],
    ['password: s'],
    ['my "password" is s'],
    ['{"passwords":"s"}'],
    ['{"my token":"s"}'],
    ['{"a":"token"}'],
    ['{"a":"token: s"}'],
    ['{"token"}'],
    ['{"url":"https://h/a"}'],
    ['{"url":"data:image/png;base64,AA?#"}'],
    ['{"data":"what? this"}'],
    ['{"text":"see https://h/a?b=c"}'],
    ['{"token":'],
  ])('is unchanged where no rule applies: %j', (text) => {
    expect(clean(text)).toBe(text);
    expect(cleanErrors(text)).toBe(text);
  });

  it('keeps every other character, whatever surrounds the value', () => {
    fc.assert(
      fc.property(exactJsonText, exactJsonText, exactJsonText, (before, value, after) => {
        fc.pre(!/ur[il]|image|token/i.test(before + after));
        const text = (inner: string): string => `[${before},{"token": ${inner} },${after}]`;
        expect(clean(text(value))).toBe(text('"[REDACTED]"'));
      }),
    );
  });

  it.each([
    ['a string', '{"error":"at https://h/a?b=c, or"}', '{"error":"at https://h/a?[REDACTED] or"}'],
    [
      'an object',
      '{"error":{"message":"https://u:p@h/?b"},"x":"https://h?b"}',
      '{"error":{"message":"https://h/?[REDACTED]"},"x":"https://h?b"}',
    ],
    ['an array', '{"errors":["https://h?b"]}', '{"errors":["https://h?[REDACTED]"]}'],
    ['a URL without quotes, which is kept', '{"error":https://h?b}', '{"error":https://h?b}'],
  ])('has the queries of URLs in errors replaced: %s', (_, text, expected) => {
    expect(cleanErrors(text)).toBe(expected);
  });

  it('is cut off after `maxKnownMembers` known members', () => {
    const text = (count: number): string => `[${'{"token":"s"},'.repeat(count)}"end"]`;
    expect(clean(text(maxKnownMembers - 1))).toMatch(/\},"end"\]$/);
    const cut = clean(text(maxKnownMembers + 10));
    expect(cut).toMatch(/"\[REDACTED\]"\[REDACTED\]$/);
    expect(cut.split('"token"')).toHaveLength(maxKnownMembers + 1);
  });

  const n = 4_000_000;
  const filled = (unit: string): string => unit.repeat(Math.ceil(n / unit.length));
  const levels = (key: string): string =>
    Array.from({ length: 2000 }, (_, level) => {
      const quote = `${'\\'.repeat(level)}"`;
      return `${quote}${key}${quote}:${quote}?`;
    }).join('');

  it.each([
    ['letters', filled('lorem ipsum ')],
    ['quotes', filled('"')],
    ['colons', filled('":')],
    ['keys without values', filled('"token":')],
    ['URL keys', filled('"url":"')],
    ['URLs', filled('"url":"https://u:p@h/a?x",')],
    ['arrays of URLs', `"urls":[${filled('"a?x",')}`],
    ['arrays without end', filled('"url":["a?x",')],
    ['errors in errors', filled('"error":{')],
    ['errors', filled('"error":"://?"')],
    ['backslashes', `"token${filled('\\')}":1`],
    ['escaped quotes', filled('\\"')],
    ['quotes that are escapes', filled('\\u0022token\\u0022:1,')],
    ['backslashes behind one', `\\u0022${filled('\\')}`],
    ['escapes', `"${filled('\\u0061')}":1`],
    ['blanks', `"token"${filled(' ')}:1`],
    ['blanks that are escapes', `"token":${filled('\\n')}1`],
    ['brackets', `"token":${filled('[')}`],
    ['strings in brackets', `"token":[${filled('"a",')}`],
    ['levels of redacted keys', levels('token')],
    ['levels of URL keys', levels('url')],
    ['levels of media keys', levels('image')],
    ['levels of errors', levels('error')],
  ])('is searched in time proportional to its length: 4 MB of %s', (_, text) => {
    const work = (): void => {
      clean(text);
      cleanErrors(text);
    };
    expect(costWithin(4000, work)).toBeLessThan(4000);
  });
});
