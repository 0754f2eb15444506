import * as t from 'io-ts';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type CommonQueryMethods, type IdentifierSqlToken, type QuerySqlToken, sql } from 'slonik';
import type { AgedRows } from '../../application/ports/aged-rows.ts';
import { withAdvisoryLock } from './advisory-lock.ts';
import { timestamp, int8, nullable } from './codecs.ts';
import { openPool, row } from './pool.ts';
import { longTransaction, longStatementMs } from './long-transaction.ts';
import { anyTime, answeredWithin } from './within-time.ts';

/**
 * Summary rows of one batch. Measured with payloads, tags and attempts: about 3 ms and an eighth of a megabyte of
 * write-ahead log, which a settlement may have to wait behind. With 200 rows, requests concurrent with a purge took 1.3
 * times as long at the 99th percentile.
 */
export const purgeBatchRows = 50;

/** Numbers of the advisory locks of scheduled purges. */
const requestLogLock = 4_071_771_011;
const invocationLock = 4_071_771_013;

const nowRow = t.type({ now: timestamp });
const countRow = t.type({ count: int8 });
const batchRow = t.type({ deleted: int8, reached: nullable(timestamp) });
const droppedRow = t.type({ deleted: nullable(int8) });
const reachedRow = t.type({ reached: nullable(t.string) });

/** Longer than the pool's statement timeout, so an answer later than this is not coming: the network is dead. */
const answerMs = 15_000;

/** The current time of the database. */
export const databaseNow = (connection: CommonQueryMethods, withinMs: number): Promise<Date> =>
  answeredWithin(connection.oneFirst(sql.type(row(nowRow))`select gateway_now() as now`), withinMs);

/** `request_logs` and its children, in statements that nobody waits for. */
export const agedRequestLogs = (connection: CommonQueryMethods, withinMs = answerMs): AgedRows => ({
  now: () => databaseNow(connection, withinMs),
  countBefore: (cutoff) => answeredWithin(countBefore(connection, cutoff), longStatementMs + withinMs),
  deleteBefore: (cutoff) => batches(connection, cutoff, withinMs),
});

const countBefore = (connection: CommonQueryMethods, cutoff: Date): Promise<number> =>
  longTransaction(connection, async (transaction) => {
    // Parallel workers would slow down requests.
    await transaction.query(sql.unsafe`set local max_parallel_workers_per_gather = 0`);
    const count = await transaction.oneFirst(sql.type(row(countRow))`
      select count(*) as count from request_logs where occurred_at < ${cutoff.toISOString()}::timestamptz
    `);
    return Number(count);
  });

type Batches = ReturnType<AgedRows['deleteBefore']>;

/**
 * Purges partitions that are wholly before the cutoff: each is detached, which takes a moment, and is then read once
 * and dropped, where nobody waits for it. Partitions that an earlier purge detached but did not drop go first.
 */
async function* wholePartitions(connection: CommonQueryMethods, cutoff: Date, withinMs: number): Batches {
  let behind = '00000000-0000-0000-0000-000000000000';
  for (;;) {
    for (;;) {
      const dropped = await answeredWithin(
        longTransaction(connection, (transaction) =>
          transaction.oneFirst(sql.type(row(droppedRow))`select gateway_purge_detached_logs() as deleted`),
        ),
        longStatementMs + withinMs,
      );
      if (dropped === null) break;
      yield { rows: Number(dropped), whole: true };
    }
    const statement = sql.type(row(reachedRow))`
      select reached from gateway_detach_log_partitions(${cutoff.toISOString()}::timestamptz, ${behind}::uuid)
    `;
    const reached = await answeredWithin(connection.oneFirst(statement), withinMs);
    if (reached === null) return;
    behind = reached;
  }
}

type PurgeStatement = QuerySqlToken<StandardSchemaV1<unknown, t.TypeOf<typeof batchRow>>>;

/** Whole partitions first, then rows. */
async function* batches(connection: CommonQueryMethods, cutoff: Date, withinMs: number): Batches {
  yield* wholePartitions(connection, cutoff, withinMs);
  const run = (statement: PurgeStatement) => answeredWithin(connection.one(statement), withinMs);
  yield* rowBatches(sql.identifier(['gateway_purge_request_logs']), cutoff, run);
  const emptied = sql.unsafe`select gateway_drop_log_partitions(${cutoff.toISOString()}::timestamptz)`;
  await answeredWithin(
    longTransaction(connection, (transaction) => transaction.query(emptied)),
    longStatementMs + withinMs,
  );
}

/**
 * Purges single rows. Each batch starts where the one before the last ended: starting over would mean walking over the
 * index entries of all deleted rows. Those of the last batch are walked over once, which marks them as dead for
 * everybody else.
 */
export async function* rowBatches(
  purge: IdentifierSqlToken,
  cutoff: Date,
  run: (statement: PurgeStatement) => Promise<t.TypeOf<typeof batchRow>>,
): Batches {
  let since = '-infinity';
  let reached = since;
  for (;;) {
    const batch = await run(sql.type(row(batchRow))`
      select deleted, reached
      from ${purge}(${cutoff.toISOString()}::timestamptz, ${since}::timestamptz, ${purgeBatchRows})
    `);
    yield { rows: Number(batch.deleted), whole: false };
    if (batch.deleted < BigInt(purgeBatchRows)) return;
    since = reached;
    reached = batch.reached?.toISOString() ?? reached;
  }
}

/** Records of MCP tool calls, in statements that nobody waits for. */
const agedInvocations: Purged['store'] = (connection, withinMs) => ({
  now: () => databaseNow(connection, withinMs),
  countBefore: async (cutoff) => {
    const statement = sql.type(row(countRow))`
      select count(*) as count from mcp_tool_invocations where occurred_at < ${cutoff.toISOString()}::timestamptz
    `;
    return Number(await answeredWithin(connection.oneFirst(statement), withinMs));
  },
  async *deleteBefore(cutoff) {
    for (;;) {
      const statement = sql.type(row(countRow))`
        select gateway_purge_invocations(${cutoff.toISOString()}::timestamptz, ${purgeBatchRows}) as count
      `;
      const count = await answeredWithin(connection.oneFirst(statement), withinMs);
      yield { rows: Number(count), whole: false };
      if (count < BigInt(purgeBatchRows)) return;
    }
  },
});

/** A kind of rows that can be purged, and the number of the advisory lock of its scheduled purge. */
export interface Purged {
  readonly lock: number;
  readonly store: (connection: CommonQueryMethods, withinMs: number) => AgedRows;
}

export const requestLogRows: Purged = { lock: requestLogLock, store: agedRequestLogs };
export const invocationRecords: Purged = { lock: invocationLock, store: agedInvocations };

/**
 * Purges over a connection of its own, outside the pool of the requests. Returns `undefined` if another process is
 * already purging: the workers of all replicas start in the same minute, and one of them is enough.
 */
export async function purgeUnderLock<A>(
  url: string,
  purge: (rows: AgedRows) => Promise<A>,
  of: Purged = requestLogRows,
  withinMs = answerMs,
): Promise<A | undefined> {
  const pool = await openPool(url, 1, anyTime);
  try {
    return await withAdvisoryLock(url, of.lock, () =>
      pool.connect((connection) => purge(of.store(connection, withinMs))),
    );
  } finally {
    // Also ends a purge whose lock was lost.
    await pool.end();
  }
}
