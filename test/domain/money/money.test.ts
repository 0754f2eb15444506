import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  fromAmount10000,
  maxAmount10000,
  pricePerToken,
  toUsd,
  toUsd10000,
} from '../../../domain/money/money.ts';
import { anAmount10000, aWrittenPrice, someMoney } from '../../support/arbitraries/money.ts';

const picodollarsPerUsd = 10n ** 12n;
const tokensPerMillion = 10n ** 6n;

describe('a price per token is a whole number of picodollars', () => {
  it.each([
    ['0', 0n],
    ['0.15', 150_000n],
    ['0.60', 600_000n],
    ['1', 1_000_000n],
    ['1.1', 1_100_000n],
    ['75', 75_000_000n],
    ['0.000001', 1n],
    ['0.075', 75_000n],
    ['007.5', 7_500_000n],
    ['999999999999.999999', 999_999_999_999_999_999n],
  ])('%s USD per million tokens is %d', (text, picodollars) => {
    expect(pricePerToken(text)).toBe(picodollars);
  });

  it('is always exact', () => {
    fc.assert(
      fc.property(aWrittenPrice, ({ text, numerator, denominator }) => {
        // price / 1 000 000 tokens × 1e12 picodollars, as fractions.
        expect(pricePerToken(text)! * denominator * tokensPerMillion).toBe(numerator * picodollarsPerUsd);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    [''],
    [' '],
    ['-1'],
    ['+1'],
    ['.5'],
    ['5.'],
    ['1e3'],
    ['1E-3'],
    ['1,5'],
    [' 1'],
    ['1 '],
    ['1\n'],
    ['0x10'],
    ['1.2.3'],
    ['NaN'],
    ['Infinity'],
    ['١'],
    ['1_000'],
    ['0.0000001'],
    ['1.1234567'],
    ['1.0000000'],
    ['1000000000000'],
  ])('%j is not a price', (text) => {
    expect(pricePerToken(text)).toBeUndefined();
  });
});

describe('exact decimal text in USD', () => {
  it.each([
    [0n, '0'],
    [1n, '0.000000000001'],
    [150_000n, '0.00000015'],
    [10n ** 12n, '1'],
    [1_500_000_000_000n, '1.5'],
    [-1n, '-0.000000000001'],
    [-2_250_000_000_000n, '-2.25'],
    [900_719_925_474_099_100_000_000n, '900719925474.0991'],
  ])('of %d picodollars is %s', (amount, text) => {
    expect(toUsd(amount)).toBe(text);
  });

  it('parses back to the same amount, and has no trailing zeros', () => {
    fc.assert(
      fc.property(someMoney, (amount) => {
        const text = toUsd(amount);
        const [, sign, whole, fraction = ''] = /^(-?)(\d+)(?:\.(\d{0,11}[1-9]))?$/.exec(text) ?? [];
        const size = BigInt(whole!) * picodollarsPerUsd + BigInt(fraction.padEnd(12, '0'));
        expect(sign === '-' ? -size : size).toBe(amount);
      }),
      { numRuns: 500 },
    );
  });
});

describe('units of 1e-4 USD, for display, are rounded half up', () => {
  it.each([
    [0n, 0n],
    [1n, 0n],
    [49_999_999n, 0n],
    [50_000_000n, 1n],
    [99_999_999n, 1n],
    [100_000_000n, 1n],
    [149_999_999n, 1n],
    [150_000_000n, 2n],
    [-1n, 0n],
    [-49_999_999n, 0n],
    [-50_000_000n, 0n],
    [-50_000_001n, -1n],
    [-100_000_000n, -1n],
    [-150_000_000n, -1n],
    [-150_000_001n, -2n],
  ])('%d picodollars are %d', (amount, units) => {
    expect(toUsd10000(amount)).toBe(units);
  });

  it('is always the nearest unit, and the higher of two equally near ones', () => {
    fc.assert(
      fc.property(someMoney, (amount) => {
        const off = amount - toUsd10000(amount) * 100_000_000n;
        return off >= -50_000_000n && off < 50_000_000n;
      }),
      { numRuns: 1000 },
    );
  });

  it('returns a whole number of units unchanged', () => {
    fc.assert(fc.property(anAmount10000, (amount) => toUsd10000(fromAmount10000(amount)) === amount));
  });
});

describe('a budget amount', () => {
  it('is at most the largest integer that a JSON number holds exactly', () => {
    expect(maxAmount10000).toBe(BigInt(Number.MAX_SAFE_INTEGER));
  });

  it.each([
    [0n, '0'],
    [1n, '0.0001'],
    [10_000n, '1'],
    [5_000_000n, '500'],
    [maxAmount10000, '900719925474.0991'],
  ])('of %d units is %s USD', (amount, usd) => {
    expect(toUsd(fromAmount10000(amount))).toBe(usd);
  });
});
