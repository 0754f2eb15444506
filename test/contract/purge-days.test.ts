import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import { reportHarnessUsage } from '../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../application/reports/report-spend.ts';
import { makeLogPartitions } from '../../infrastructure/postgres/log-partitions.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { agedRequestLogs } from '../../infrastructure/postgres/purge-store.ts';
import { reportStore } from '../../infrastructure/postgres/report-store.ts';
import { testDistribution } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';
import { aRecord, aUser, type Holder, holder, settleTogether, withLedgers } from './ledger-bench.ts';
import {
  aRow,
  fill,
  heldWithin,
  hourMs,
  idsIn,
  logRollups,
  logTables,
  type Row,
  rollupDifferences,
  users,
} from './purge-rows.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
let pool: DatabasePool;
beforeAll(async () => {
  pool = await openPool(database.url(), 1);
});
afterAll(() => pool?.end());

const partitionsOf = async (table: string): Promise<readonly string[]> =>
  (
    await query<{ name: string }>(
      `select c.relname as name from pg_inherits h join pg_class c on c.oid = h.inhrelid
       where h.inhparent = $1::regclass and c.relname !~ 'default' order by 1`,
      [table],
    )
  ).map(({ name }) => name.slice(table.length + 1));

const dropAll = async (): Promise<void> => {
  for (const table of logTables)
    for (const part of await partitionsOf(table)) await query(`drop table ${table}_${part}`);
  await query(`truncate ${[...logTables, ...logRollups].join(', ')}`);
};

const makeDays = (since: string, until: string) =>
  query('select gateway_make_daily_log_partitions($1, $2) as made', [since, until]);
const makeMonths = (since: string, until: string) =>
  query('select gateway_make_log_partitions($1, $2) as made', [since, until]);

const cutoff = new Date('2031-05-17T09:00:00Z');

const holders: Holder[] = [];
const aHolder = async (): Promise<Holder> => {
  const made = await holder(database.url());
  holders.push(made);
  return made;
};
afterEach(async () => {
  for (const each of holders.splice(0)) await each.rollBack().catch(() => undefined);
});

/**
 * An id as the gateway generates it, for a request that arrived so many milliseconds before its settlement.
 */
const idBefore =
  (ms: number) =>
  (at: Date): string => {
    const time = (at.getTime() - ms).toString(16).padStart(12, '0');
    return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
  };

describe('the partitions of request logs', () => {
  beforeEach(dropAll);

  it('are days if logs are purged; empty months that were made ahead are replaced', async () => {
    await makeMonths('2028-01-30T12:00:00Z', '2028-03-30T12:00:00Z');
    await fill(query, new Date('2028-03-05T00:00:00Z'), [aLog(0)], idBefore(1000));
    await makeDays('2028-01-30T12:00:00Z', '2028-02-02T12:00:00Z');
    // January has begun and stays, March has rows, February was empty.
    for (const table of logTables)
      expect(await partitionsOf(table)).toEqual(['2028_01', '2028_02_01', '2028_02_02', '2028_03']);
    expect(await makeDays('2028-01-30T12:00:00Z', '2028-02-02T12:00:00Z')).toEqual([{ made: 0 }]);
  });

  it('are days for the rest of a month that has days', async () => {
    await makeDays('2028-02-26T23:59:59Z', '2028-02-27T00:00:00Z');
    await makeMonths('2028-02-27T12:00:00Z', '2028-03-05T00:00:00Z');
    expect(await partitionsOf('request_logs')).toEqual([
      '2028_02_26',
      '2028_02_27',
      '2028_02_28',
      '2028_02_29',
      '2028_03',
    ]);
  });

  it.each([
    [
      'detached',
      cutoff,
      `select from gateway_detach_log_partitions($1, log_id_floor('2031-05-14T00:00:00Z'))`,
    ],
    ['dropped', '2031-05-15T00:00:00Z', 'select gateway_drop_log_partitions($1)'],
    ['replaced by days', cutoff, 'select drop_future_log_months($1)'],
  ])('are not %s if a row is inserted while their table locks are awaited', async (_, before, statement) => {
    await makeDays('2031-05-14T00:00:00Z', '2031-05-14T00:00:00Z');
    await makeMonths('2031-06-01T00:00:00Z', '2031-06-01T00:00:00Z');
    const settling = await aHolder();
    for (const at of ['2031-05-14T12:00:00Z', '2031-06-14T12:00:00Z'])
      await settling.query(
        `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms,
           metadata_json, occurred_at) values ($1, 's', 'r', 200, 1, '{}', '2031-06-14T12:00:00Z')`,
        [idBefore(0)(new Date(at))],
      );
    const waiting = query(statement, [before]);
    await sleep(200);
    await settling.commit();
    await waiting;
    expect(await idsIn(query, 'request_logs')).toHaveLength(2);
  });

  it('are created ahead of time by a serving process: this day and three more', async () => {
    await makeLogPartitions(pool, true);
    const days = [0, 1, 2, 3].map((ahead) =>
      new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '_'),
    );
    for (const table of logTables) expect(await partitionsOf(table)).toEqual(days);
  });
});

