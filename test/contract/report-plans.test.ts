import { beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'slonik';
import { rangeWindow } from '../../domain/reports/report-window.ts';
import { isDatabaseTrouble } from '../../infrastructure/postgres/database-fault.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import * as ask from '../../infrastructure/postgres/report-statements.ts';
import { reportStore } from '../../infrastructure/postgres/report-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { withReports } from './report-rows.ts';
import { tcpProxy } from './tcp-proxy.ts';

describe('a report whose connection is lost while it is read', () => {
  const database = withDatabase();

  it('counts as database trouble, not as a defect', async () => {
    const proxy = await tcpProxy();
    const pool = await openPool(proxy.to(database.url()), 1);
    const lost = reportStore(pool, 'none').onSnapshot(async (snapshot) => {
      proxy.cut();
      return snapshot.harnessCounts(rangeWindow('7d', snapshot.now));
    });
    const fault: unknown = await lost.then(
      () => 'nothing',
      (error: unknown) => error,
    );
    expect(isDatabaseTrouble(fault)).toBe(true);
    await pool.end();
    await proxy.close();
  });
});

describe('the plans of reports', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { pool } = withReports(database.url);

  /** Two years of rollups and a few logs: small, but more than any report covers. */
  beforeAll(async () => {
    await query(
      `insert into users (email, name) select n || '@example.com', 'U ' || n from generate_series(1, 30) n`,
    );
    await query(
      `insert into usage_rollups
       select rollup_bucket(now() - n * interval '12 hours'), 'user:' || user_id, model, 'priced', user_id, null, 3, 5
       from generate_series(0, 1459) n, users, unnest(array['fast', 'large']) model`,
    );
    await query(
      `insert into harness_rollups
       select rollup_bucket(now() - n * interval '12 hours'), 'h-' || h, writer, 's', 'H', 3
       from generate_series(0, 1459) n, generate_series(1, 5) h, generate_series(1, 3) writer`,
    );
    await query(
      `insert into tool_cardinality_rollups
       select user_id, rollup_bucket(now() - n * interval '12 hours'), 1, 'user:' || user_id, 0, 0, 3, 3, 3, 3, 0, 0
       from generate_series(0, 1459) n, users`,
    );
    await query(
      `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, metadata_json,
         occurred_at)
       select gen_random_uuid(), 's', n::text, 200, 1, '{}', now() - n * interval '1 minute' from generate_series(1, 5000) n`,
    );
    await query('vacuum analyze');
  });

  interface Plan {
    readonly 'Node Type': string;
    readonly 'Relation Name'?: string;
    readonly 'Index Cond'?: string;
    readonly Plans?: readonly Plan[];
  }

  const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];

  const big = [
    'request_logs',
    'usage_cost_events',
    'usage_rollups',
    'harness_rollups',
    'tool_cardinality_rollups',
  ];
  /** The suffix of a partition's name. */
  const partition = /_(?:default|\d{4}_\d{2})$/;
  const window = rangeWindow('31d', new Date());
  /**
   * Before PostgreSQL 17 a list below a range is a range scan per item; reading the window once is cheaper.
   */
  const listBelowRange = 'ownership_scope_key = ANY';
  const conditionsHere = async (conditions: readonly string[]): Promise<readonly string[]> => {
    const [server] = await query<{ version: number }>(
      `select current_setting('server_version_num')::integer as version`,
    );
    return conditions.filter((each) => each !== listBelowRange || server!.version >= 170_000);
  };
  const users = async () =>
    (await query<{ id: string }>('select user_id as id from users')).map(({ id }) => id);

  it.each([
    ['the time of the oldest log', async () => ask.moment(), []],
    [
      'the spend report',
      async () => ask.ledgerUsage(window, 'all', 'none'),
      ['bucket_start >=', 'bucket_start <'],
    ],
    [
      'the spend report of teams',
      async () => ask.ledgerUsage(window, 'team', 'none'),
      ['bucket_start >=', 'bucket_start <'],
    ],
    [
      'the days of owners',
      async () => ask.ownerSpend(window, { userIds: (await users()).slice(0, 5), teamIds: ['platform'] }),
      ['bucket_start >=', 'bucket_start <'],
    ],
    [
      'the days of models',
      async () => ask.modelSpend(window, 'all', ['fast', 'large']),
      ['bucket_start >=', 'bucket_start <'],
    ],
    ['the leaderboard', async () => ask.userModelUsage(window), ['bucket_start >=', 'bucket_start <']],
    [
      'the chart of the leaderboard',
      async () => ask.userSpend(window, (await users()).slice(0, 5)),
      ['bucket_start >=', 'bucket_start <', listBelowRange],
    ],
    [
      'the averages of the leaderboard',
      async () => ask.toolCounts(window, await users()),
      ['user_id = ANY', 'bucket_start >=', 'bucket_start <'],
    ],
    ['harness usage', async () => ask.harnessCounts(window), ['bucket_start >=', 'bucket_start <']],
  ])(
    '%s uses no sequential scan of a large table, and finds its rows by an index over time',
    async (_, statement, conditions) => {
      const explained = await pool().oneFirst(sql.unsafe`explain (format json) ${await statement()}`);
      const nodes = nodesOf((explained as readonly { readonly Plan: Plan }[])[0]!.Plan);
      const scans = nodes.filter((node) => big.includes(node['Relation Name']?.replace(partition, '') ?? ''));
      expect(scans.length).toBeGreaterThan(0);
      for (const scan of scans) expect(scan['Node Type']).not.toBe('Seq Scan');
      const indexConditions = nodes.map((node) => node['Index Cond'] ?? '').join('\n');
      for (const condition of await conditionsHere(conditions)) expect(indexConditions).toContain(condition);
    },
  );
});
