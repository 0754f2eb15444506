import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import type { RequestLogPurge } from '../../application/ports/request-log-purge.ts';
import { reportHarnessUsage } from '../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../application/reports/report-spend.ts';
import { purgeRequestLogs } from '../../application/retention/purge-request-logs.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { purgeAlone, purgeBatchRows, purgeStore } from '../../infrastructure/postgres/purge-store.ts';
import { reportStore } from '../../infrastructure/postgres/report-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aRecord,
  aTeam,
  aUser,
  type Holder,
  holder,
  pricedAt,
  scopeOf,
  type Query,
  settleTogether,
  userIdOf,
  withClient,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

const now = new Date('2031-05-20T09:00:00Z');
const hourMs = 3_600_000;
const hoursAgo = (hours: number): Date => new Date(now.getTime() - hours * hourMs);

/** A request log as a property makes it up. */
interface Row {
  /** Before the cutoff when it is below zero, in milliseconds. */
  readonly offset: number;
  readonly user: string | null;
  readonly harness: string | null;
  readonly counts: readonly (number | null)[];
  readonly tags: number;
  readonly attempts: number;
  readonly payload: boolean;
  readonly writer: number;
}

const users = Array.from({ length: 3 }, () => randomUUID());
const aCount = fc.option(fc.nat(40));
const aRow: fc.Arbitrary<Row> = fc.record({
  offset: fc.oneof(
    fc.integer({ min: -3, max: 3 }),
    fc.integer({ min: -200 * hourMs, max: 100 * hourMs }),
    fc.integer({ min: -20, max: 20 }).map((halfDays) => halfDays * 12 * hourMs),
  ),
  user: fc.option(fc.constantFrom(...users)),
  harness: fc.option(fc.constantFrom('codex', 'opencode', 'unknown')),
  counts: fc.tuple(aCount, aCount, aCount, aCount),
  tags: fc.nat(3),
  attempts: fc.nat(2),
  payload: fc.boolean(),
  writer: fc.integer({ min: 1, max: 3 }),
});

/** Writes rows with their children, and the rollups that their writers would have left. */
async function fill(query: Query, cutoff: Date, rows: readonly Row[]): Promise<readonly string[]> {
  const items = rows.map((row) => ({
    ...row,
    id: randomUUID(),
    at: new Date(cutoff.getTime() + row.offset).toISOString(),
    servers: row.counts[0],
    exposed: row.counts[1],
    invoked: row.counts[2],
    filtered: row.counts[3],
  }));
  const given = `json_to_recordset($1::json) i(id uuid, at timestamptz, "user" uuid, harness text, servers integer,
    exposed integer, invoked integer, filtered integer, tags integer, attempts integer, payload boolean, writer integer)`;
  const scope = `coalesce('user:' || "user", 'team:t:actor:none')`;
  for (const statement of [
    `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, user_id, agent_harness_key,
       agent_harness_label, referenced_mcp_server_count, exposed_tool_count, invoked_tool_count, filtered_tool_count,
       has_payload, metadata_json, occurred_at)
     select id, ${scope}, id::text, 200, 7, "user", harness, upper(harness), servers, exposed, invoked, filtered, payload, '{}', at
     from ${given}`,
    `insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code)
     select id, ${scope}, 'key-' || n, 'value', list_bucket, status_code
     from ${given} join request_logs on request_log_id = id, generate_series(1, tags) n`,
    `insert into request_log_attempts
     select id, ${scope}, n, 'up', 'model', 'success', 200, null, null, false, at, at, 5 from ${given}, generate_series(1, attempts) n`,
    `insert into request_log_payloads select id, ${scope}, '{"body": 1}', null from ${given} where payload`,
    `insert into harness_rollups
     select rollup_bucket(at), harness, writer, ${scope}, upper(harness), count(*) from ${given} where harness is not null
     group by 1, 2, 3, 4`,
    `insert into tool_cardinality_rollups
     select "user", rollup_bucket(at), writer, ${scope}, coalesce(sum(servers), 0), count(servers), coalesce(sum(exposed), 0),
            count(exposed), coalesce(sum(invoked), 0), count(invoked), coalesce(sum(filtered), 0), count(filtered)
     from ${given} where "user" is not null group by 1, 2, 3, 4`,
  ])
    await query(statement, [JSON.stringify(items)]);
  return items.map(({ id }) => id);
}

