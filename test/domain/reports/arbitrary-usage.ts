import * as fc from 'fast-check';
import type { PricingStatus } from '../../../domain/ledger/usage-cost-event.ts';
import type { UserModelUsage } from '../../../domain/reports/leaderboard.ts';

/** Any instants, and instants near the boundaries of buckets, days, months and years. */
export const anInstant: fc.Arbitrary<Date> = fc.oneof(
  fc.date({
    min: new Date('1905-01-01T00:00:00Z'),
    max: new Date('2299-12-31T00:00:00Z'),
    noInvalidDate: true,
  }),
  fc
    .tuple(
      fc.constantFrom('1969-12-31', '1970-01-01', '2024-02-29', '2025-03-30', '2027-01-01', '2028-10-29'),
      fc.constantFrom(-1, 0, 1, 43_199_999, 43_200_000, 86_399_999),
    )
    .map(([day, offsetMs]) => new Date(Date.parse(`${day}T00:00:00Z`) + offsetMs)),
);

export const statuses = [
  'priced',
  'legacy_estimated',
  'unpriced',
  'usage_missing',
] as const satisfies readonly PricingStatus[];
export const aStatus = fc.constantFrom(...statuses);

/** Often equal, so that ties are common; sometimes larger than a `number` can hold. */
export const someSpend: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n }),
  fc.bigInt({ min: 0n, max: 10n ** 24n }),
);
const someRequests: fc.Arbitrary<number> = fc.oneof(fc.nat({ max: 2 }), fc.nat({ max: 1_000_000 }));

const letters = ['a', 'b', 'B', 'ä', '\u{1f600}', '\uffee'];

/** Ledger usage: one row for each user and model; names need not be unique. */
export const someUserModelUsage: fc.Arbitrary<readonly UserModelUsage[]> = fc
  .uniqueArray(fc.tuple(fc.nat({ max: 45 }), fc.nat({ max: 4 })), {
    maxLength: 150,
    size: 'max',
    selector: ([user, model]) => user * 10 + model,
  })
  .chain((pairs) =>
    fc.tuple(
      ...pairs.map(([user, model]) =>
        fc.record({
          userId: fc.constant(`u-${String(user).padStart(2, '0')}`),
          userName: fc.constant(letters[user % letters.length]!),
          modelKey: fc.constant(`m-${model}`),
          requestCount: someRequests,
          spend: someSpend,
        }),
      ),
    ),
  );
