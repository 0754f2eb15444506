import * as fc from 'fast-check';
import { maxAmount10000 } from '../../../domain/money/money.ts';
import type { TokenUsage } from '../../../domain/ledger/usage.ts';
import { digits } from './text.ts';

export interface WrittenPrice {
  readonly text: string;
  /** The same price as a fraction, computed without the code under test. */
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** A price as decimal text: USD per million tokens, at most 6 fraction digits. */
export const aWrittenPrice: fc.Arbitrary<WrittenPrice> = fc
  .tuple(digits(1, 12), digits(0, 6))
  .map(([whole, fraction]) => ({
    text: fraction === '' ? whole : `${whole}.${fraction}`,
    numerator: BigInt(whole + fraction),
    denominator: 10n ** BigInt(fraction.length),
  }));

/** Picodollars of any size, either sign, often next to a whole display unit. */
export const someMoney: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
  fc
    .tuple(
      fc.bigInt({ min: -1000n, max: 1000n }),
      fc.bigInt({ min: -2n, max: 2n }),
      fc.constantFrom(0n, 50_000_000n),
    )
    .map(([units, off, half]) => units * 100_000_000n + half + off),
);

export const aCost: fc.Arbitrary<bigint> = fc.bigInt({ min: 0n, max: 10n ** 14n });

export const anAmount10000: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: 0n, max: 100n }),
  fc.bigInt({ min: 0n, max: maxAmount10000 }),
  fc.constantFrom(0n, maxAmount10000),
);

export const aTokenCount: fc.Arbitrary<number> = fc.oneof(
  fc.nat({ max: 200_000 }),
  fc.maxSafeNat(),
  fc.constantFrom(0, Number.MAX_SAFE_INTEGER),
);

export const someUsage: fc.Arbitrary<TokenUsage> = fc.record({
  promptTokens: aTokenCount,
  completionTokens: aTokenCount,
  totalTokens: aTokenCount,
});