const logTables = ['request_logs', 'request_log_payloads', 'request_log_tags', 'request_log_attempts'];
const logRollups = ['harness_rollups', 'tool_cardinality_rollups'];

/** Buckets in which the rollups of the logs do not say what a recount of the rows says. */
const rollupDifferences = (query: Query) =>
  query(`
    select bucket_start, key, sum(a) as a, sum(b) as b, sum(c) as c, sum(d) as d, sum(e) as e, sum(f) as f,
           sum(g) as g, sum(h) as h
    from (
      select bucket_start, agent_harness_key as key, request_count as a, 0 as b, 0 as c, 0 as d, 0 as e, 0 as f,
             0 as g, 0 as h
      from harness_rollups
      union all
      select rollup_bucket(occurred_at), agent_harness_key, -1, 0, 0, 0, 0, 0, 0, 0
      from request_logs where agent_harness_key is not null
      union all
      select bucket_start, user_id::text, referenced_mcp_server_sum, referenced_mcp_server_rows, exposed_tool_sum,
             exposed_tool_rows, invoked_tool_sum, invoked_tool_rows, filtered_tool_sum, filtered_tool_rows
      from tool_cardinality_rollups
      union all
      select rollup_bucket(occurred_at), user_id::text, -coalesce(referenced_mcp_server_count, 0),
             -num_nonnulls(referenced_mcp_server_count), -coalesce(exposed_tool_count, 0),
             -num_nonnulls(exposed_tool_count), -coalesce(invoked_tool_count, 0), -num_nonnulls(invoked_tool_count),
             -coalesce(filtered_tool_count, 0), -num_nonnulls(filtered_tool_count)
      from request_logs where user_id is not null
    ) both_sides
    group by 1, 2
    having (sum(a), sum(b), sum(c), sum(d), sum(e), sum(f), sum(g), sum(h)) <> (0, 0, 0, 0, 0, 0, 0, 0)`);