const aLog = (offset: number): Row => ({
  offset,
  user: users[0]!,
  harness: 'codex',
  counts: [1, 2, 3, 4],
  tags: 1,
  attempts: 1,
  payload: true,
  writer: 1,
});

const purge = async (): Promise<number> => {
  let deleted = 0;
  for await (const batch of agedRequestLogs(pool).deleteBefore(cutoff)) deleted += batch.rows;
  return deleted;
};

describe('a purge of days', () => {
  beforeEach(async () => {
    await dropAll();
    await makeDays('2031-05-10T00:00:00Z', '2031-05-20T00:00:00Z');
  });
  const aReader = async (): Promise<Holder> => {
    const made = await aHolder();
    await made.query('select count(*) from request_log_tags');
    return made;
  };

  it('drops whole days, deletes other rows before the cutoff, and keeps rollups equal to the remaining rows', () =>
    heldWithin(
      { ms: 40_000, numRuns: 10 },
      fc.tuple(fc.array(aRow, { maxLength: 40, size: 'max' }), fc.constantFrom(0, 1000, hourMs, 30 * hourMs)),
      async ([rows, tookMs]) => {
        await dropAll();
        await makeDays('2031-05-10T00:00:00Z', '2031-05-20T00:00:00Z');
        const ids = await fill(query, cutoff, rows, idBefore(tookMs));
        expect(await rollupDifferences(query)).toEqual([]);
        expect(await purge()).toBe(rows.filter(({ offset }) => offset < 0).length);
        const kept = (which: (row: Row) => boolean) =>
          ids.filter((_, index) => rows[index]!.offset >= 0 && which(rows[index]!)).toSorted();
        expect(await idsIn(query, 'request_logs')).toEqual(kept(() => true));
        expect(await idsIn(query, 'request_log_tags')).toEqual(kept(({ tags }) => tags > 0));
        expect(await idsIn(query, 'request_log_attempts')).toEqual(kept(({ attempts }) => attempts > 0));
        expect(await idsIn(query, 'request_log_payloads')).toEqual(kept(({ payload }) => payload));
        expect(await rollupDifferences(query)).toEqual([]);
        // Buckets without rows have no rollup rows either.
        for (const table of logRollups)
          expect(
            await query(`select * from ${table} where bucket_start < rollup_bucket($1)`, [cutoff]),
          ).toEqual([]);
        const days = await partitionsOf('request_logs');
        expect(days.filter((day) => day >= '2031_05_17')).toHaveLength(4);
        if (tookMs < 30 * hourMs) expect(days.filter((day) => day < '2031_05_16')).toEqual([]);
        expect(await query(`select relname from pg_class where relname ~ '^purged_'`)).toEqual([]);
      },
    ));

  it('takes a later row of a day before its oldest one, if the request began the day before', async () => {
    const midnight = new Date('2031-05-17T00:00:00Z').getTime();
    const at = (ms: number): Row => aLog(midnight + ms - cutoff.getTime());
    const began = (ended: Date): string => idBefore(ended.getTime() === midnight + 200 ? 100 : 10_000)(ended);
    const [oldest] = await fill(query, cutoff, [at(200), at(5000)], began);
    for await (const batch of agedRequestLogs(pool).deleteBefore(cutoff)) if (batch.rows > 0) break;
    expect(await idsIn(query, 'request_logs')).toEqual([oldest]);
  });

  it('does not delete single rows of a day that it can drop', async () => {
    await fill(query, cutoff, [aLog(-50 * hourMs), aLog(-49 * hourMs), aLog(-1)], idBefore(0));
    await query('select pg_stat_force_next_flush()');
    const batches: [number, boolean][] = [];
    for await (const { rows, whole } of agedRequestLogs(pool).deleteBefore(cutoff))
      batches.push([rows, whole]);
    // Seven days, each dropped as a whole, and the rest of the eighth row by row.
    expect(batches).toEqual([...[0, 0, 0, 0, 0, 2, 0].map((rows) => [rows, true]), [1, false]]);
  });

  it('drops a day that ends at the cutoff as a whole', async () => {
    const midnight = new Date('2031-05-15T00:00:00Z');
    await fill(query, midnight, [aLog(-1)], idBefore(0));
    const deleted: unknown[] = [];
    for await (const batch of agedRequestLogs(pool).deleteBefore(midnight))
      if (batch.rows > 0) deleted.push(batch);
    expect(deleted).toMatchObject([{ rows: 1, whole: true }]);
    expect((await partitionsOf('request_logs'))[0]).toBe('2031_05_15');
  });

  it('drops nothing while a table is in use, and delays settlements only briefly', async () => {
    const user = await aUser(query);
    await fill(query, cutoff, [aLog(-60 * hourMs), aLog(-59 * hourMs)], idBefore(0));
    const reader = await aReader();
    const under = { way: true };
    const dropping = query('select * from gateway_detach_log_partitions($1, $2)', [
      cutoff,
      '00000000-0000-0000-0000-000000000000',
    ]).finally(() => (under.way = false));
    const times: number[] = [];
    while (under.way) {
      const { value, ms } = await timed(() => settleTogether(ledgers[0]!, [aRecord(user, 1n)]));
      expect(value).toEqual(['recorded']);
      times.push(ms);
      await sleep(5);
    }
    await dropping;
    // Five seconds of attempts; a settlement waits for at most one of them. One may be delayed by a pause of
    // the server.
    expect(times.filter((ms) => ms > 1000).length).toBeLessThanOrEqual(1);
    expect(await partitionsOf('request_logs')).toHaveLength(11);
    await reader.rollBack();
    const logs = await idsIn(query, 'request_logs');
    expect(logs.length).toBeGreaterThan(2);
    expect(await purge()).toBe(logs.length);
    expect(await partitionsOf('request_logs')).toHaveLength(4);
  });

  it('does not drop a day that another purge is dropping', async () => {
    await query(`select gateway_detach_log_partitions($1, log_id_floor('2031-05-14T00:00:00Z'))`, [cutoff]);
    const other = await aHolder();
    await other.query('lock table purged_request_log_tags_2031_05_14 in access exclusive mode');
    expect(await query('select gateway_purge_detached_logs() as deleted')).toEqual([{ deleted: null }]);
    await other.rollBack();
    expect(await query('select gateway_purge_detached_logs() as deleted')).toEqual([{ deleted: '0' }]);
  });

  it('lets settlements and reports continue while days are dropped', async () => {
    const user = await aUser(query);
    await fill(
      query,
      cutoff,
      Array.from({ length: 50 }, (_, at) => aLog(-(at + 20) * hourMs)),
      idBefore(0),
    );
    const before = await idsIn(query, 'usage_cost_events');
    const reading = await openPool(database.url(), 1);
    const reports = reportStore(reading, testDistribution());
    const under = { way: true };
    const purging = purge().finally(() => (under.way = false));
    const times: number[] = [];
    while (under.way) {
      const { value, ms } = await timed(async () => {
        const verdicts = await settleTogether(ledgers[0]!, [aRecord(user, 1n)]);
        await query('select count(*) from request_logs where occurred_at > now()');
        await reportHarnessUsage(reports)('7d');
        await reportLeaderboard(reports)('7d');
        await reportSpend(reports)({ days: 7, ownerKind: 'all' });
        return verdicts;
      });
      expect(value).toEqual(['recorded']);
      times.push(ms);
    }
    await purging;
    await reading.end();
    expect(await idsIn(query, 'usage_cost_events')).toHaveLength(before.length + times.length);
    // One turn may be delayed by a pause of the server itself.
    expect(times.filter((ms) => ms > 1000).length).toBeLessThanOrEqual(1);
    expect((await partitionsOf('request_logs')).filter((day) => day < '2031_05_17')).toEqual([]);
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('deletes single rows of a day that cannot be dropped', async () => {
    // The request arrived on an earlier day, and was settled at the cutoff.
    const [, late] = [
      ...(await fill(query, cutoff, [aLog(-60 * hourMs)], idBefore(0))),
      ...(await fill(query, cutoff, [aLog(0)], idBefore(60 * hourMs))),
    ];
    expect(await purge()).toBe(1);
    for (const table of logTables) expect(await idsIn(query, table)).toEqual([late]);
    expect(await rollupDifferences(query)).toEqual([]);
    expect((await partitionsOf('request_logs')).filter((day) => day < '2031_05_17')).toEqual(['2031_05_14']);
  });

  it('deletes single rows of a day that not all tables have as a partition', async () => {
    await query('drop table request_logs_2031_05_14');
    const [, later] = await fill(query, cutoff, [aLog(-60 * hourMs), aLog(5)], idBefore(0));
    expect(await purge()).toBe(1);
    for (const table of logTables) expect(await idsIn(query, table)).toEqual([later]);
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('that died after detaching a day is completed by the next purge', async () => {
    await fill(query, cutoff, [aLog(-60 * hourMs), aLog(-59 * hourMs), aLog(5)], idBefore(0));
    let behind = '00000000-0000-0000-0000-000000000000';
    for (let day = 0; day < 6; day += 1) {
      const [next] = await query<{ reached: string }>('select * from gateway_detach_log_partitions($1, $2)', [
        cutoff,
        behind,
      ]);
      behind = next!.reached;
    }
    expect(await idsIn(query, 'request_logs')).toHaveLength(1);
    expect(await purge()).toBe(2);
    expect(await rollupDifferences(query)).toEqual([]);
    expect(await query(`select relname from pg_class where relname ~ '^purged_'`)).toEqual([]);
  });
});
