import { createHash, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { exportRange, type ExportOrder } from '../../application/export/export-range.ts';
import { exportColumns, type ExportSubject } from '../../domain/export/export-columns.ts';
import type { ExportFormat } from '../../domain/export/manifest.ts';
import { csvPart } from '../../infrastructure/export/csv-part.ts';
import { parquetPart } from '../../infrastructure/export/parquet-part.ts';
import { s3Storage } from '../../infrastructure/export/s3-storage.ts';
import { exportUnderLock } from '../../infrastructure/postgres/export-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { type ExportedRow, readExport } from '../support/read-export.ts';
import { type S3Server, startS3Server } from '../support/s3-server.ts';
import { aLog, aRecord, aUser, settleTogether, withClock, withLedgers } from './ledger-bench.ts';

const database = withDatabase();
const query = queries(database.url);
const { ledgers } = withLedgers(database.url);
const clock = withClock(query);
let s3: S3Server;
beforeAll(async () => {
  s3 = await startS3Server();
});
afterAll(() => s3?.close());
beforeEach(() => {
  s3.meets = () => undefined;
});

const digest = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** An id as the gateway generates it at this time. */
const idAt = (at: string): string => {
  const time = Date.parse(at).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
};

const secret = { secretAccessKey: '' };
async function run(
  subject: ExportSubject,
  over: Partial<ExportOrder> & { readonly pages?: () => Promise<void> },
  credentials: Partial<typeof secret> = {},
) {
  const format: ExportFormat = over.format ?? 'parquet';
  const storage = s3Storage(
    {
      endpoint: s3.url,
      region: 'eu-test-1',
      pathStyle: true,
      auth: {
        mode: 'static_credentials',
        accessKeyId: s3.accessKeyId,
        secretAccessKey: s3.secretAccessKey,
        sessionToken: undefined,
        ...credentials,
      },
    },
    s3.bucket,
  );
  try {
    return await exportUnderLock(database.url(), subject, (source) =>
      exportRange(
        {
          source: {
            ...source,
            rowsOf: async function* (day) {
              for await (const page of source.rowsOf(day)) {
                yield page;
                await over.pages?.();
              }
            },
          },
          storage,
          part: format === 'csv' ? csvPart : parquetPart,
          digest,
          bounds: { rows: 2000, chars: 10_000_000 },
        },
        () => undefined,
      )({
        subject,
        from: '2027-03-01',
        to: '2027-03-02',
        prefix: '',
        format,
        shouldContinue: () => true,
        ...over,
      }),
    );
  } finally {
    storage.close();
  }
}

/** The rows of a day, read from the table by a query of the test's own. */
async function tableOf(subject: ExportSubject, day: string): Promise<readonly ExportedRow[]> {
  const columns = exportColumns[subject].map(({ name }) => {
    if (name === 'occurred_at')
      return `((extract(epoch from occurred_at) * 1000000)::bigint)::text as occurred_at`;
    if (name === 'bespoke_tags')
      return `(select jsonb_object_agg(tag_key, tag_value)::text from request_log_tags t
               where (t.request_log_id, t.ownership_scope_key) = (l.request_log_id, l.ownership_scope_key)) as bespoke_tags`;
    return `${name}::text as ${name}`;
  });
  return query<Record<string, string | null>>(
    `select ${columns.join(', ')} from ${subject === 'ledger' ? 'usage_cost_events' : 'request_logs'} l
     where (occurred_at at time zone 'UTC')::date = $1::date`,
    [day],
  );
}

const byId = (rows: readonly ExportedRow[]): readonly ExportedRow[] =>
  rows.toSorted((one, other) => (`${one['request_log_id']}` < `${other['request_log_id']}` ? -1 : 1));

async function expectExact(subject: ExportSubject, day: string): Promise<number> {
  const exported = await readExport(s3, '', subject, day);
  if (exported === undefined) throw new Error(`${day} has no manifest`);
  const { manifest, rows } = exported;
  const table = await tableOf(subject, day);
  expect([rows.length, manifest.rows]).toEqual([table.length, table.length]);
  const found = byId(rows);
  // One row at a time: a difference among thousands of rows would be unreadable.
  for (const [at, row] of byId(table).entries())
    if (!isDeepStrictEqual(found[at], row)) expect(found[at]).toEqual(row);
  for (const { name, bytes, sha256 } of manifest.parts) {
    const object = s3.objects.get(`${subject}/day=${day}/${name}`) ?? Buffer.alloc(0);
    expect([object.length, digest(object)]).toEqual([bytes, sha256]);
  }
  const costs = table.map(({ cost_picousd: cost }) => BigInt(cost ?? 0));
  const sum = costs.reduce((total, cost) => total + cost, 0n).toString();
  expect(manifest.cost_picousd).toBe(subject === 'ledger' ? sum : undefined);
  return table.length;
}

/** Texts that a format could mistake for its own syntax. */
const texts = [
  'a,b',
  'say "hi"',
  'line\nbreak\r\n',
  '  blank ',
  '\\.',
  '\\N',
  'NULL',
  '=1+1',
  'é😀',
  "o'clock",
  ',',
];

describe.each(['parquet', 'csv'] as const)('an export as %s', (format) => {
  it('contains what the tables contain, to the last unit of money and the last microsecond', async () => {
    const user = await aUser(query);
    const huge = 10n ** 37n + 1n;
    for (const [at, costs] of [
      ['2027-03-01T00:00:00.000001Z', [0n, 1n, 2n ** 53n + 1n, 2n ** 63n + 1n]],
      ['2027-03-01T23:59:59.999999Z', [huge]],
      ['2027-02-28T23:59:59.999999Z', [7n]],
      ['2027-03-02T00:00:00Z', [8n]],
    ] as const) {
      await clock.standAt(at);
      await settleTogether(
        ledgers[0]!,
        costs.map((cost) => aRecord(user, cost, { requestLogId: idAt(at) })),
      );
    }
    await clock.standAt('2027-03-01T12:00:00.123456Z');
    await settleTogether(ledgers[0]!, [
      ...texts.map((text) => {
        const record = aRecord(user, { pricingStatus: 'usage_missing' }, { requestId: `${text}${format}` });
        return {
          ...record,
          logged: aLog(user, {
            requestLogId: record.charge.requestLogId,
            requestId: record.charge.requestId,
            userAgent: text,
            metadata: { operation: 'chat_completions', text },
            tags: {
              service: undefined,
              component: undefined,
              env: 'prod',
              bespoke: [{ key: 'k', value: 'v/1' }],
            },
          }),
        };
      }),
      aRecord(user, {
        pricingStatus: 'unpriced',
        usage: {
          promptTokens: Number.MAX_SAFE_INTEGER,
          completionTokens: 0,
          totalTokens: Number.MAX_SAFE_INTEGER,
        },
        unpricedReason: 'no_catalogue_price',
      }),
    ]);
    await query(`update request_logs set user_agent_raw = '' where user_agent_raw = ','`);
    await clock.standAt('2027-03-10T00:00:00Z');
    for (const subject of ['ledger', 'request-logs'] as const) {
      expect(await run(subject, { format })).toEqual(E.right({ days: 1, leftFrom: undefined }));
      expect(await expectExact(subject, '2027-03-01')).toBeGreaterThanOrEqual(5 + texts.length + 1);
    }
    await query('delete from request_logs; delete from request_log_tags; delete from usage_cost_events');
    await query('delete from usage_rollups; delete from usage_daily_totals');
    s3.objects.clear();
  });
});

/** Adds so many rows to the ledger and its rollups, spread over a day. */
const addMany = async (day: string, rows: number): Promise<void> => {
  await query(
    `with added as (
       insert into usage_cost_events (request_log_id, request_id, ownership_scope_key, api_key_id, model_key, provider_key,
         upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status, cost_picousd, occurred_at)
       select overlay(log_id_floor(at)::text placing substr(gen_random_uuid()::text, 15) from 15)::uuid, gen_random_uuid()::text,
              's', gen_random_uuid(), 'm', 'p', 'u', n, 0, n, 'priced', n * 1000000007::numeric, at + interval '1 second'
       from generate_series(1, $2::int) n, lateral (select $1::timestamptz + n * interval '1 hour' * 20 / $2::int as at) t
       returning occurred_at, cost_picousd)
     insert into usage_rollups as r
     select rollup_bucket(occurred_at), 's', 'm', 'priced', null, null, count(*), sum(cost_picousd) from added group by 1
     on conflict on constraint usage_rollups_pkey do update
     set request_count = r.request_count + excluded.request_count,
         counted_picousd = r.counted_picousd + excluded.counted_picousd`,
    [`${day}T00:00:00Z`, rows],
  );
};

describe('an export of many rows', () => {
  const day = '2027-04-01';
  const range = { from: day, to: '2027-04-02' };
  beforeAll(async () => {
    await addMany(day, 5500);
    await clock.standAt('2027-04-10T00:00:00Z');
  });

  it('consists of objects of bounded size, the same bytes at each run, and fails with wrong credentials', async () => {
    expect(await run('ledger', range)).toMatchObject({ _tag: 'Right' });
    expect(await expectExact('ledger', day)).toBe(5500);
    const first = new Map(s3.objects);
    expect((await readExport(s3, '', 'ledger', day))?.manifest.parts.map(({ rows }) => rows)).toEqual([
      2000, 2000, 1500,
    ]);
    s3.objects.clear();
    await run('ledger', range);
    expect(s3.objects).toEqual(first);
    expect(await run('ledger', range, { secretAccessKey: 'another' })).toEqual(
      E.left(expect.stringContaining('SignatureDoesNotMatch, status 403')),
    );
  });

  it("continues after a temporary storage failure, and reports the storage's error if the failure lasts", async () => {
    s3.objects.clear();
    let failures = 0;
    s3.meets = ({ method }) => (method === 'PUT' && (failures += 1) <= 2 ? 503 : undefined);
    expect(await run('ledger', range)).toMatchObject({ _tag: 'Right' });
    await expectExact('ledger', day);
    s3.meets = ({ key }) => (key.includes('manifest') ? 403 : undefined);
    expect(await run('ledger', range)).toEqual(E.left(expect.stringContaining('AccessDenied, status 403')));
  });

  it('is complete although rows are settled during the run, and the next run adds rows that came late', async () => {
    s3.objects.clear();
    const user = await aUser(query);
    let late = 0;
    const settleLate = async (): Promise<void> => {
      if ((late += 1) > 4) return;
      await clock.standAt(`${day}T05:00:00.00000${late}Z`);
      const record = aRecord(user, 3n, { requestLogId: idAt(`${day}T0${late}:00:00Z`) });
      await settleTogether(ledgers[0]!, [record]);
      await clock.standAt('2027-04-10T00:00:00Z');
    };
    await clock.standAt('2027-04-10T00:00:00Z');
    expect(await run('ledger', { ...range, pages: settleLate })).toMatchObject({ _tag: 'Right' });
    expect(await expectExact('ledger', day)).toBe(5504);
    late = 0;
    await settleLate();
    expect(await run('ledger', range)).toMatchObject({ _tag: 'Right' });
    expect(await expectExact('ledger', day)).toBe(5505);
  });

  it('includes rows whose ids contain another time than theirs', async () => {
    const user = await aUser(query);
    await clock.standAt(`${day}T06:00:00Z`);
    const records = ['1999-01-01T00:00:00Z', '2027-03-30T00:00:00Z', '2030-01-01T00:00:00Z'].map((at) =>
      aRecord(user, 9n, { requestLogId: idAt(at) }),
    );
    await settleTogether(ledgers[0]!, records);
    await clock.standAt('2027-04-10T00:00:00Z');
    expect(await run('ledger', range)).toMatchObject({ _tag: 'Right' });
    expect(await expectExact('ledger', day)).toBe(5508);
    expect(await run('request-logs', range)).toMatchObject({ _tag: 'Right' });
    await expectExact('request-logs', day);
  });

  it('does not start while another export is running', async () => {
    let inner: Awaited<ReturnType<typeof run>> = E.left('not asked');
    s3.objects.clear();
    await run('ledger', {
      ...range,
      pages: async () => {
        inner = await run('ledger', range);
      },
    });
    expect(inner).toBeUndefined();
  });

  it('of a ledger that differs from its rollups fails without a manifest', async () => {
    s3.objects.clear();
    await query(
      `update usage_rollups set counted_picousd = counted_picousd + 1 where ownership_scope_key = 's'`,
    );
    expect(await run('ledger', range)).toEqual(E.left(expect.stringContaining('gateway ledger verify')));
    expect(await readExport(s3, '', 'ledger', day)).toBeUndefined();
  });
});
