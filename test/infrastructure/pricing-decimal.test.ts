import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { priceText, shiftDecimal } from '../../infrastructure/pricing/decimal-text.ts';

interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

const power = (exponent: number): Rational =>
  exponent >= 0
    ? { numerator: 10n ** BigInt(exponent), denominator: 1n }
    : { numerator: 1n, denominator: 10n ** BigInt(-exponent) };

const equal = (a: Rational, b: Rational): boolean =>
  a.numerator * b.denominator === b.numerator * a.denominator;

/** Parses plain decimal text without the code under test. */
const readPlain = (text: string): Rational => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const size = BigInt(whole + fraction);
  return { numerator: text.startsWith('-') ? -size : size, denominator: 10n ** BigInt(fraction.length) };
};

const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom('0', '1', '2', '3', '4', '5', '6', '7', '8', '9'),
    minLength,
    maxLength,
  });

const aJsonNumber = fc
  .record({
    sign: fc.constantFrom('', '-'),
    whole: digits(1, 12).map((text) => BigInt(text).toString()),
    fraction: digits(0, 20),
    exponent: fc.option(fc.integer({ min: -40, max: 40 }), { nil: undefined }),
    letter: fc.constantFrom('e', 'E', 'e+'),
  })
  .map(({ sign, whole, fraction, exponent, letter }) => {
    const mark = exponent === undefined ? '' : `${exponent < 0 ? 'e' : letter}${exponent}`;
    const size = BigInt(whole + fraction);
    const scale = power((exponent ?? 0) - fraction.length);
    return {
      source: `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}${mark}`,
      value: { numerator: (sign === '-' ? -size : size) * scale.numerator, denominator: scale.denominator },
    };
  });

const places = fc.integer({ min: -6, max: 12 });

describe('shifting the decimal point of a number in text', () => {
  it('always multiplies exactly by the power of ten', () => {
    fc.assert(
      fc.property(aJsonNumber, places, ({ source, value }, by) => {
        const shifted = readPlain(shiftDecimal(source, by)!);
        const factor = power(by);
        return equal(shifted, {
          numerator: value.numerator * factor.numerator,
          denominator: value.denominator * factor.denominator,
        });
      }),
    );
  });

  it('always returns the plain form: no exponent, no needless zero, no negative zero', () => {
    fc.assert(
      fc.property(aJsonNumber, places, ({ source }, by) => {
        const text = shiftDecimal(source, by)!;
        return /^-?(0|[1-9]\d*)(\.\d*[1-9])?$/.test(text) && text !== '-0';
      }),
    );
  });

  it('accepts every number that JSON.stringify writes for a double', () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        (number) => Number(shiftDecimal(JSON.stringify(number), 0)) === number,
      ),
    );
  });

  it.each([
    ['1.5e-07', 6, '0.15'],
    ['6e-07', 6, '0.6'],
    ['0.00000015', 6, '0.15'],
    ['1e-05', 6, '10'],
    ['3.75E-8', 6, '0.0375'],
    ['1.5e+1', 0, '15'],
    ['0', 6, '0'],
    ['-0.0', 6, '0'],
    ['-2e-6', 6, '-2'],
    ['1250', -3, '1.25'],
    ['1', -3, '0.001'],
  ])('turns %s by %i places into %s', (source, by, expected) => {
    expect(shiftDecimal(source, by)).toBe(expected);
  });

  it.each([
    '',
    '-',
    '.5',
    '1.',
    '01',
    '+1',
    '1e',
    'NaN',
    'Infinity',
    '0x10',
    '1_000',
    '1 ',
    '1\n',
    '1e401',
    '1e-401',
  ])('returns undefined for %j', (source) => {
    expect(shiftDecimal(source, 6)).toBeUndefined();
  });

  it('returns undefined for a text that is longer than any price', () => {
    expect(shiftDecimal(`0.${'0'.repeat(200)}1`, 6)).toBeUndefined();
  });
});

describe('the text of a price', () => {
  it.each([
    ['1.5e-07', 6, E.right('0.15')],
    ['0.000001', 0, E.right('0.000001')],
    ['1e-12', 6, E.right('0.000001')],
    ['1e-13', 6, E.left('more than 6 decimals: 0.0000001 USD per million')],
    ['1.0000000000000001e-07', 6, E.left('more than 6 decimals: 0.10000000000000001 USD per million')],
    ['-1e-06', 6, E.left('negative: -1 USD per million')],
    ['1e12', 0, E.left('larger than any price')],
    ['999999999999', 0, E.right('999999999999')],
    ['1e999', 6, E.left('not a number that a price could be')],
  ])('of %s with %i places is %j', (source, by, expected) => {
    expect(priceText(source, by)).toEqual(expected);
  });

  it('is always valid for the ledger and equal to the source, or else an error', () => {
    fc.assert(
      fc.property(aJsonNumber, places, ({ source }, by) => {
        const text = priceText(source, by);
        return (
          E.isLeft(text) ||
          (/^\d{1,12}(\.\d{1,6})?$/.test(text.right) && text.right === shiftDecimal(source, by))
        );
      }),
    );
  });
});
