import { purgeCutoff, type Retention } from '../../domain/request-log/retention.ts';
import type { Clock } from '../ports/clock.ts';
import type { AgedRows } from '../ports/aged-rows.ts';

export interface PurgePorts {
  readonly rows: AgedRows;
  readonly clock: Pick<Clock, 'now'>;
  readonly pause: (ms: number) => Promise<void>;
}

export interface PurgeOrder {
  readonly retention: Retention;
  /** Only counts rows older than the cutoff. */
  readonly dryRun: boolean;
  /** Asked after each batch. */
  readonly goOn: () => boolean;
}

/** What became of one purge. */
export interface PurgeReport {
  readonly cutoff: Date;
  /** Rows, without their children, that were older than the cutoff when it began. */
  readonly matched: number;
  /** Those of them that this purge deleted. */
  readonly deleted: number;
}

/**
 * Whoever settles meanwhile waits until what the purge has written is on disk. Measured on 10 million rows, at the 99th
 * percentile of requests: 1.9 times as long as without a purge, and 18 times with five times the batch and rests of once
 * its time.
 */
const restFactor = 4;

/**
 * Deletes the rows that are older than the retention window. Between two batches it rests for {@link restFactor}
 * times as long as the last one took: a purge has a fifth of one database connection's work, and less of a database that
 * is slow.
 */
export const purgeRows =
  ({ rows, clock, pause }: PurgePorts) =>
  async ({ retention, dryRun, goOn }: PurgeOrder): Promise<PurgeReport> => {
    const cutoff = purgeCutoff(retention, await rows.now());
    const matched = await rows.countBefore(cutoff);
    let deleted = 0;
    if (dryRun || !goOn()) return { cutoff, matched, deleted };
    let startedAt = clock.now();
    for await (const batch of rows.deleteBefore(cutoff)) {
      deleted += batch;
      if (!goOn()) break;
      await pause(restFactor * Math.max(0, clock.now() - startedAt));
      startedAt = clock.now();
    }
    return { cutoff, matched, deleted };
  };
