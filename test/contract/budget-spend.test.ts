import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { sql } from 'slonik';
import type { BudgetDryRun } from '../../application/ports/budgets.ts';
import type { Cadence } from '../../domain/budget/budget.ts';
import { type Caller, ownerOf } from '../../domain/identity/caller.ts';
import { dryRun } from '../../domain/budget/dry-run.ts';
import { budgetsStore } from '../../infrastructure/postgres/budgets-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { aBudget } from '../support/arbitraries/budget.ts';
import {
  aRecord,
  aTeam,
  aUser,
  holder,
  setUserBudget,
  settleTogether,
  unit,
  unpriced,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
const clock = withClock(query);
const budgets = () => budgetsStore(ledgers[0]!.pool, () => false);
const settle = async (...records: Parameters<typeof settleTogether>[1]) =>
  settleTogether(ledgers[0]!, records);
const day = (text: string) => new Date(`${text}T00:00:00Z`);

describe('the spend of an owner by day', () => {
  it('has every UTC day up to today, with requests of any status, spend and blocked answers', async () => {
    const user = await aUser(query, { amount: 5n, cadence: 'daily' });
    await clock.standAt('2026-03-08T23:59:59.999Z');
    await settle(aRecord(user, unit), aRecord(user, unpriced));
    await clock.standAt('2026-03-10T00:00:00Z');
    await settle(aRecord(user, 2n), aRecord(user, 6n * unit), aRecord(user, 3n));
    await clock.standAt('2026-03-10T13:00:00Z');
    await settle(aRecord(user, 4n));
    const none = { count: 0, cost: 0n };
    expect(await budgets().spendByDay(ownerOf(user), 4)).toEqual({
      from: day('2026-03-07'),
      until: day('2026-03-11'),
      days: [
        { day: day('2026-03-07'), requestCount: 0, spent: 0n, blockedAnswers: none },
        { day: day('2026-03-08'), requestCount: 2, spent: unit, blockedAnswers: none },
        { day: day('2026-03-09'), requestCount: 0, spent: 0n, blockedAnswers: none },
        {
          day: day('2026-03-10'),
          requestCount: 3,
          spent: 9n,
          blockedAnswers: { count: 1, cost: 6n * unit },
        },
      ],
    });
    expect((await budgets().spendByDay(ownerOf(user), 1))?.days.map(({ spent }) => spent)).toEqual([9n]);
    expect((await budgets().spendByDay(ownerOf(user), 92))?.days).toHaveLength(92);
  });

  it('covers all keys of a team, and is undefined for an unknown owner', async () => {
    const [team, account] = await aTeam(query);
    await clock.standAt('2026-03-10T12:00:00Z');
    await settle(aRecord(team, 3n), aRecord(account, 4n));
    expect((await budgets().spendByDay(ownerOf(team), 1))?.days).toMatchObject([
      { requestCount: 2, spent: 7n },
    ]);
    const nobody = { kind: 'team', teamId: 'nobody' } as const;
    expect(await budgets().spendByDay(nobody, 1)).toBeUndefined();
    expect(await budgets().dryRun(nobody, { cadence: 'daily', amount10000: 0n })).toBeUndefined();
  });
});

/** Settles answers of these costs, one per hour from the given time on. */
async function settleFrom(user: Caller, first: Date, costs: readonly bigint[]): Promise<readonly Date[]> {
  const times = costs.map((_, index) => new Date(first.getTime() + index * 3_600_000));
  for (const [index, cost] of costs.entries()) {
    await clock.standAt(times[index]!);
    await settle(aRecord(user, cost));
  }
  return times;
}

async function ran(user: Caller, cadence: Cadence, amount10000: bigint): Promise<BudgetDryRun> {
  const run = await budgets().dryRun(ownerOf(user), { cadence, amount10000 });
  if (run === undefined || run === 'too_long') throw new Error(`the dry run is ${run}`);
  return run;
}

describe('a dry run of a budget', () => {
  it('reports, for the last complete window and the present one, what the amount would have blocked', async () => {
    const user = await aUser(query);
    await settleFrom(user, new Date('2026-03-09T20:00:00Z'), [6n * unit, 5n * unit, 4n * unit, unit]);
    const [, second] = await settleFrom(user, new Date('2026-03-10T05:00:00Z'), [9n * unit, 2n * unit]);
    expect(await budgets().dryRun(ownerOf(user), { cadence: 'daily', amount10000: 10n })).toEqual({
      lastWindow: {
        from: day('2026-03-09'),
        until: day('2026-03-10'),
        spent: 16n * unit,
        blocksFrom: new Date('2026-03-09T21:00:00Z'),
        blockedCount: 2,
        blockedCost: 6n * unit,
      },
      currentWindow: {
        from: day('2026-03-10'),
        until: day('2026-03-11'),
        spent: 11n * unit,
        blocksFrom: second,
        blockedCount: 1,
        blockedCost: 2n * unit,
      },
    });
    expect(await budgets().dryRun(ownerOf(user), { cadence: 'weekly', amount10000: 27n })).toMatchObject({
      lastWindow: { from: day('2026-03-02'), until: day('2026-03-09'), spent: 0n, blockedCount: 0 },
      currentWindow: { spent: 27n * unit, blocksFrom: undefined, blockedCount: 0, blockedCost: 0n },
    });
    expect(await budgets().dryRun(ownerOf(user), { cadence: 'monthly', amount10000: 26n })).toMatchObject({
      lastWindow: { from: day('2026-02-01'), until: day('2026-03-01') },
      currentWindow: { spent: 27n * unit, blocksFrom: second, blockedCount: 1, blockedCost: 2n * unit },
    });
  });

  it('counts what the budget itself blocked, and ignores rows without a counted cost', async () => {
    const user = await aUser(query, { amount: 5n, cadence: 'daily' });
    await clock.standAt('2026-04-10T12:00:00Z');
    expect(await settle(aRecord(user, unpriced))).toEqual(['recorded']);
    await clock.standAt('2026-04-10T12:00:01Z');
    expect(await settle(aRecord(user, 4n * unit))).toEqual(['recorded']);
    await clock.standAt('2026-04-10T12:00:02Z');
    expect(await settle(aRecord(user, 3n * unit), aRecord(user, unpriced))).toEqual(['blocked', 'recorded']);
    const blockedBy = async (amount10000: bigint) => (await ran(user, 'daily', amount10000)).currentWindow;
    expect(await blockedBy(7n)).toMatchObject({ spent: 4n * unit, blockedCount: 0 });
    expect(await blockedBy(6n)).toMatchObject({ blockedCount: 1, blockedCost: 3n * unit });
    expect(await blockedBy(0n)).toMatchObject({ blockedCount: 2, blockedCost: 7n * unit });
  });

  it('judges answers of one instant in the order of their requests', async () => {
    const user = await aUser(query);
    await clock.standAt('2026-04-11T12:00:00Z');
    const [first = '', second = ''] = [randomUUID(), randomUUID()].toSorted();
    await settle(
      aRecord(user, 5n * unit, { requestLogId: second }),
      aRecord(user, 6n * unit, { requestLogId: first }),
    );
    expect((await ran(user, 'daily', 10n)).currentWindow).toMatchObject({
      blockedCount: 1,
      blockedCost: 5n * unit,
    });
  });

  it('counts an answer at midnight in the window that begins then, and in no other', async () => {
    const user = await aUser(query, { amount: 1n, cadence: 'daily' });
    await clock.standAt('2026-04-12T00:00:00Z');
    expect(await settle(aRecord(user, unit), aRecord(user, unit))).toEqual(['recorded', 'blocked']);
    expect(await ran(user, 'daily', 0n)).toMatchObject({
      lastWindow: { blockedCount: 0 },
      currentWindow: { blockedCount: 2 },
    });
  });

  it('follows the rule of the domain, and for the budget in force it matches what settlement has blocked', async () => {
    const cost = fc.oneof(
      fc.bigInt({ min: 0n, max: 5n }).map((units) => units * unit),
      fc.bigInt({ min: 0n, max: 5n * unit }),
    );
    const amount = fc.bigInt({ min: 0n, max: 20n });
    await fc.assert(
      fc.asyncProperty(
        fc.array(cost, { minLength: 1, maxLength: 12 }),
        amount,
        amount,
        async (costs, own, asked) => {
          const user = await aUser(query);
          await setUserBudget(query, userIdOf(user), { amount: own, cadence: 'weekly' });
          // Ten hours before midnight, so that the window can begin within the answers.
          const times = await settleFrom(user, new Date('2026-05-12T14:00:00Z'), costs);
          const answers = costs.map((each, index) => ({ at: times[index]!, cost: each }));
          const found = async (amount10000: bigint) => {
            const { blocksFrom, blockedCount, blockedCost } = (await ran(user, 'weekly', amount10000))
              .currentWindow;
            return { blocksFrom, blockedCount, blockedCost };
          };
          expect(await found(asked)).toEqual(dryRun(aBudget({ amount: asked * unit }), answers));
          const [blocked] = await query<{ count: string; cost: string }>(
            `select count(*) as count, coalesce(sum(cost_picousd), 0) as cost from blocked_answers
           where ownership_scope_key = $1`,
            [`user:${userIdOf(user)}`],
          );
          expect(await found(own)).toMatchObject({
            blockedCount: Number(blocked?.count),
            blockedCost: BigInt(blocked?.cost ?? -1),
          });
        },
      ),
      { numRuns: 40 },
    );
  });

  it('ends as `too_long` when its statement timeout has passed', async () => {
    const user = ownerOf(await aUser(query));
    const pool = await openPool(database.url(), 1);
    await pool.query(sql.unsafe`set statement_timeout = '200ms'`);
    const held = await holder(database.url());
    await held.query('lock table usage_cost_events in access exclusive mode');
    const terms = { cadence: 'monthly', amount10000: 0n } as const;
    expect(await budgetsStore(pool, () => false).dryRun(user, terms)).toBe('too_long');
    await held.rollBack();
    expect(await budgetsStore(pool, () => false).dryRun(user, terms)).toMatchObject({
      currentWindow: { spent: 0n },
    });
    await pool.end();
  });

  it('changes nothing: no budget, no event, no alert', async () => {
    const user = await aUser(query, { amount: 5n, cadence: 'daily' });
    const rows = async () =>
      query(`select (select json_agg(b order by b.budget_id) from user_budgets b) as budgets,
                    (select count(*) from admin_events) as events, (select count(*) from budget_alerts) as alerts`);
    const before = await rows();
    await budgets().dryRun(ownerOf(user), { cadence: 'monthly', amount10000: 0n });
    expect(await rows()).toEqual(before);
  });
});

describe('the ledger rows that budgets read', () => {
  it('are found by time with one index, and duplicates with another', async () => {
    await query(
      `insert into usage_cost_events (request_log_id, request_id, ownership_scope_key, model_key, provider_key,
                                      upstream_model, pricing_status, occurred_at)
       select gen_random_uuid(), 'r' || n, 'user:' || n % 10, 'm', 'p', 'u', 'unpriced',
              timestamptz '2026-01-01' + n * interval '1 minute'
       from generate_series(1, 20000) n`,
    );
    await query('vacuum analyze usage_cost_events');
    const plan = await query(
      `explain select e.occurred_at, e.cost_picousd, e.request_log_id from usage_cost_events e
       where e.ownership_scope_key = 'user:1' and counts_toward_spend(e.pricing_status)
         and e.occurred_at >= '2026-01-05' and e.occurred_at < '2026-01-06' order by 1, 3`,
    );
    expect(JSON.stringify(plan)).toContain('usage_cost_events_occurred_at_idx');
    const duplicates = await query(
      `explain select e.request_log_id from usage_cost_events e
       where e.request_id_sha256 = request_digest('x') and e.ownership_scope_key = 'user:x'`,
    );
    expect(JSON.stringify(duplicates)).toContain('usage_cost_events_request_scope_key');
  });
});
