import * as fc from 'fast-check';

/** One of these ASCII characters. */
export const aCharacterOf = (characters: string): fc.Arbitrary<string> =>
  fc.constantFrom(...characters.split(''));

/** Text of these ASCII characters alone. */
export const textOf = (characters: string, minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: aCharacterOf(characters), minLength, maxLength });

export const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  textOf('0123456789', minLength, maxLength);

/** Any text that a string can contain, including lone surrogates and null characters. */
export const anyText: fc.Arbitrary<string> = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});

const urlCharacters = "abcXYZ019-._~!$&'()*+,;=:@";
const percentCoded = fc
  .nat({ max: 255 })
  .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`);
const urlPart = (more: string): fc.Arbitrary<string> =>
  fc.string({ unit: fc.oneof(aCharacterOf(urlCharacters + more), percentCoded) });

/** A query string of a URL. `fc.webQueryParameters` computes for seconds before its first value. */
export const aUrlQuery: fc.Arbitrary<string> = urlPart('/?');

const path = fc.array(urlPart(''), { maxLength: 4 }).map((parts) => parts.map((part) => `/${part}`).join(''));
const after = (mark: string): fc.Arbitrary<string> =>
  fc.option(aUrlQuery, { nil: undefined }).map((part) => (part === undefined ? '' : mark + part));

/** A URL of the web, without credentials. */
export const aWebUrl: fc.Arbitrary<string> = fc
  .tuple(fc.constantFrom('http://', 'https://'), fc.webAuthority(), path, after('?'), after('#'))
  .map((parts) => parts.join(''));
