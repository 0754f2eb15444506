import type { AgedRows } from '../../../application/ports/aged-rows.ts';
import { withAdvisoryLock } from '../advisory-lock.ts';
import { openPool } from '../pool.ts';
import { agedRequestLogs, requestLogRows, rowBatches } from '../purge-store.ts';
import { anyTime, withinTime } from '../within-time.ts';
import { openCluster } from './cluster.ts';

/**
 * Purges request logs and their children over Citus: one shard after the other, each on its node, by the same function
 * as in a single database. If a node is away the purge fails, and the next purge continues. An explicit order to purge
 * calls this directly: it runs even while another process purges.
 */
export async function purgeShards<A>(url: string, purge: (rows: AgedRows) => Promise<A>): Promise<A> {
  const pool = await openPool(url, 1, anyTime);
  try {
    const cluster = await openCluster(pool, url, { maxConnections: 1, onWriting: () => undefined });
    try {
      return await purge({
        ...agedRequestLogs(pool),
        async *deleteBefore(cutoff) {
          for (const { id } of cluster.shards()) {
            const place = cluster.placeOf(id);
            yield* rowBatches(place.named('gateway_purge_request_logs'), cutoff, (statement) =>
              place.query((node) => withinTime(node, (connection) => connection.one(statement))),
            );
          }
        },
      });
    } finally {
      await cluster.end();
    }
  } finally {
    await pool.end();
  }
}

/** Like `purgeUnderLock`, over shards. */
export const purgeShardsUnderLock = <A>(
  url: string,
  purge: (rows: AgedRows) => Promise<A>,
): Promise<A | undefined> => withAdvisoryLock(url, requestLogRows.lock, () => purgeShards(url, purge));
