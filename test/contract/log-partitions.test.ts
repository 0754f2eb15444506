import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DatabasePool } from 'slonik';
import { sql } from 'slonik';
import { makeLogPartitions } from '../../infrastructure/postgres/log-partitions.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { agedRequestLogs } from '../../infrastructure/postgres/purge-store.ts';
import { listOf } from '../../infrastructure/postgres/request-log-filter.ts';
import { requestLogsStore } from '../../infrastructure/postgres/request-logs-store.ts';
import { pageOf, readList } from '../../infrastructure/postgres/time-list.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';
import {
  aRecord,
  aUser,
  holder,
  type Query,
  settleTogether,
  untilWaiting,
  withClock,
  withLedgers,
} from './ledger-bench.ts';

const logTables = ['request_log_attempts', 'request_log_payloads', 'request_log_tags', 'request_logs'];

const partitionsOf = async (query: Query, table: string): Promise<readonly string[]> =>
  (
    await query<{ name: string }>(
      `select c.relname as name from pg_inherits h join pg_class c on c.oid = h.inhrelid
       where h.inhparent = $1::regclass order by 1`,
      [table],
    )
  ).map(({ name }) => name);

/** An id as the gateway generates it at this time. */
const idAt = (at: string): string => {
  const time = Date.parse(at).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

/** A request log with a tag, an attempt and a payload. */
async function addLog(query: Query, id: string, at: string, model = 'fast'): Promise<string> {
  const log = [id, at, model];
  await query(
    `insert into request_logs (request_log_id, ownership_scope_key, request_id, model_key, status_code, latency_ms,
       metadata_json, occurred_at) values ($1::uuid, 's', $1::text, $3, 200, 1, '{}', $2)`,
    log,
  );
  await query(
    `insert into request_log_tags select request_log_id, 's', 'k', 'v', list_bucket, 200, $2 from request_logs
     where request_log_id = $1`,
    [id, model],
  );
  await query(
    `insert into request_log_attempts values ($1, 's', 1, 'up', 'm', 'success', 200, null, null, false, $2, $2, 1)`,
    [id, at],
  );
  await query(`insert into request_log_payloads values ($1, 's', '{}', null)`, [id]);
  return id;
}

const placesOf = async (query: Query, id: string): Promise<readonly string[]> => {
  const places: string[] = [];
  for (const table of logTables)
    for (const { place } of await query<{ place: string }>(
      `select tableoid::regclass::text as place from ${table} where request_log_id = $1`,
      [id],
    ))
      places.push(place);
  return places;
};

const make = (query: Query, since: string, until: string): Promise<readonly { readonly made: number }[]> =>
  query('select gateway_make_log_partitions($1, $2) as made', [since, until]);

describe('the partitions of the request logs', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const watch = queries(database.url);

  it('are created once per month for all log tables', async () => {
    await query(`set timezone = 'Asia/Tokyo'`);
    expect(await make(query, '2028-02-29T23:00:00Z', '2028-02-29T23:00:00Z')).toEqual([{ made: 4 }]);
    expect(await make(query, '2028-01-31T23:00:00Z', '2028-03-01T00:00:00Z')).toEqual([{ made: 8 }]);
    expect(await make(query, '2028-01-01T00:00:00Z', '2028-03-31T23:59:59Z')).toEqual([{ made: 0 }]);
    for (const table of logTables)
      expect(await partitionsOf(query, table)).toEqual(
        ['2028_01', '2028_02', '2028_03', 'default'].map((part) => `${table}_${part}`),
      );
  });

  it("contain the rows of their month by the id's UTC time; every other id is in the default partition", async () => {
    for (const [at, part] of [
      ['2028-01-31T23:59:59.999Z', '2028_01'],
      ['2028-02-01T00:00:00.000Z', '2028_02'],
      ['2028-02-29T23:59:59.999Z', '2028_02'],
      ['2028-07-01T00:00:00.000Z', 'default'],
    ] as const)
      expect(await placesOf(query, await addLog(query, idAt(at), at))).toEqual(
        logTables.map((table) => `${table}_${part}`),
      );
    const other = await addLog(query, 'ffffffff-ffff-4fff-bfff-ffffffffffff', '2028-02-02T00:00:00Z');
    expect(await placesOf(query, other)).toEqual(logTables.map((table) => `${table}_default`));
  });

  it('that are created late take over their rows from the default partition', async () => {
    const id = await addLog(query, idAt('2028-05-05T00:00:00Z'), '2028-05-05T00:00:00Z');
    const [before] = await query('select * from request_logs where request_log_id = $1', [id]);
    expect(await make(query, '2028-05-01T00:00:00Z', '2028-05-01T00:00:00Z')).toEqual([{ made: 4 }]);
    expect(await placesOf(query, id)).toEqual(logTables.map((table) => `${table}_2028_05`));
    expect(await query('select * from request_logs where request_log_id = $1', [id])).toEqual([before]);
  });

  it('are created later if a table is in use for long; inserts go to the default partition meanwhile', async () => {
    const reader = await holder(database.url());
    await reader.query('select count(*) from request_logs');
    expect(await make(query, '2028-09-01T00:00:00Z', '2028-09-01T00:00:00Z')).toEqual([{ made: 3 }]);
    const id = await addLog(query, idAt('2028-09-02T00:00:00Z'), '2028-09-02T00:00:00Z');
    expect(await placesOf(query, id)).toContain('request_logs_default');
    await reader.rollBack();
    expect(await make(query, '2028-09-01T00:00:00Z', '2028-09-01T00:00:00Z')).toEqual([{ made: 1 }]);
    expect(await placesOf(query, id)).toEqual(logTables.map((table) => `${table}_2028_09`));
  });

  it('are created later if a row of theirs is inserted meanwhile, or if another process is creating them', async () => {
    const march = ['2029-03-01T00:00:00Z', '2029-03-01T00:00:00Z'] as const;
    const other = await holder(database.url());
    await other.query('select pg_advisory_xact_lock(4071771012)');
    expect(await make(query, ...march)).toEqual([{ made: 0 }]);
    await other.rollBack();
    const id = idAt('2029-03-02T00:00:00Z');
    const settling = await holder(database.url());
    await settling.query(
      `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms,
         metadata_json, occurred_at) values ($1, 's', 'r', 200, 1, '{}', '2029-03-02T00:00:00Z')`,
      [id],
    );
    const making = make(query, ...march);
    await untilWaiting(watch, 1, 'relation');
    await settling.commit();
    expect(await making).toEqual([{ made: 3 }]);
    expect(await placesOf(query, id)).toEqual(['request_logs_default']);
    expect(await make(query, ...march)).toEqual([{ made: 1 }]);
    expect(await placesOf(query, id)).toEqual(['request_logs_2029_03']);
  });

  it('are created ahead of time by a serving process: this month and two more', async () => {
    const pool = await openPool(database.url(), 1);
    const before = await partitionsOf(query, 'request_logs');
    await makeLogPartitions(pool, false);
    await pool.end();
    const fresh = (await partitionsOf(query, 'request_logs')).filter((name) => !before.includes(name));
    const month = (ahead: number): string => {
      const now = new Date();
      const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
      return `request_logs_${first.toISOString().slice(0, 7).replace('-', '_')}`;
    };
    expect(fresh).toEqual(expect.arrayContaining([month(0), month(1), month(2)]));
  });
});

