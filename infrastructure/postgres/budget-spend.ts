import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { BudgetDryRun, SpendDays, WindowDryRun } from '../../application/ports/budgets.ts';
import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import { type Owner, ownershipScopeKey } from '../../domain/identity/caller.ts';
import { timestamp, int8, orUndefined } from './codecs.ts';
import { databaseFault } from './database-fault.ts';
import { row } from './pool.ts';
import { onSnapshot } from './snapshot.ts';

const dayRow = t.type({
  day: timestamp,
  request_count: int8,
  spent: int8,
  blocked_count: int8,
  blocked_cost: int8,
});

/**
 * An owner's spend on each of the last UTC days: spend from the day totals, requests from the two rollups of each day,
 * each found by its primary key, and blocked answers by `blocked_answers_scope_idx`. No ledger row is read.
 */
export const ownerSpendByDay = (pool: DatabasePool, owner: Owner, days: number): Promise<SpendDays> =>
  onSnapshot(pool, async (connection) => {
    const scope = ownershipScopeKey(owner);
    const rows = await connection.many(sql.type(row(dayRow))`
      select d.starts as day, r.request_count::text, counted_spend(${scope}, d.starts, d.ends)::text as spent,
             b.answers::text as blocked_count, b.cost_picousd::text as blocked_cost
      from (select budget_window_start('daily', gateway_now()) as today) clock
      cross join generate_series(0, ${days - 1}::integer) ago
      cross join lateral (select clock.today - make_interval(hours => 24 * ago) as starts,
                                 clock.today - make_interval(hours => 24 * (ago - 1)) as ends) d
      cross join lateral requests_in(${scope}, d.starts, d.ends) r
      cross join lateral blocked_spend(${scope}, d.starts, d.ends) b
      order by 1
    `);
    const last = rows.at(-1)?.day ?? new Date(0);
    return {
      from: rows[0]?.day ?? last,
      until: new Date(last.getTime() + dayMs),
      days: rows.map((found) => ({
        day: found.day,
        requestCount: Number(found.request_count),
        spent: found.spent,
        blockedAnswers: { count: Number(found.blocked_count), cost: found.blocked_cost },
      })),
    };
  });

const dayMs = 24 * 60 * 60_000;

const dryRunRow = t.type({
  window_start: timestamp,
  window_end: timestamp,
  spent: int8,
  blocks_from: orUndefined(timestamp),
  blocked_count: int8,
  blocked_cost: int8,
});

/**
 * What a hard budget would have blocked, by `budget_dry_run`. It reads the ledger of at most two windows, found by
 * time, and is bounded by the statement timeout (10 s).
 */
export async function budgetDryRun(
  pool: DatabasePool,
  owner: Owner,
  terms: Pick<BudgetTerms, 'cadence' | 'amount10000'>,
): Promise<BudgetDryRun | 'too_long'> {
  try {
    return await dryRunOf(pool, owner, terms);
  } catch (error) {
    if (databaseFault(error) === 'stuck') return 'too_long';
    throw error;
  }
}

const dryRunOf = (
  pool: DatabasePool,
  owner: Owner,
  { cadence, amount10000 }: Pick<BudgetTerms, 'cadence' | 'amount10000'>,
): Promise<BudgetDryRun> =>
  onSnapshot(pool, async (connection) => {
    const scope = ownershipScopeKey(owner);
    const [lastWindow, currentWindow] = (
      await connection.many(sql.type(row(dryRunRow))`
        select w.starts as window_start, w.ends as window_end, d.spent::text, d.blocks_from,
               d.blocked_count::text, d.blocked_cost::text
        from (select budget_window_start(${cadence}, gateway_now()) as starts) present
        cross join lateral (
          values (budget_window_start(${cadence}, present.starts - interval '1 second'), present.starts),
                 (present.starts, budget_window_end(${cadence}, present.starts))
        ) w(starts, ends)
        cross join lateral budget_dry_run(${scope}, ${amount10000.toString()}::bigint, w.starts, w.ends) d
        order by w.starts
      `)
    ).map(windowDryRun);
    if (lastWindow === undefined || currentWindow === undefined) throw new TypeError('a window is missing');
    return { lastWindow, currentWindow };
  });

const windowDryRun = (found: t.TypeOf<typeof dryRunRow>): WindowDryRun => ({
  from: found.window_start,
  until: found.window_end,
  spent: found.spent,
  blocksFrom: found.blocks_from,
  blockedCount: Number(found.blocked_count),
  blockedCost: found.blocked_cost,
});
