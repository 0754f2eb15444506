import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { secretsOf, withoutSecrets } from '../../../domain/payload/secrets.ts';
import { findAny } from '../../../domain/text/find-any.ts';

describe('the search for many texts at once', () => {
  it('finds each text wherever it occurs', () => {
    const letters = (minLength: number, maxLength: number) =>
      fc.string({ unit: fc.constantFrom('a', 'b', 'c'), minLength, maxLength });
    fc.assert(
      fc.property(fc.array(letters(3, 6), { minLength: 1, maxLength: 20 }), letters(0, 60), (texts, text) => {
        const found: number[] = [];
        findAny(texts)(text, (index) => found.push(index));
        const expected = texts.flatMap((each, index) =>
          Array.from(text, (_, at) => at)
            .filter((at) => text.startsWith(each, at))
            .map(() => index),
        );
        const ascending = (a: number, b: number): number => a - b;
        expect(found.toSorted(ascending)).toEqual(expected.toSorted(ascending));
      }),
    );
  });

  it('takes more texts than a function takes arguments', () => {
    const secrets = Array.from(
      { length: 150_000 },
      (_, index) => `credential${String(index).padStart(6, '0')}`,
    );
    expect(withoutSecrets('with credential149999 in it', secretsOf(secrets))).toBe('with [REDACTED] in it');
  });
});
