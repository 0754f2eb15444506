import { causeOf, type Log } from './logging.ts';
import { sqlState } from './postgres/database-fault.ts';
import { repeating } from './repeating.ts';

/** So often a process looks whether the partitions of the months to come are there: it may run for years. */
const everySecs = 6 * 3600;

export interface PartitionsAhead {
  /** Now: before the first request is logged. */
  readonly make: () => Promise<void>;
  /** No further look; resolves when the one under way is over. */
  readonly stop: () => Promise<void>;
}

/**
 * Has the partitions of the request logs made ahead of time. A fault is logged, and costs no request its row: the
 * default partition takes what fits into no other.
 */
export function partitionsAhead(make: () => Promise<void>, log: Log): PartitionsAhead {
  const logFault = (error: unknown): void =>
    log.error(
      { error: causeOf(error), sqlstate: sqlState(error) },
      'partitions of the request logs could not be made',
    );
  const { stop } = repeating(() => everySecs, make, logFault);
  return { make: () => make().catch(logFault), stop };
}
