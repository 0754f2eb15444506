import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { DatabasePool } from 'slonik';
import type { AgedRows } from '../../application/ports/aged-rows.ts';
import { reportHarnessUsage } from '../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../application/reports/report-spend.ts';
import { purgeRows } from '../../application/retention/purge-rows.ts';
import { purgeShards } from '../../infrastructure/postgres/citus/aged-shards.ts';
import { withAdvisoryLock } from '../../infrastructure/postgres/advisory-lock.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import {
  purgeUnderLock,
  purgeBatchRows,
  agedRequestLogs,
  requestLogRows,
} from '../../infrastructure/postgres/purge-store.ts';
import { reportStore } from '../../infrastructure/postgres/report-store.ts';
import { onCitus, ownersPlace, testDistribution } from '../support/citus-database.ts';
import { withDatabase } from '../support/database.ts';
import { itOnOneServer } from '../support/one-server.ts';
import { queries } from '../support/gateway.ts';
import {
  aRecord,
  aTeam,
  aUser,
  type Holder,
  holder,
  pricedAt,
  scopeOf,
  settleTogether,
  userIdOf,
  withClient,
  withClock,
  withLedgers,
} from './ledger-bench.ts';
import {
  aRow,
  everythingElse,
  fill,
  heldWithin,
  hourMs,
  hoursAgo,
  idsIn,
  logRollups,
  logTables,
  now,
  purgeInBatches,
  type Row,
  rollupDifferences,
  users,
} from './purge-rows.ts';
import { tcpProxy } from './tcp-proxy.ts';

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
  const aHolder = async (url = database.url()): Promise<Holder> => {
    const made = await holder(url);
    holders.push(made);
    return made;
  };
  /** A single purge call over rows of the first user, in a transaction that stays open. */
  const openPurge = async (since: Date | string, rows: number) => {
    const { url, named } = await ownersPlace(database.url(), rowScope);
    const held = await aHolder(url);
    const call = `select * from ${named('gateway_purge_request_logs')}($1, $2, $3)`;
    const answer = (await held.query(call, [hoursAgo(72), since, rows])) as {
      readonly rows: readonly object[];
    };
    return { ...held, rows: answer.rows };
  };
  // Ends transactions that a failed test left open, since they would block all other tests.
  afterEach(async () => {
    for (const each of holders.splice(0)) await each.rollBack().catch(() => undefined);
  });

  const purge = (over: { readonly dryRun?: boolean; readonly shouldContinue?: () => boolean } = {}) => {
    const run = (rows: AgedRows) =>
      purgeRows({
        rows,
        clock: { now: () => performance.now() },
        pause: async () => undefined,
      })({ retention: '3d', dryRun: false, shouldContinue: () => true, ...over });
    return onCitus() ? purgeShards(database.url(), run) : run(agedRequestLogs(pool));
  };

  const rowScope = `user:${users[0]}`;
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

  it('deletes rows older than the cutoff with their children, and keeps all others, also in concurrent purges', () =>
    heldWithin(
      { ms: 20_000, numRuns: 40 },
      fc.tuple(
        fc.array(aRow, { maxLength: 40, size: 'max' }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
      ),
      async ([rows, sizes]) => {
        await query(`truncate ${[...logTables, ...logRollups].join(', ')}`);
        const cutoff = hoursAgo(72);
        const ids = await fill(query, cutoff, rows);
        expect(await rollupDifferences(query)).toEqual([]);
        const deleted = await Promise.all(sizes.map((size) => purgeInBatches(database.url(), cutoff, size)));
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
    ));

  it.each([7, 1000])('deletes the rollup rows of emptied buckets, %d rows per batch', async (size) => {
    const rows = Array.from({ length: 50 }, (_, index) => ({
      ...row,
      user: users[index % 3]!,
      harness: ['codex', null][index % 2]!,
      offset: -(index + 13) * 6 * hourMs,
      writer: 1 + (index % 3),
    }));
    await fill(query, hoursAgo(72), [...rows, { ...row, user: users[0]!, harness: 'codex', offset: 1 }]);
    await purgeInBatches(database.url(), hoursAgo(72), size);
    // Only the bucket of the cutoff may remain.
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

  itOnOneServer()(
    'continues batch after batch until no row remains, or until the callback stops it',
    async () => {
      const rows = Array.from({ length: 2 * purgeBatchRows + 1 }, (_, index) => ({
        ...row,
        offset: -1 - index,
      }));
      await fill(query, hoursAgo(72), rows);
      const matched = rows.length;
      expect(await purge({ shouldContinue: once() })).toMatchObject({ matched, deleted: purgeBatchRows });
      expect(await rollupDifferences(query)).toEqual([]);
      expect(await purge()).toMatchObject({ matched: matched - purgeBatchRows, deleted: purgeBatchRows + 1 });
      expect(await purge()).toMatchObject({ matched: 0, deleted: 0 });
    },
  );

  /** True at the first call, false afterwards. */
  function once(): () => boolean {
    let asked = 0;
    return () => asked++ === 0;
  }

  it('skips rows that are locked, with their rollups, without waiting', async () => {
    const ids = await fill(query, hoursAgo(72), [
      { ...row, offset: -30 * hourMs },
      { ...row, offset: -29 * hourMs },
      { ...row, offset: -30 * hourMs, user: users[1]! },
    ]);
    const other = await aHolder();
    await other.query(
      'select from request_logs where request_log_id = $1 and ownership_scope_key = $2 for update',
      [ids[0], rowScope],
    );
    expect(await purge()).toMatchObject({ matched: 3, deleted: 2 });
    expect(await idsIn(query, 'request_logs')).toEqual([ids[0]]);
    expect(await rollupDifferences(query)).toEqual([]);
    await other.rollBack();
    expect(await purge()).toMatchObject({ matched: 1, deleted: 1 });
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it.each([
    ['commits first', [0, 1]],
    ['commits last', [1, 0]],
  ] as const)('shares the rows with a concurrent purge, which %s', async (_, order) => {
    await fill(
      query,
      hoursAgo(72),
      Array.from({ length: 4 }, (_row, index) => ({ ...row, offset: index - 9 })),
    );
    const purges = [await openPurge('-infinity', 2), await openPurge('-infinity', 2)];
    expect(purges.map(({ rows }) => rows)).toMatchObject([[{ deleted: '2' }], [{ deleted: '2' }]]);
    for (const index of order) await purges[index]?.commit();
    for (const table of logTables) expect(await idsIn(query, table)).toEqual([]);
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('can commit if a concurrent purge is rolled back, whose rows remain', async () => {
    await fill(
      query,
      hoursAgo(72),
      Array.from({ length: 4 }, (_, index) => ({ ...row, offset: index - 9 })),
    );
    const purges = [await openPurge('-infinity', 2), await openPurge('-infinity', 2)];
    await purges[1]?.commit();
    await purges[0]?.rollBack();
    expect(await idsIn(query, 'request_logs')).toHaveLength(2);
    expect(await rollupDifferences(query)).toEqual([]);
  });

  it('looks for no rows before the instant from which it continues', async () => {
    const ids = await fill(query, hoursAgo(72), [
      { ...row, offset: -3 },
      { ...row, offset: -2 },
      { ...row, offset: -1 },
    ]);
    const since = new Date(hoursAgo(72).getTime() - 2);
    const purging = await openPurge(since, 1);
    expect(purging.rows).toEqual([{ deleted: '1', reached: since }]);
    await purging.commit();
    expect(await idsIn(query, 'request_logs')).toEqual([ids[0]!, ids[2]!].toSorted());
  });

  it('does not wait for settlements, and settlements do not wait for it', async () => {
    await fill(query, hoursAgo(72), [{ ...row, offset: -30 * hourMs }]);
    const user = await aUser(query);
    const settling = await aHolder();
    // The locks that a late settlement from a journal holds until its commit.
    const values = `values (rollup_bucket($1), 'codex', pg_backend_pid(), '${scopeOf(user)}', 'CODEX', 1)`;
    await settling.query(`insert into harness_rollups ${values}`, [hoursAgo(73)]);
    for (const table of logRollups)
      await settling.query(`select from ${table} where ownership_scope_key = $1 for update`, [rowScope]);
    const purging = await openPurge('-infinity', 10);
    await clock.standAt(hoursAgo(73));
    expect(await settleTogether(ledgers[0]!, [aRecord(user, 1n)])).toEqual(['recorded']);
    await clock.standAt(now);
    await purging.commit();
    await settling.rollBack();
    expect(await rollupDifferences(query)).toEqual([]);
  });

  itOnOneServer()(
    'has plans without sequential scans, even if they were made while the tables were small',
    async () => {
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
    },
  );

  describe('in reports', () => {
    it('changes averages and harness usage, which come from retained logs, but not spend', async () => {
      const reports = reportStore(pool, testDistribution());
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

  describe('by several processes', () => {
    it('is done by only one of them at a time', async () => {
      const begun = Promise.withResolvers<void>();
      const end = Promise.withResolvers<void>();
      const first = purgeUnderLock(database.url(), async () => {
        begun.resolve();
        await end.promise;
        return 'first';
      });
      await begun.promise;
      expect(await purgeUnderLock(database.url(), async () => 'second')).toBeUndefined();
      end.resolve();
      expect(await first).toBe('first');
      expect(await purgeUnderLock(database.url(), async () => 'third')).toBe('third');
    });

    it('fails if its connection is lost, during a query or between queries, and can be started again', async () => {
      await fill(query, hoursAgo(72), [{ ...row, offset: -5 }]);
      const lose = () =>
        query(
          `select pg_terminate_backend(pid) from pg_locks l where locktype = 'advisory' and granted
           and l.database = (select oid from pg_database where datname = current_database())`,
        );
      const lost = purgeUnderLock(database.url(), async (logs) => {
        await lose();
        return logs.countBefore(hoursAgo(72));
      });
      await expect(lost).rejects.toThrow();
      const working = withAdvisoryLock(database.url(), 1, async () => {
        await lose();
        return new Promise<never>(() => undefined);
      });
      await expect(working).rejects.toThrow();
      expect(await purgeUnderLock(database.url(), (logs) => logs.countBefore(hoursAgo(72)))).toBe(1);
    });

    it('continues if the database ends idle transactions', async () => {
      const setting = 'idle_in_transaction_session_timeout';
      const name = new URL(database.url()).pathname.slice(1);
      await query(`alter database ${name} set ${setting} = '50ms'`);
      expect(await withAdvisoryLock(database.url(), 1, () => sleep(200, 'done'))).toBe('done');
      await query(`alter database ${name} reset ${setting}`);
    });

    it('fails in time if the database stops answering', async () => {
      const proxy = await tcpProxy();
      const begin = async (logs: AgedRows): Promise<unknown> => {
        proxy.freeze();
        return logs.now();
      };
      await expect(purgeUnderLock(proxy.to(database.url()), begin, requestLogRows, 1000)).rejects.toThrow(
        'did not answer in time',
      );
      await proxy.close();
    });
  });
});
