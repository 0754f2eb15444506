import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { Budget, Cadence } from '../../domain/budget/budget.ts';
import { budgetWindow } from '../../domain/budget/budget-window.ts';
import { alertThresholdBps, isAlertDue } from '../../domain/budget/budget-alert.ts';
import { admit, charge } from '../../domain/budget/hard-limit.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import { countsTowardSpend, type UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import { fromAmount10000, maxAmount10000 } from '../../domain/money/money.ts';
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

/** Instants near calendar boundaries, and any others of four centuries. */
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

describe('the rules of the database for counted spend and alerts', () => {
  it('count the same pricing statuses toward spend as the domain', async () => {
    for (const [status, counts] of Object.entries(countsTowardSpend))
      expect([status, await query('select counts_toward_spend($1) as counts', [status])]).toEqual([
        status,
        [{ counts }],
      ]);
  });

  it('use the alert threshold of the domain', async () => {
    expect(await query('select budget_alert_threshold_bps() as bps')).toEqual([{ bps: alertThresholdBps }]);
  });

  it('make an alert due exactly when the domain does, for any amount and any spend', async () => {
    const amount = fc.oneof(fc.bigInt({ min: 0n, max: maxAmount10000 }), fc.bigInt({ min: 0n, max: 20n }));
    /** In picodollars from the point where four fifths of the amount are spent. */
    const distance = fc.oneof(
      fc.bigInt({ min: -3n, max: 3n }),
      fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }),
    );
    const cases = fc.array(fc.tuple(amount, distance), { minLength: 100, maxLength: 100 });
    await fc.assert(
      fc.asyncProperty(cases, async (drawn) => {
        const asked = drawn.map(([amount10000, far]) => {
          const spent = (fromAmount10000(amount10000) * 4n) / 5n + far;
          return { amount10000, spent: spent < 0n ? 0n : spent };
        });
        const rows = await query<{ due: boolean }>(
          `select budget_alert_due(amount, spent) as due
           from unnest($1::bigint[], $2::numeric[]) with ordinality each(amount, spent, place) order by place`,
          [asked.map(({ amount10000 }) => String(amount10000)), asked.map(({ spent }) => String(spent))],
        );
        expect(rows.map(({ due }) => due)).toEqual(
          asked.map(({ amount10000, spent }) => isAlertDue(fromAmount10000(amount10000), spent)),
        );
      }),
      { numRuns: 10 },
    );
  });
});

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

  it('are those of the domain in any session time zone', async () => {
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

describe('the windows of the database, on every day of four centuries', () => {
  const days = `select d, d at time zone 'UTC' as at from generate_series(
    timestamp '1900-01-01', timestamp '2299-12-31', interval '1 day') d`;
  const wrong = (condition: string) =>
    query(`select d::text, c, from_, until from (${days}) days
      cross join unnest(array['daily', 'weekly', 'monthly']) c
      cross join lateral (select budget_window_start(c, at) as from_, budget_window_end(c, at) as until,
                                 extract(isodow from d)::integer as weekday) w
      where not coalesce(${condition}, false) limit 3`);

  it('begin at 00:00:00, on the day itself, on Monday, or on the first of the month', async () => {
    expect(
      await wrong(`from_ = case c when 'daily' then d when 'weekly' then d - make_interval(days => weekday - 1)
                              else make_date(extract(year from d)::integer, extract(month from d)::integer, 1)::timestamp
                         end at time zone 'UTC'`),
    ).toEqual([]);
  });

  it('last one day, seven days, or the days of that month, including leap years', async () => {
    expect(
      await wrong(`until - from_ = make_interval(days => case c when 'daily' then 1 when 'weekly' then 7
        else case extract(month from d)::integer when 4 then 30 when 6 then 30 when 9 then 30 when 11 then 30
          when 2 then case when extract(year from d)::integer % 4 = 0 and extract(year from d)::integer % 100 <> 0
                             or extract(year from d)::integer % 400 = 0 then 29 else 28 end
          else 31 end end)`),
    ).toEqual([]);
  });

  it('cover time without gaps or overlaps: each instant is in one half-open window, to the microsecond', async () => {
    const last = `interval '1 day' - interval '1 microsecond'`;
    expect(
      await wrong(`from_ <= at and at < until
        and budget_window_start(c, until) = until and budget_window_start(c, from_) = from_
        and budget_window_end(c, from_) = until
        and budget_window_start(c, until - interval '1 microsecond') = from_
        and budget_window_start(c, at + ${last}) = from_ and budget_window_end(c, at + ${last}) = until`),
    ).toEqual([]);
  });

  it('are whole days, so that their spend is the sum of the daily totals', async () => {
    const scope = 'user:windows';
    await query(
      `insert into usage_daily_totals
       select $1, d::date, (1000 + row_number() over ())^3 from generate_series(
         timestamp '2027-11-01', timestamp '2029-02-28', interval '1 day') d`,
      [scope],
    );
    const differing = await query(
      `select d::text, c from generate_series(timestamp '2028-01-01', timestamp '2028-12-31', interval '7 hours') d
       cross join unnest(array['daily', 'weekly', 'monthly']) c
       where counted_spend($1, budget_window_start(c, d at time zone 'UTC'), budget_window_end(c, d at time zone 'UTC'))
         is distinct from (select sum(counted_picousd) from usage_daily_totals t where ownership_scope_key = $1
           and budget_window_start(c, t.day::timestamp at time zone 'UTC') = budget_window_start(c, d at time zone 'UTC'))`,
      [scope],
    );
    expect(differing).toEqual([]);
    await query('delete from usage_daily_totals where ownership_scope_key = $1', [scope]);
  });

  it('have report buckets that are halves of UTC days', async () => {
    expect(
      await query(`select d::text, h from (${days}) days
        cross join unnest(array['0', '11:59:59.999999', '12:00:00', '23:59:59.999999']::interval[]) h
        where rollup_bucket(at + h) <> at + case when h < interval '12 hours' then '0' else '12 hours' end::interval
        limit 3`),
    ).toEqual([]);
  });
});

/** The domain's verdicts for a sequence of costs: `charge()` folded over each window. */
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

/** Costs that reach an amount of a few units exactly, or one picodollar before or after it, or any. */
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

/**
 * Batches that are sent at once, each some hours after the one before it: across many ends of days, weeks and
 * months.
 */
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
        const model = new Model({ cadence, amount: amount * unit, hardLimit: hard });
        await sameVerdicts(user, model, start, history);
        const { rows, days } = await spendOf(query, scopeOf(user));
        expect(days).toBe(rows);
      }),
      { numRuns: 100 },
    );
  });
});
