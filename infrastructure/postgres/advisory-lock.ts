import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { answerMs, whileAnswered, withClient } from './client.ts';
import { setTimeLimits } from './long-transaction.ts';

/** How often a lock that another process holds is tried again. */
const pollMs = 100;

/**
 * Runs `body` while this process holds the advisory lock of this number. Returns `undefined` if another process held it
 * for all of `waitMs`. Rejects if the lock is lost with its connection; `body` may then run concurrently with another.
 * The server is asked again and again whether it is still there (`whileAnswered`). `body` is given the promise that
 * rejects when the lock is lost.
 *
 * The lock belongs to a transaction on a connection of its own, not to a session: behind a pooler, sessions are shared,
 * and a lock would stay in one for as long as the pooler keeps it. The transaction does nothing else, so it has no
 * snapshot, and neither `vacuum` nor `create index concurrently` waits for it.
 */
export const withAdvisoryLock = <A>(
  url: string,
  lock: number,
  body: (lost: Promise<never>) => Promise<A>,
  waitMs = 0,
  withinMs = answerMs,
): Promise<A | undefined> =>
  withClient(
    url,
    async (holder) => {
      if (!(await taken(holder, lock, performance.now() + waitMs))) return undefined;
      const result = await whileAnswered(holder, body, withinMs);
      await holder.query('rollback');
      return result;
    },
    { query_timeout: withinMs },
  );

/**
 * Takes the lock by polling for it. A statement that waits for it inside PostgreSQL would block the process that
 * migrates, because `create index concurrently` waits for every statement of every other session.
 */
async function taken(holder: Client, lock: number, deadline: number): Promise<boolean> {
  for (;;) {
    await holder.query('begin');
    await holder.query('set local idle_in_transaction_session_timeout = 0');
    await holder.query(setTimeLimits(0).sql);
    // No parameters, hence the simple protocol: a portal of the extended one keeps its snapshot until the commit.
    const { rows } = await holder.query<{ locked: boolean }>(
      `select pg_try_advisory_xact_lock(${lock}) as locked`,
    );
    if (rows[0]?.locked === true) return true;
    await holder.query('rollback');
    if (performance.now() > deadline) return false;
    await sleep(pollMs);
  }
}
