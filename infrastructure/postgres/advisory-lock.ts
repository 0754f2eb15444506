import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { withClient } from './client.ts';
import { setTimeLimits } from './long-transaction.ts';

/** How often a lock that another process has is asked for. */
const pollMs = 100;
/** A lock is given or refused at once: an answer that is later than this does not come, on a dead network. */
const answerMs = 15_000;

/**
 * Runs `body` while no other process has the advisory lock of this number; undefined where another had it for all of
 * `waitMs`. Rejects when the lock is lost with its connection: what `body` then still does it does beside others.
 *
 * The lock is a transaction's, on a connection of its own, and not a session's: behind a pooler sessions are anybody's,
 * and a lock would stay in one for as long as the pooler likes. The transaction does nothing else, so that it has no
 * snapshot, and neither `vacuum` nor `create index concurrently` waits for it.
 */
export const withAdvisoryLock = <A>(
  url: string,
  lock: number,
  body: () => Promise<A>,
  waitMs = 0,
): Promise<A | undefined> =>
  withClient(
    url,
    async (holder) => {
      const lost = new Promise<never>((_, reject) => {
        holder.once('error', reject);
      });
      // It may be lost after it was of use to anybody.
      lost.catch(() => undefined);
      if (!(await taken(holder, lock, performance.now() + waitMs))) return undefined;
      const result = await Promise.race([body(), lost]);
      await holder.query('rollback');
      return result;
    },
    { query_timeout: answerMs, keepAlive: true },
  );

/**
 * Takes the lock by asking for it again and again. A statement that waits for it inside PostgreSQL would block the
 * process that migrates: `create index concurrently` waits for every statement of every other session.
 */
async function taken(holder: Client, lock: number, deadline: number): Promise<boolean> {
  for (;;) {
    await holder.query('begin');
    await holder.query('set local idle_in_transaction_session_timeout = 0');
    await holder.query(setTimeLimits(0).sql);
    // Without parameters, in the simple protocol: a portal of the other one keeps its snapshot to the transaction's end.
    const { rows } = await holder.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${lock}) as locked`,
    );
    if (rows[0]?.locked === true) return true;
    await holder.query('rollback');
    if (performance.now() > deadline) return false;
    await sleep(pollMs);
  }
}
