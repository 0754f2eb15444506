import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { Budget, Cadence } from '../../domain/budget/budget.ts';
import { budgetWindow } from '../../domain/budget/budget-window.ts';
import { admit, charge } from '../../domain/budget/hard-limit.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { countsTowardSpend, type UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  admitted,
  anAsk,
  aRecord,
  aUser,
  pricedAt,
  scopeOf,
  settleTogether,
  spendOf,
  unit,
  unpriced,
  withClock,
  withLedgers,
} from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url, 2);
const clock = withClock(query);

const cadences = ['daily', 'weekly', 'monthly'] as const;

/** Instants near the seams of the calendar, and any other of four centuries, to the microsecond. */
const anInstant = fc
  .tuple(
    fc.oneof(
      fc.date({
        min: new Date('1901-01-01T00:00:00Z'),
        max: new Date('2299-12-31T00:00:00Z'),
        noInvalidDate: true,
      }),
      fc
        .tuple(
          fc.constantFrom(1999, 2000, 2023, 2024, 2025, 2027, 2028, 2096, 2100, 2104),
          fc.integer({ min: 0, max: 11 }),
          fc.integer({ min: 0, max: 31 }),
        )
        .map(([year, month, day]) => new Date(Date.UTC(year, month, day))),
    ),
    fc.constantFrom(-1, 0, 0, 1, 43_200_000, 86_399_999),
  )
  .map(([date, offsetMs]) => new Date(date.getTime() + offsetMs));

describe('the windows of the database', () => {
  it('are those of the domain, for every cadence and instant', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anInstant, { minLength: 200, maxLength: 200 }), async (instants) => {
        for (const cadence of cadences) {
          const rows = await query<{ start: Date; until: Date }>(
            `select budget_window_start($1, at) as start, budget_window_end($1, at) as until
             from unnest($2::timestamptz[]) with ordinality i(at, ord) order by ord`,
            [cadence, instants.map((at) => at.toISOString())],
          );
          const windows = rows.map(({ start, until }) => ({ from: start, until }));
          expect(windows).toEqual(instants.map((at) => budgetWindow(cadence, at)));
        }
      }),
      { numRuns: 15 },
    );
  });

  it('stay those of the domain whatever time zone a session is in', async () => {
    await query(`set timezone = 'America/New_York'`);
    for (const at of ['2028-03-01T00:00:00Z', '2028-02-29T23:59:59.999999Z', '2028-03-12T07:30:00Z'])
      for (const cadence of cadences) {
        const [row] = await query(
          'select budget_window_start($1, $2::timestamptz) as from, budget_window_end($1, $2::timestamptz) as until',
          [cadence, at],
        );
        expect(row).toEqual(budgetWindow(cadence, new Date(at)));
      }
    await query('reset timezone');
  });
});

/** What the domain says of a sequence of costs: `charge()` folded over each window. */
class Model {
  private readonly spent = new Map<number, bigint>();
  private readonly budget: Budget;

  constructor(budget: Budget) {
    this.budget = budget;
  }

  spentAt(at: Date): bigint {
    return this.spent.get(this.key(at)) ?? 0n;
  }

  admits(at: Date): boolean {
    return E.isRight(admit(this.budget, this.spentAt(at), false));
  }

  settle(at: Date, cost: UsageCost): 'recorded' | 'blocked' {
    if (!countsTowardSpend[cost.pricingStatus]) return 'recorded';
    const after = charge(this.budget, this.spentAt(at), cost.pricingStatus === 'priced' ? cost.cost : 0n);
    if (E.isLeft(after)) return 'blocked';
    this.spent.set(this.key(at), after.right);
    return 'recorded';
  }

  private key(at: Date): number {
    return budgetWindow(this.budget.cadence, at).from.getTime();
  }
}

/** Costs that meet an amount of a few units exactly, one picodollar before and after it, or anywhere. */
const aCost: fc.Arbitrary<UsageCost> = fc.oneof(
  { weight: 8, arbitrary: fc.bigInt({ min: 0n, max: 6n * unit }).map(pricedAt) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.bigInt({ min: 1n, max: 6n }), fc.constantFrom(-1n, 0n, 1n))
      .map(([units, off]) => pricedAt(units * unit + off)),
  },
  { weight: 1, arbitrary: fc.constantFrom(unpriced, { pricingStatus: 'usage_missing' } as const) },
);

const aBudget = fc.record({
  amount: fc.bigInt({ min: 0n, max: 24n }),
  cadence: fc.constantFrom<Cadence>(...cadences),
  hard: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});

/** Batches that leave at once, each some hours after the one before it: over many seams of days, weeks and months. */
const aHistory = fc.array(
  fc.record({
    hoursLater: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 200 })),
    costs: fc.array(aCost, { minLength: 1, maxLength: 8 }),
  }),
  { minLength: 1, maxLength: 6 },
);

interface Batch {
  readonly hoursLater: number;
  readonly costs: readonly UsageCost[];
}

async function sameVerdicts(
  user: Caller,
  model: Model,
  start: Date,
  history: readonly Batch[],
): Promise<void> {
  let at = start;
  for (const [index, { hoursLater, costs }] of history.entries()) {
    at = new Date(at.getTime() + hoursLater * 3_600_000);
    await clock.standAt(at);
    const ledger = ledgers[index % ledgers.length]!;
    const { budget } = await admitted(ledger, anAsk(user));
    expect(budget?.spent).toBe(model.spentAt(at));
    expect(E.isRight(admit(budget?.terms, budget?.spent ?? 0n, false))).toBe(model.admits(at));
    const verdicts = await settleTogether(
      ledger,
      costs.map((cost) => aRecord(user, cost)),
    );
    expect(verdicts).toEqual(costs.map((cost) => model.settle(at, cost)));
  }
}

describe('the verdicts of the database', () => {
  it('are those of admit() and charge(), for any budget and any sequence of costs, in any batches', async () => {
    await fc.assert(
      fc.asyncProperty(aBudget, anInstant, aHistory, async ({ amount, cadence, hard }, start, history) => {
        const user = await aUser(query, { amount, cadence, hard });
        const model = new Model({ budgetId: 'b', cadence, amount: amount * unit, hardLimit: hard });
        await sameVerdicts(user, model, start, history);
        const { rows, days } = await spendOf(query, scopeOf(user));
        expect(days).toBe(rows);
      }),
      { numRuns: 100 },
    );
  });
});
