import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Job, scheduledJobs } from 'node-schedule';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { createDatabase, withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  queries,
  runGateway,
  spawnGateway,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
let upstream: SimulatedUpstream;
let folder = '';

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  folder = await makeTestFolder('purge');
});
afterAll(() => upstream?.close());
const logTables = ['request_logs', 'request_log_payloads', 'request_log_tags', 'request_log_attempts'];
beforeEach(() => query(`truncate ${logTables.join(', ')}, harness_rollups, tool_cardinality_rollups`));

/** Log rows of these ages in days, each with an attempt. */
const logsOf = async (...days: readonly number[]): Promise<void> => {
  for (const each of days)
    await query(
      `with made as (
         insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, metadata_json,
           occurred_at)
         values ($1, 's', 'r', 200, 7, '{}', gateway_now() - make_interval(secs => $2 * 86400.0)) returning *
       )
       insert into request_log_attempts
       select request_log_id, ownership_scope_key, 1, 'up', 'm', 'success', 200, null, null, false, occurred_at, occurred_at, 5 from made`,
      [randomUUID(), each],
    );
};

const left = async (): Promise<readonly number[]> =>
  (
    await query<{ days: number }>(
      `select round(extract(epoch from gateway_now() - occurred_at) / 86400)::int as days
       from request_logs join request_log_attempts using (request_log_id, ownership_scope_key) order by 1`,
    )
  ).map(({ days }) => days);

const purging = (purge?: object) =>
  basicConfig(upstream.url, key, {
    more: purge === undefined ? {} : { request_logging: { purge } },
  });

describe('gateway purge-request-logs', () => {
  const run = async (...args: readonly string[]) => {
    const config = path.join(folder, 'gateway.yaml');
    await writeFile(config, stringify(purging()));
    return runGateway(['purge-request-logs', ...args], {
      GATEWAY_CONFIG: config,
      DATABASE_URL: database.url(),
    });
  };

  it('prints cutoff, matched and deleted; with --dry-run nothing is deleted', async () => {
    await logsOf(0, 2, 4, 6);
    const at = Date.now();
    const dry = await run('--retention', '3d', '--dry-run');
    expect(dry).toMatchObject({ code: 0, err: '' });
    const [, cutoff = ''] = /^cutoff (\S+)\nmatched 2\ndeleted 0\n$/.exec(dry.out) ?? [];
    expect(Math.abs(at - 3 * 86_400_000 - Date.parse(cutoff))).toBeLessThan(30_000);
    expect(await left()).toEqual([0, 2, 4, 6]);

    expect(await run('--retention', '3d')).toMatchObject({
      code: 0,
      err: '',
      out: expect.stringMatching(/^cutoff \S+Z\nmatched 2\ndeleted 2\n$/),
    });
    expect(await left()).toEqual([0, 2]);
    expect((await run('--retention=1d')).out).toMatch(/\nmatched 1\ndeleted 1\n$/);
    expect((await run('--retention=7d')).out).toMatch(/\nmatched 0\ndeleted 0\n$/);
    expect(await left()).toEqual([0]);
  });

  it('refuses invalid arguments with a usage message that names them, and deletes nothing', async () => {
    await logsOf(6);
    for (const [args, says] of [
      [[], 'needs --retention 1d'],
      [['--retention', '2d'], 'needs --retention 1d'],
      [['--retention', ''], 'needs --retention 1d'],
      [['--retention'], "'--retention <value>' argument missing"],
      [['--retention', '1d', '--dryrun'], "Unknown option '--dryrun'"],
      [['--retention', '1d', 'now'], 'purge-request-logs --retention 1d|3d|7d [--dry-run]'],
    ] as const) {
      const ended = await run(...args);
      expect({ args, ...ended, err: '' }).toEqual({ args, code: 2, out: '', err: '' });
      expect(ended.err).toMatch(/^usage: /);
      expect(ended.err).toContain(says);
    }
    expect(await left()).toEqual([6]);
  });
});

