import { causeOf, type Log } from './logging.ts';
import { sqlState } from './postgres/database-fault.ts';
import { repeating } from './repeating.ts';

/** How often a process, which may run for years, checks that the partitions of the coming months exist. */
const everySecs = 6 * 3600;

export interface PartitionsAhead {
  /** Makes them immediately, before the first request is logged. */
  readonly make: () => Promise<void>;
  /** Schedules no further check; resolves when the one in progress is done. */
  readonly stop: () => Promise<void>;
}

/**
 * Has the partitions of the request logs made ahead of time. A fault is logged and costs no request its row: the
 * default partition takes rows that fit into no other.
 */
export function partitionsAhead(make: () => Promise<void>, log: Log): PartitionsAhead {
  const logFault = (error: unknown): void =>
    log.error(
      { error: causeOf(error), sqlstate: sqlState(error) },
      'partitions of the request logs could not be created',
    );
  const { stop } = repeating(() => everySecs, make, logFault);
  return { make: () => make().catch(logFault), stop };
}
