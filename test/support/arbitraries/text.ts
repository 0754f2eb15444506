import * as fc from 'fast-check';

/** One of these ASCII characters. */
export const aCharacterOf = (characters: string): fc.Arbitrary<string> =>
  fc.constantFrom(...characters.split(''));

/** Text of these ASCII characters alone. */
export const textOf = (characters: string, minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: aCharacterOf(characters), minLength, maxLength });

export const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  textOf('0123456789', minLength, maxLength);

/** Any text that a string can hold, lone surrogates and null bytes too. */
export const anyText: fc.Arbitrary<string> = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});