/** Every row of every table but those of the request logs, as JSON. */
async function everythingElse(query: Query): Promise<ReadonlyMap<string, readonly object[]>> {
  const tables = await query<{ name: string }>(
    `select table_name as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  );
  const others = tables.filter(({ name }) => !name.startsWith('request_log') && !logRollups.includes(name));
  const rows = new Map<string, readonly object[]>();
  for (const { name } of others)
    rows.set(name, await query(`select to_jsonb(t)::text as row from ${name} t order by 1`));
  return rows;
}

const idsIn = async (query: Query, table: string): Promise<readonly string[]> =>
  (await query<{ id: string }>(`select distinct request_log_id as id from ${table} order by 1`)).map(
    ({ id }) => id,
  );

/** Calls the function over and over, as the store does, in batches of another size. */
const purgeInBatches = (url: string, cutoff: Date, size: number): Promise<number> =>
  withClient(url, async (ask) => {
    let deleted = 0;
    let since = '-infinity';
    for (;;) {
      const [batch] = await ask<{ deleted: string; reached: Date | null }>(
        'select * from gateway_purge_request_logs($1, $2, $3)',
        [cutoff, since, size],
      );
      deleted += Number(batch!.deleted);
      if (Number(batch!.deleted) < size) return deleted;
      since = batch!.reached!.toISOString();
    }
  });

describe('the purge of request logs', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const clock = withClock(query);
  const { ledgers } = withLedgers(database.url, 2);
  let pool: DatabasePool;

  beforeAll(async () => {
    pool = await openPool(database.url(), 2);
    await clock.standAt(now);
  });
  afterAll(() => pool?.end());
  beforeEach(() => query(`truncate ${[...logTables, ...logRollups].join(', ')}`));

  const holders: Holder[] = [];
  const aHolder = async (): Promise<Holder> => {
    const made = await holder(database.url());
    holders.push(made);
    return made;
  };
  // One that is left in the middle by a test that failed would stop all others.
  afterEach(async () => {
    for (const each of holders.splice(0)) await each.rollBack().catch(() => undefined);
  });

  const purge = (over: { readonly dryRun?: boolean; readonly goOn?: () => boolean } = {}) =>
    purgeRequestLogs({
      logs: purgeStore(pool),
      clock: { now: () => performance.now() },
      pause: async () => undefined,
    })({ retention: '3d', dryRun: false, goOn: () => true, ...over });

  const row: Row = {
    offset: -1,
    user: users[0]!,
    harness: 'codex',
    counts: [1, 2, 3, 4],
    tags: 1,
    attempts: 1,
    payload: true,
    writer: 1,
  };

  it('deletes what is older than the cutoff, with its children, and leaves what is not, however many there are at it', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(aRow, { maxLength: 40 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
        async (rows, sizes) => {
          await query(`truncate ${[...logTables, ...logRollups].join(', ')}`);
          const cutoff = hoursAgo(72);
          const ids = await fill(query, cutoff, rows);
          expect(await rollupDifferences(query)).toEqual([]);
          const deleted = await Promise.all(
            sizes.map((size) => purgeInBatches(database.url(), cutoff, size)),
          );
          expect(deleted.reduce((sum, each) => sum + each, 0)).toBe(
            rows.filter(({ offset }) => offset < 0).length,
          );
          const kept = (which: (row: Row) => boolean) =>
            ids
              .filter((_, index) => {
                const row = rows[index]!;
                return row.offset >= 0 && which(row);
              })
              .toSorted();
          expect(await idsIn(query, 'request_logs')).toEqual(kept(() => true));
          expect(await idsIn(query, 'request_log_tags')).toEqual(kept(({ tags }) => tags > 0));
          expect(await idsIn(query, 'request_log_attempts')).toEqual(kept(({ attempts }) => attempts > 0));
          expect(await idsIn(query, 'request_log_payloads')).toEqual(kept(({ payload }) => payload));
          expect(await rollupDifferences(query)).toEqual([]);
        },
      ),
      // Shrinking would go on for minutes.
      { numRuns: 40, interruptAfterTimeLimit: 20_000 },
    ));

  it('leaves no rollup rows behind for buckets that it has emptied', async () => {
    const rows = Array.from({ length: 50 }, (_, index) => ({
      ...row,
      user: users[index % 3]!,
      harness: ['codex', null][index % 2]!,
      offset: -(index + 13) * 6 * hourMs,
      writer: 1 + (index % 3),
    }));
    await fill(query, hoursAgo(72), [...rows, { ...row, user: users[0]!, harness: 'codex', offset: 1 }]);
    await purge();
    // what is left besides the bucket of the cutoff
    for (const table of logRollups)
      expect(
        await query(`select * from ${table} where bucket_start < rollup_bucket($1)`, [hoursAgo(72)]),
      ).toEqual([]);
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('does not delete usage_cost_events, budget history, configuration, users, teams, keys or anything else', async () => {
    const user = await aUser(query, { amount: 1_000_000n, cadence: 'daily' });
    const [team] = await aTeam(query, { amount: 3n, cadence: 'monthly', hard: false });
    const userId = userIdOf(user);
    for (const amount of [2_000_000, 3_000_000])
      await query(`select gateway_set_budget($1, null, 'daily', $2, false, 'UTC', false, false)`, [
        userId,
        amount,
      ]);
    await query(
      `insert into api_keys (public_id, secret_sha256, name, user_id) values ('p', sha256('p'), 'k', $1)`,
      [userId],
    );
    await query(`insert into providers (provider_key, kind, config_json) values ('up', 'compat', '{}')`);
    await clock.standAt(hoursAgo(200));
    for (const caller of [user, team])
      await settleTogether(ledgers[0]!, [
        aRecord(caller, pricedAt(290_000_000n)),
        aRecord(caller, pricedAt(1n)),
      ]);
    await clock.standAt(now);
    await query(
      `insert into request_mcp_token_overheads (request_id, request_log_id, server_count, tool_count, occurred_at)
       select request_id, request_log_id, 1, 2, occurred_at from request_logs`,
    );
    await query(
      `insert into mcp_tool_invocations (mcp_tool_invocation_id, request_id, request_log_id, server_id, tool_id, status,
         policy_result, latency_ms, arguments_truncated, result_truncated, occurred_at)
       select gen_random_uuid(), request_id, request_log_id, 's', 't', 'success', 'allowed', 1, false, false, occurred_at
       from request_logs`,
    );
    const before = await everythingElse(query);
    for (const table of [
      'usage_cost_events',
      'usage_daily_totals',
      'usage_rollups',
      'user_budgets',
      'team_budgets',
      'budget_alerts',
      'budget_alert_deliveries',
      'providers',
      'users',
      'teams',
      'api_keys',
      'request_mcp_token_overheads',
      'mcp_tool_invocations',
    ])
      expect([table, before.get(table)?.length ?? 0]).not.toEqual([table, 0]);
    expect(before.get('user_budgets')?.length).toBeGreaterThan(2);
    expect(await purge()).toEqual({ cutoff: hoursAgo(72), matched: 4, deleted: 4 });
    expect(await everythingElse(query)).toEqual(before);
    for (const table of [...logTables, ...logRollups])
      expect([table, await query(`select * from ${table}`)]).toEqual([table, []]);
  });

  it('with --dry-run only counts parent rows older than the cutoff, by the database’s time', async () => {
    const rows = fc.sample(aRow, 30);
    await fill(query, hoursAgo(72), rows);
    const dump = async () => {
      const tables: object[][] = [];
      for (const table of [...logTables, ...logRollups])
        tables.push(await query(`select to_jsonb(t)::text from ${table} t order by 1`));
      return tables;
    };
    const before = await dump();
    const matched = rows.filter(({ offset }) => offset < 0).length;
    expect(await purge({ dryRun: true })).toEqual({ cutoff: hoursAgo(72), matched, deleted: 0 });
    expect(await dump()).toEqual(before);
  });

  it('goes on batch after batch until nothing is left, or until it is told to stop', async () => {
    const rows = Array.from({ length: 2 * purgeBatchRows + 1 }, (_, index) => ({
      ...row,
      offset: -1 - index,
    }));
    await fill(query, hoursAgo(72), rows);
    const matched = rows.length;
    expect(await purge({ goOn: once() })).toMatchObject({ matched, deleted: purgeBatchRows });
    expect(await rollupDifferences(query)).toEqual([]);
    expect(await purge()).toMatchObject({ matched: matched - purgeBatchRows, deleted: purgeBatchRows + 1 });
    expect(await purge()).toMatchObject({ matched: 0, deleted: 0 });
  });

  /** Agrees to the start and to nothing more. */
  function once(): () => boolean {
    let asked = 0;
    return () => asked++ === 0;
  }

  it('leaves rows to those who have them locked, with what they count, and waits for nobody', async () => {
    const ids = await fill(query, hoursAgo(72), [
      { ...row, offset: -30 * hourMs },
      { ...row, offset: -29 * hourMs },
    ]);
    const other = await aHolder();
    await other.query('select from request_logs where request_log_id = $1 for update', [ids[0]]);
    expect(await purge()).toMatchObject({ matched: 2, deleted: 1 });
    expect(await idsIn(query, 'request_logs')).toEqual([ids[0]]);
    expect(await rollupDifferences(query)).toEqual([]);
    await other.rollBack();
    expect(await purge()).toMatchObject({ matched: 1, deleted: 1 });
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('shares the work with another one, whichever is committed first', async () => {
    await fill(
      query,
      hoursAgo(72),
      Array.from({ length: 4 }, (_, index) => ({ ...row, offset: index - 9 })),
    );
    const purges = [await aHolder(), await aHolder()];
    for (const each of purges)
      await each.query(`select * from gateway_purge_request_logs($1, '-infinity', 2)`, [hoursAgo(72)]);
    await purges[1]?.commit();
    await purges[0]?.rollBack();
    expect(await idsIn(query, 'request_logs')).toHaveLength(2);
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('looks for no rows behind the place from which it goes on', async () => {
    const ids = await fill(query, hoursAgo(72), [
      { ...row, offset: -3 },
      { ...row, offset: -2 },
      { ...row, offset: -1 },
    ]);
    const since = new Date(hoursAgo(72).getTime() - 2);
    expect(await query('select * from gateway_purge_request_logs($1, $2, 1)', [hoursAgo(72), since])).toEqual(
      [{ deleted: '1', reached: since }],
    );
    expect(await idsIn(query, 'request_logs')).toEqual([ids[0]!, ids[2]!].toSorted());
  });

  it('waits for no settlement, and no settlement for it', async () => {
    await fill(query, hoursAgo(72), [{ ...row, offset: -5 }]);
    const user = await aUser(query);
    const settling = await aHolder();
    // What a settlement of that time, out of a journal, holds until its commit.
    const values = `values (rollup_bucket($1), 'codex', pg_backend_pid(), '${scopeOf(user)}', 'CODEX', 1)`;
    await settling.query(`insert into harness_rollups ${values}`, [hoursAgo(73)]);
    const purging = await aHolder();
    await purging.query(`select * from gateway_purge_request_logs($1, '-infinity', 10)`, [hoursAgo(72)]);
    await clock.standAt(hoursAgo(73));
    expect(await settleTogether(ledgers[0]!, [aRecord(user, 1n)])).toEqual(['recorded']);
    await clock.standAt(now);
    await purging.commit();
    await settling.rollBack();
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('has plans that read no table whole, even when they were made while the tables were small', async () => {
    const scans = () =>
      query(
        `select relname, seq_scan from pg_stat_user_tables
         where relname ~ '^request_log' or relname = any ($1) order by 1`,
        [logRollups],
      );
    await fill(
      query,
      hoursAgo(72),
      Array.from({ length: 30 }, (_, index) => ({ ...row, offset: -index - 1 })),
    );
    await query('select pg_stat_force_next_flush()');
    const before = await scans();
    await withClient(database.url(), async (ask) => {
      for (let turn = 0; turn < 15; turn += 1)
        await ask(`select * from gateway_purge_request_logs($1, '-infinity', 2)`, [hoursAgo(72)]);
      await ask('select pg_stat_force_next_flush()');
    });
    expect(await scans()).toEqual(before);
    expect(await query('select * from request_log_tags')).toEqual([]);
  });

  describe('seen by reports', () => {
    it('averages and harness usage are from the request logs as retained, spend is not', async () => {
      const reports = reportStore(pool);
      const user = await aUser(query);
      const request = (harness: string, exposedToolCount: number) => {
        const record = aRecord(user, pricedAt(5n));
        const log = { ...record.logged.log, harness: { key: harness, label: harness }, exposedToolCount };
        return { ...record, logged: { ...record.logged, log } };
      };
      await clock.standAt(hoursAgo(80));
      await settleTogether(ledgers[0]!, [request('codex', 10), request('opencode', 20)]);
      await clock.standAt(hoursAgo(71));
      await settleTogether(ledgers[1]!, [request('codex', 4)]);
      await clock.standAt(now);
      const spend = await reportSpend(reports)({ days: 7, ownerKind: 'all' });
      expect((await reportHarnessUsage(reports)('7d')).logsSince).toEqual(hoursAgo(80));
      await purge();

      const usage = await reportHarnessUsage(reports)('7d');
      expect(usage.logsSince).toEqual(hoursAgo(71));
      expect(usage.leaders).toEqual([
        { rank: 1, harnessKey: 'codex', harnessLabel: 'codex', requestCount: 1 },
      ]);
      const board = await reportLeaderboard(reports)('7d');
      const leader = board.leaders.find(({ userId }) => userId === userIdOf(user));
      expect(leader).toMatchObject({ toolAverages: { exposedTool: 4, invokedTool: 0 } });
      expect(leader?.spend).toBe(15n);
      expect(await reportSpend(reports)({ days: 7, ownerKind: 'all' })).toEqual(spend);
    });
  });

  describe('by the workers of several processes', () => {
    it('is done by one of them at a time, over a connection of its own', async () => {
      const begun = Promise.withResolvers<void>();
      const end = Promise.withResolvers<void>();
      const first = purgeAlone(database.url(), async () => {
        begun.resolve();
        await end.promise;
        return 'first';
      });
      await begun.promise;
      expect(await purgeAlone(database.url(), async () => 'second')).toBeUndefined();
      end.resolve();
      expect(await first).toBe('first');
      expect(await purgeAlone(database.url(), async () => 'third')).toBe('third');
    });

    it('is over for one that loses its connection, and can be begun anew', async () => {
      await fill(query, hoursAgo(72), [{ ...row, offset: -5 }]);
      const lost = purgeAlone(database.url(), async (logs) => {
        await query(
          `select pg_terminate_backend(pid) from pg_locks l where locktype = 'advisory' and granted
           and l.database = (select oid from pg_database where datname = current_database())`,
        );
        return logs.countBefore(hoursAgo(72));
      });
      await expect(lost).rejects.toThrow();
      expect(await purgeAlone(database.url(), (logs) => logs.countBefore(hoursAgo(72)))).toBe(1);
    });

    it('is given up when the database does not answer any more, and holds nobody up', async () => {
      const proxy = await tcpProxy();
      const begin = async (logs: RequestLogPurge): Promise<unknown> => {
        proxy.freeze();
        return logs.now();
      };
      await expect(purgeAlone(proxy.to(database.url()), begin, 1000)).rejects.toThrow(
        'did not answer in time',
      );
      await proxy.close();
    });
  });
});