describe('the purge of partitions', () => {
  const database = withDatabase();
  const query = queries(database.url);
  let pool: DatabasePool;
  beforeAll(async () => {
    pool = await openPool(database.url(), 1);
    await make(query, '2028-01-01T00:00:00Z', '2028-03-01T00:00:00Z');
  });
  afterAll(() => pool.end());

  it('drops partitions that are empty and before the cutoff, and no others', async () => {
    for (const at of ['2028-01-10T00:00:00Z', '2028-02-10T00:00:00Z', '2028-02-20T00:00:00Z'])
      await addLog(query, idAt(at), at);
    // Its request began in January and ended in February, when no older row remained.
    const late = await addLog(query, idAt('2028-01-31T23:59:59Z'), '2028-02-15T00:00:00Z');
    const purge = async (cutoff: string): Promise<number> => {
      let deleted = 0;
      for await (const batch of agedRequestLogs(pool).deleteBefore(new Date(cutoff))) deleted += batch.rows;
      return deleted;
    };
    expect(await purge('2028-02-15T00:00:00Z')).toBe(2);
    expect(await placesOf(query, late)).toEqual(logTables.map((table) => `${table}_2028_01`));
    expect(await purge('2028-02-16T00:00:00Z')).toBe(1);
    for (const table of logTables)
      expect(await partitionsOf(query, table)).toEqual(
        ['2028_02', '2028_03', 'default'].map((part) => `${table}_${part}`),
      );
    const again = await addLog(query, idAt('2028-01-20T00:00:00Z'), '2028-02-20T00:00:00Z');
    expect(await placesOf(query, again)).toEqual(logTables.map((table) => `${table}_default`));
  });

  it('does not drop a partition that is being read before the next purge, and waits only briefly', async () => {
    const reader = await holder(database.url());
    await reader.query('select count(*) from request_logs');
    await query('delete from request_logs; delete from request_log_tags');
    await query('delete from request_log_attempts; delete from request_log_payloads');
    const drop = () =>
      timed(() => query(`select gateway_drop_log_partitions('2028-03-01T00:00:00Z') as dropped`));
    const first = await drop();
    expect(first.value).toEqual([{ dropped: 3 }]);
    // One call may be delayed by a pause of the server itself.
    const second = await drop();
    expect(second.value).toEqual([{ dropped: 0 }]);
    expect(Math.min(first.ms, second.ms)).toBeLessThan(1500);
    await reader.rollBack();
    expect((await drop()).value).toEqual([{ dropped: 1 }]);
  });
});

