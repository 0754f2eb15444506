/** What one step of a purge deleted. */
interface PurgedBatch {
  readonly rows: number;
  /** Whether a whole partition was dropped, instead of deleting row by row. */
  readonly whole: boolean;
}

/**
 * Rows that retention applies to: request logs with their payloads, tags and attempts, or records of MCP tool calls.
 */
export interface AgedRows {
  /** The database's time, from which retention is counted. */
  readonly now: () => Promise<Date>;
  readonly countBefore: (cutoff: Date) => Promise<number>;
  /**
   * Deletes what is older than the cutoff, in bounded batches or by whole partitions. Each is committed on its own,
   * when the consumer asks for it, and yields how many rows it deleted. Rows that another purge is deleting are left to
   * it.
   */
  readonly deleteBefore: (cutoff: Date) => AsyncIterable<PurgedBatch>;
}
