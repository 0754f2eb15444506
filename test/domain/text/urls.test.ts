import { describe, expect, it } from '@jest/globals';
import { edited } from '../../../domain/text/text-edits.ts';
import { urlEdits, withoutSecretParts } from '../../../domain/text/urls.ts';
import { costWithin } from '../../support/cost.ts';

const clean = (text: string): string => edited(text, urlEdits(text));

describe('URLs inside a retained error message', () => {
  it.each([
    ['at https://h/a?b=c now', 'at https://h/a?[REDACTED] now'],
    ['https:\\/\\/u:p@h\\/a?b', 'https:\\/\\/h\\/a?[REDACTED]'],
    ['{\\"m\\":\\"https://h/a?b\\"}', '{\\"m\\":\\"https://h/a?[REDACTED]\\"}'],
    ['{\\"m\\":\\"https://h/a#b\\",', '{\\"m\\":\\"https://h/a\\",'],
    ['https://h/a\\u003fb', 'https://h/a?[REDACTED]'],
    ['https://h/a\\u0023b', 'https://h/a'],
    ['https://h/a\\#b', 'https://h/a'],
    ['https://h/a\\?b', 'https://h/a?[REDACTED]'],
    ["'a://h?x','b://h?y'", "'a://h?[REDACTED]','b://h?[REDACTED]'"],
    ["'HTTPS://h?x','git+ssh://h?y'", "'HTTPS://h?[REDACTED]','git+ssh://h?[REDACTED]'"],
    ["it's at https://h/a?b='c' now", "it's at https://h/a?[REDACTED] now"],
    ["it's 'https://h/a?b' or 'https://h/c'", "it's 'https://h/a?[REDACTED]' or 'https://h/c'"],
    ['https://h?a https://h?b', 'https://h?[REDACTED] https://h?[REDACTED]'],
    ['no URL: / what? #1 a@b', 'no URL: / what? #1 a@b'],
    ['://', '://'],
    ['', ''],
  ])('%j', (text, expected) => {
    expect(clean(text)).toBe(expected);
    expect(clean(expected)).toBe(expected);
  });

  it.each([
    ['a quoted URL', "'a://"],
    ['a URL', 'a://'],
    ['a query', 'a://h?'],
    ['userinfo', 'a://b:'],
  ])('cause no exception, however long they are: 32 MB of %s', (_, start) => {
    const text = start + 'x'.repeat(32_000_000);
    expect(clean(text).length).toBeLessThanOrEqual(text.length);
  });

  it.each([
    ['schemes', '://'],
    ['quoted schemes', "'a://'"],
    ['escaped slashes', ':\\/\\/\\'],
    ['backslashes', '\\'],
    ['userinfo', '://a@'],
    ['colons and backslashes', ':\\\\'],
    ['at signs', '@'],
    ['hash signs', '://#'],
  ])('take time proportional to their length: 8 MB of %s', (_, unit) => {
    const text = `://h${unit.repeat(Math.ceil(8_000_000 / unit.length))}`;
    const work = (): void => {
      clean(text);
      withoutSecretParts(text);
    };
    expect(costWithin(4000, work)).toBeLessThan(4000);
  });
});