describe('request logs in several partitions', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url);
  const clock = withClock(query);
  let pool: DatabasePool;
  const ids: string[] = [];
  beforeAll(async () => {
    pool = await openPool(database.url(), 1);
    await make(query, '2028-01-01T00:00:00Z', '2028-03-01T00:00:00Z');
    for (let day = 0; day < 90; day += 1) {
      const at = new Date(Date.UTC(2028, 0, 1 + day)).toISOString();
      ids.push(await addLog(query, day % 10 === 9 ? randomUUID() : idAt(at), at, `m-${day % 2}`));
    }
    await query('vacuum analyze request_logs, request_log_tags');
  });
  afterAll(() => pool.end());

  it('are one list in order of time', async () => {
    const { items, total } = await requestLogsStore(pool, 'none').page({}, { page: 1, pageSize: 200 });
    expect([items.map(({ requestLogId }) => requestLogId), total]).toEqual([ids.toReversed(), 90]);
    const tagged = await requestLogsStore(pool, 'none').page(
      { tag: { key: 'k', value: 'v' }, modelKey: 'm-1' },
      { page: 2, pageSize: 7 },
    );
    const odd = ids.filter((_, day) => day % 2 === 1).toReversed();
    expect(tagged.items.map(({ requestLogId }) => requestLogId)).toEqual(odd.slice(7, 14));
  });

  it.each([
    ['without a filter', {}],
    ['by model', { modelKey: 'm-1' }],
    ['by tag', { tag: { key: 'k', value: 'v' } }],
  ])('are read by an index of each partition %s', async (_, filter) => {
    const page = pageOf(listOf(filter), { from: undefined, until: undefined }, { page: 1, pageSize: 10 });
    const plan = await readList(pool, (connection) =>
      connection.anyFirst(sql.unsafe`explain (costs off) ${page}`),
    );
    const lines = plan.map(String).join('\n');
    expect(lines).toContain('Merge Append');
    expect(lines).toMatch(/Index (?:Only )?Scan.* on request_log(?:s|_tags)_2028_01/);
    expect(lines).not.toMatch(/Seq Scan|Bitmap/);
  });

  it('compress bodies with lz4 if the server is built with it, also in partitions that are created later', async () => {
    await query(`select gateway_make_log_partitions('2030-01-15T00:00:00Z', '2030-01-15T00:00:00Z')`);
    const [server] = await query<{ has: boolean }>(
      `select 'lz4' = any(enumvals) as has from pg_settings where name = 'default_toast_compression'`,
    );
    const bodies = await query<{ compression: string }>(
      `select distinct a.attcompression::text as compression from pg_attribute a
       where a.attname in ('request_json', 'response_json', 'arguments_json', 'result_json')
         and (a.attrelid = 'mcp_tool_invocations'::regclass or a.attrelid = 'request_log_payloads_2030_01'::regclass
              or a.attrelid in (select inhrelid from pg_inherits where inhparent = 'request_log_payloads'::regclass))`,
    );
    expect(bodies).toEqual([{ compression: server!.has ? 'l' : '' }]);
  });

  it('are written once each when they are settled again, whichever partition their id belongs to', async () => {
    const user = await aUser(query);
    for (const at of ['2028-01-15T00:00:00Z', '2028-03-15T00:00:00Z', '2029-03-15T00:00:00Z']) {
      const record = aRecord(user, 1n, { requestLogId: idAt(at) });
      for (const day of ['2028-03-20', '2028-03-21']) {
        await clock.standAt(`${day}T00:00:00Z`);
        expect(await settleTogether(ledgers[0]!, [record])).toEqual(['recorded']);
      }
      expect(
        await query(`select occurred_at::date::text as day from request_logs where request_log_id = $1`, [
          record.charge.requestLogId,
        ]),
      ).toEqual([{ day: '2028-03-20' }]);
    }
    await clock.run();
  });
});
