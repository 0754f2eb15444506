import { type DatabasePool, sql } from 'slonik';
import type { Owner } from '../domain/identity/caller.ts';
import { budgetsStore } from '../infrastructure/postgres/budgets-store.ts';
import { quietest } from './quietest.ts';

/** For the 95th percentile. */
const limitMs = 2000;
const runs = 12;
const rounds = 2;

/** Measures the dry run of a monthly budget, for the person with the most requests and for one in the middle. */
export async function measureDryRuns(pool: DatabasePool, out: (line: string) => void): Promise<boolean> {
  const people = (await pool.any(sql.unsafe`
    select user_id, count(*)::integer as requests from usage_cost_events where user_id is not null
    group by 1 order by 2 desc
  `)) as readonly { readonly user_id: string; readonly requests: number }[];
  let quickEnough = true;
  for (const one of [people[0], people[Math.floor(people.length / 2)]]) {
    if (one === undefined) throw new Error('nobody has asked anything');
    // With 0 nothing fits, so everything is read. With the other amount most of it fits, so those days are not read.
    for (const amount10000 of [0n, 500_000n]) {
      const { p50, p95, blocked } = await dryRuns(pool, { kind: 'user', userId: one.user_id }, amount10000);
      quickEnough &&= p95 < limitMs;
      out(
        `  dry run of ${amount10000} for one with ${one.requests} requests: p50 ${p50.toFixed(0)} ms, ` +
          `p95 ${p95.toFixed(0)} ms, ${blocked} blocked${p95 < limitMs ? '' : `  MORE THAN ${limitMs} ms`}`,
      );
    }
  }
  return quickEnough;
}

async function dryRuns(pool: DatabasePool, owner: Owner, amount10000: bigint) {
  const budgets = budgetsStore(pool, () => false);
  let blocked = 0;
  const took = await quietest(rounds, runs, async () => {
    const found = await budgets.dryRun(owner, { cadence: 'monthly', amount10000 });
    if (found === undefined || found === 'too_long') throw new Error(`the dry run is ${found}`);
    blocked = found.lastWindow.blockedCount + found.currentWindow.blockedCount;
  });
  return { ...took, blocked };
}
