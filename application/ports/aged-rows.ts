/** What one step of a purge has deleted. */
interface PurgedBatch {
  readonly rows: number;
  /** A partition that was dropped, and not rows one by one. */
  readonly whole: boolean;
}

/** Rows as retention sees them: request logs with their payloads, tags and attempts, or records of MCP tool calls. */
export interface AgedRows {
  /** The database's time, from which retention is counted. */
  readonly now: () => Promise<Date>;
  readonly countBefore: (cutoff: Date) => Promise<number>;
  /**
   * Deletes what is older than the cutoff in bounded batches, or whole partitions of it, each committed for itself, the
   * next one when it is asked for; tells how many rows each deleted. Rows that another purge is deleting are left to it.
   */
  readonly deleteBefore: (cutoff: Date) => AsyncIterable<PurgedBatch>;
}
