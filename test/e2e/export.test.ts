import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, runGateway } from '../support/gateway.ts';
import { readExport } from '../support/read-export.ts';
import { exportTo, type S3Server, startS3Server } from '../support/s3-server.ts';
import { makeTestFolder } from '../support/test-server.ts';

const database = withDatabase();
const query = queries(database.url);
let s3: S3Server;
let env: Readonly<Record<string, string>> = {};

const day = '2026-03-01';
const rows = 100_000;
const rowsOfLogs = 60_000;

beforeAll(async () => {
  s3 = await startS3Server();
  const file = path.join(await makeTestFolder('export'), 'gateway.yaml');
  await writeFile(
    file,
    stringify(basicConfig('http://127.0.0.1:9', aKey(), { more: { export: exportTo(s3) } })),
  );
  env = { GATEWAY_CONFIG: file, DATABASE_URL: database.url(), EXPORT_SECRET: s3.secretAccessKey };
  await query(
    `with added as (
       insert into usage_cost_events (request_log_id, request_id, ownership_scope_key, api_key_id, model_key, provider_key,
         upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status, cost_picousd, occurred_at)
       select overlay(log_id_floor(at)::text placing substr(gen_random_uuid()::text, 15) from 15)::uuid,
              gen_random_uuid()::text, 's', gen_random_uuid(), 'm', 'p', 'u', n, 0, n, 'priced',
              n * 9007199254740993::numeric, at
       from generate_series(1, $2::int) n, lateral (select $1::timestamptz + n * interval '24 hours' / ($2::int + 1) as at) t
       returning occurred_at, cost_picousd)
     insert into usage_rollups
     select rollup_bucket(occurred_at), 's', 'm', 'priced', null, null, count(*), sum(cost_picousd) from added group by 1`,
    [`${day}T00:00:00Z`, rows],
  );
  await query(
    `insert into request_logs (request_log_id, ownership_scope_key, request_id, status_code, latency_ms, user_agent_raw,
       metadata_json, occurred_at)
     select overlay(log_id_floor(at)::text placing substr(gen_random_uuid()::text, 15) from 15)::uuid, 's', n::text, 200, n,
            repeat('agent ', 200), '{"operation": "messages"}', at
     from generate_series(1, $2::int) n, lateral (select $1::timestamptz + n * interval '24 hours' / ($2::int + 1) as at) t`,
    [`${day}T00:00:00Z`, rowsOfLogs],
  );
}, 300_000);
afterAll(() => s3?.close());
beforeEach(() => {
  s3.meets = () => undefined;
  s3.calls.length = 0;
});

const args = [
  'export',
  '--what',
  'ledger',
  '--from',
  day,
  '--to',
  '2026-03-02',
  '--to-url',
  's3://lake/gateway',
];
/** 128 MB of heap, two thirds of what all rows of the day would need: shows that memory is bounded. */
const small = { NODE_OPTIONS: '--max-old-space-size=128' };

/** Compares the rows and costs of the exported objects with those of the table. */
async function expectWhole(): Promise<void> {
  const exported = await readExport(s3, 'gateway/', 'ledger', day);
  const [table] = await query<{ count: string; cost: string; ids: string }>(
    `select count(*)::text as count, sum(cost_picousd)::text as cost,
            md5(string_agg(request_log_id || cost_picousd::text, ',' order by request_log_id)) as ids
     from usage_cost_events`,
  );
  const found = exported?.rows ?? [];
  const sum = found.reduce((total, row) => total + BigInt(row['cost_picousd'] ?? 0), 0n);
  expect([String(found.length), String(sum)]).toEqual([table?.count, table?.cost]);
  expect(exported?.manifest).toMatchObject({ rows: found.length, cost_picousd: table?.cost });
  const [same] = await query<{ ids: string }>(
    `select md5(string_agg(line, ',' order by line)) as ids from unnest($1::text[]) line`,
    [found.map((row) => `${row['request_log_id']}${row['cost_picousd']}`)],
  );
  const [lines] = await query<{ ids: string }>(
    `select md5(string_agg(line, ',' order by line)) as ids
     from (select request_log_id || cost_picousd::text as line from usage_cost_events) l`,
  );
  expect(same).toEqual(lines);
}

describe('gateway export', () => {
  it('killed between two parts leaves no manifest; run again it exports every row, in bounded memory', async () => {
    const second = Promise.withResolvers<void>();
    s3.meets = ({ key }) => {
      if (!key.endsWith('part-00001.parquet')) return undefined;
      second.resolve();
      return new Promise<undefined>(() => undefined);
    };
    const script = path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs');
    const child = spawn(process.execPath, [script, ...args], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: 'ignore',
    });
    await second.promise;
    child.kill('SIGKILL');
    await once(child, 'close');
    expect([...s3.objects.keys()]).toEqual([`gateway/ledger/day=${day}/part-00000.parquet`]);
    s3.meets = () => undefined;
    const { code, out, err } = await runGateway(args, { ...env, ...small });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^2026-03-01 written: 100000 rows, \d+\.\d+ USD, 2 parts\n1 days\n$/);
    await expectWhole();
  }, 300_000);

  it('run again prints `unchanged` and writes nothing', async () => {
    const { code, out } = await runGateway(args, env);
    expect({ code, out: out.split(':')[0] }).toEqual({ code: 0, out: '2026-03-01 unchanged' });
    expect(s3.calls.some((call) => call.startsWith('PUT'))).toBe(false);
  });

  it('writes request logs as CSV, in bounded memory, without payloads', async () => {
    const of = args.map((word) => (word === 'ledger' ? 'request-logs' : word));
    const { code, out, err } = await runGateway([...of, '--format', 'csv'], { ...env, ...small });
    expect({ code, out, err }).toEqual({
      code: 0,
      out: `2026-03-01 written: ${rowsOfLogs} rows, 5 parts\n1 days\n`,
      err: '',
    });
    const exported = await readExport(s3, 'gateway/', 'request-logs', day);
    expect(new Set(exported?.rows.map((row) => row['request_id'])).size).toBe(rowsOfLogs);
    expect(Object.keys(exported?.rows[0] ?? {}).join()).not.toMatch(
      /payload_json|request_json|response_json/,
    );
  }, 300_000);

  it('reports the code and status of a refusal by the storage, without secrets', async () => {
    const { code, out, err } = await runGateway(args, { ...env, EXPORT_SECRET: 'canary-of-the-secret' });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain('SignatureDoesNotMatch, status 403');
    expect(err).not.toContain('canary');
  });

  it.each([
    [['--what', 'payloads'], '--what must be ledger or request-logs'],
    [['--from', '2026-02-30'], '--from must be a UTC day'],
    [['--to', '2026-03-01'], '--to must be after --from'],
    [['--to-url', 'https://lake/gateway'], '--to-url must be s3://BUCKET'],
    [['--to-url', 's3://lake/../other'], '--to-url must be s3://BUCKET'],
    [['--to-url', 's3://Lake'], 'a bucket has 3 to 63 of a-z 0-9 . -,'],
    [['--format', 'xml'], '--format must be parquet or csv'],
    [['more'], 'export --what'],
  ])('refuses %j with exit code 2', async ([flag = '', ...value], says) => {
    const at = args.indexOf(flag);
    const others = at === -1 ? args : args.toSpliced(at, 2);
    const { code, err } = await runGateway([...others, flag, ...value], env);
    expect({ code, says: err.includes(says) }).toEqual({ code: 2, says: true });
  });
});
