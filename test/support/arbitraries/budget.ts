import * as fc from 'fast-check';
import type { Budget, Cadence } from '../../../domain/budget/budget.ts';
import { fromAmount10000 } from '../../../domain/money/money.ts';
import { anAmount10000 } from './money.ts';

export const cadences = ['daily', 'weekly', 'monthly'] as const satisfies readonly Cadence[];

export const aCadence: fc.Arbitrary<Cadence> = fc.constantFrom(...cadences);

/** Any instant of the years 0 to 9999, often at the edge of a day. */
export const anInstant: fc.Arbitrary<Date> = fc.oneof(
  fc.date({
    min: new Date('0000-01-08T00:00:00Z'),
    max: new Date('9999-12-01T00:00:00Z'),
    noInvalidDate: true,
  }),
  fc
    .tuple(fc.integer({ min: -719_000, max: 2_932_000 }), fc.constantFrom(-1, 0, 1))
    .map(([day, off]) => new Date(day * 86_400_000 + off)),
);

/** A hard budget of one dollar a day; a test sets only what it is about. */
export const aBudget = (over: Partial<Budget>): Budget => ({
  cadence: 'daily',
  amount: fromAmount10000(10_000n),
  hardLimit: true,
  ...over,
});

export const someBudget: fc.Arbitrary<Budget> = fc
  .tuple(aCadence, anAmount10000, fc.boolean())
  .map(([cadence, amount, hardLimit]) => aBudget({ cadence, amount: fromAmount10000(amount), hardLimit }));