describe('the purge worker of gateway serve', () => {
  const jobs = (): readonly Job[] => Object.values(scheduledJobs);
  const timeOfDay = (job: Job): number => (job.nextInvocation()?.getTime() ?? 0) % 86_400_000;
  /** What a gateway has logged about purges. */
  const said = ({ log }: TestGateway) => log.lines.filter(({ message }) => message.includes('request logs'));
  const spoken = (gateway: TestGateway) =>
    eventually(() => (said(gateway).length > 0 ? said(gateway) : undefined));

  it('purges on its schedule, at most once per UTC day, follows the configuration, and ends with the gateway', async () => {
    await logsOf(0, 2, 4, 8);
    const gateway = await startGateway(purging(), database.url());
    expect(jobs()).toEqual([]);
    await gateway.take(purging({ enabled: true, schedule: '30 4 * * *' }));
    expect(jobs().map((job) => timeOfDay(job))).toEqual([4.5 * 3_600_000]);
    await gateway.take(purging({ enabled: true, retention: '3d', schedule: '0 5 * * *' }));
    expect(jobs().map((job) => timeOfDay(job))).toEqual([5 * 3_600_000]);

    jobs()[0]?.invoke();
    expect(await spoken(gateway)).toEqual([
      {
        level: 'info',
        message: 'request logs purged',
        fields: { cutoff: expect.any(Date), matched: 2, deleted: 2 },
      },
    ]);
    expect(await left()).toEqual([0, 2]);

    // At most one purge per UTC day.
    await logsOf(9);
    jobs()[0]?.invoke();
    await gateway.take(purging({ enabled: false }));
    expect(jobs()).toEqual([]);
    await gateway.take(purging({ enabled: true }));
    expect(jobs()).toHaveLength(1);
    await gateway.stop();
    expect(jobs()).toEqual([]);
    expect(said(gateway)).toHaveLength(1);
    expect(await left()).toEqual([0, 2, 9]);
  });

  it.each([
    [true, /^request_logs_\d{4}_\d\d_\d\d$/, 4],
    [false, /^request_logs_\d{4}_\d\d$/, 3],
  ])(
    'has daily partitions if it is enabled, and monthly partitions if not (enabled: %s)',
    async (enabled, shape, count) => {
      const fresh = await createDatabase();
      const gateway = await startGateway(purging({ enabled }), fresh.url);
      await gateway.stop();
      const parts = await connected(fresh.url, (client) =>
        client.query<{ part: string }>(`select part from log_partitions() where log_table = 'request_logs'`),
      );
      expect(parts.rows.map(({ part }) => shape.test(part))).toEqual(
        Array.from({ length: count }, () => true),
      );
      await fresh.drop();
    },
  );

  it('deletes each row once if every replica has one', async () => {
    await logsOf(...Array.from({ length: 40 }, (_, index) => 0.1 + index / 4));
    const config = purging({ enabled: true });
    const gateways = [];
    for (let index = 0; index < 3; index += 1) gateways.push(await startGateway(config, database.url()));
    expect(jobs()).toHaveLength(3);
    for (const job of jobs()) job.invoke();
    let deleted = 0;
    for (const gateway of gateways) {
      const [line] = await spoken(gateway);
      expect(line?.level).toBe('info');
      deleted += Number(line?.fields['deleted'] ?? 0);
    }
    expect(deleted).toBe(12);
    expect(await left()).toHaveLength(28);
    for (const gateway of gateways) await gateway.stop();
  });

  it('logs a fault, and the gateway stays ready', async () => {
    await logsOf(8);
    const gateway = await startGateway(purging({ enabled: true }), database.url());
    await query('alter function gateway_purge_request_logs rename to gateway_purge_request_logs_away');
    jobs()[0]?.invoke();
    expect(await spoken(gateway)).toEqual([
      {
        level: 'error',
        message: 'the request logs could not be purged',
        fields: { error: expect.any(String), sqlstate: '42883' },
      },
    ]);
    await query('alter function gateway_purge_request_logs_away rename to gateway_purge_request_logs');
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
    await gateway.stop();
  });

  it('does not prevent a process from ending', async () => {
    const gateway = await spawnGateway(purging({ enabled: true }), database.url());
    gateway.child.kill('SIGTERM');
    expect(await gateway.exited).toEqual({ code: 0, signal: null });
  });
});
