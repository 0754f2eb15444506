import { hash, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { sql } from 'slonik';
import type { RequestLogExcept, RequestLogFilter } from '../../application/ports/request-logs.ts';
import { isFailed } from '../../domain/shared/request-failure.ts';
import { listOf } from '../../infrastructure/postgres/request-log-filter.ts';
import { pageOf, readList } from '../../infrastructure/postgres/time-list.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { type Row, plainRow, insertRows, withRequestLogs, idsOf } from './request-log-rows.ts';

const ids = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`);
const sha256 = (text: string): string => hash('sha256', text);
const orNull = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: null });
const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts);

/** Around the edges of buckets, often at the same instant. */
const anInstant = fc
  .tuple(fc.constantFrom(0, 5, 10, 15, 60 * 24), fc.constantFrom(-60_000, -1, 0, 1, 60_000, 299_999))
  .map(([minutes, ms]) => new Date(Date.UTC(2028, 1, 29, 23, 50 + minutes) + ms));

/** As the gateway writes them: a code comes with a status that counts as failed, or is that of a client disconnect. */
const anEnd = fc.constantFrom(200, 200, 200, 399, 400, 429, 498, 499, 500, 502).chain((status_code) =>
  fc.record({
    status_code: fc.constant(status_code),
    error_code: isFailed(status_code)
      ? orNull(oneOf('upstream_error', 'not_found'))
      : fc.constant(status_code === 499 ? 'client_closed' : null),
  }),
);

const aRow: fc.Arbitrary<Row> = fc
  .tuple(
    anEnd,
    fc.record({
      request_log_id: fc.uuid(),
      request_id: oneOf('one', 'two', 'x'.repeat(9000)),
      api_key_id: orNull(oneOf(...ids)),
      user_id: orNull(oneOf(...ids)),
      team_id: orNull(oneOf('a', 'b')),
      service_account_id: orNull(oneOf('a', 'b')),
      model_key: orNull(oneOf('fast', 'large', 'größer')),
      provider_key: orNull(oneOf('up', 'down')),
      pricing_status: orNull(oneOf('priced', 'legacy_estimated', 'unpriced', 'usage_missing')),
      caller_service: orNull(oneOf('cart', 'shop')),
      caller_component: orNull(oneOf('a', 'b')),
      caller_env: orNull(oneOf('prod', 'dev')),
      agent_harness_key: orNull(oneOf('codex', 'other')),
      occurred_at: anInstant.map((at) => at.toISOString()),
      tags: fc.dictionary(oneOf('k', 'l'), oneOf('v', 'w'), { maxKeys: 2, noNullPrototype: true }),
    }),
  )
  .map(([end, row]) => ({ ...row, ...end }));

/** Each filter is used in about one list of four, and its value may be one that no row has. */
const asked = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined, freq: 1 });
const rarely = <A>(arbitrary: fc.Arbitrary<A>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

/** Filters that can be negated. */
const ofColumns = {
  apiKeyId: rarely(oneOf(...ids)),
  userId: rarely(oneOf(...ids)),
  serviceAccountId: rarely(oneOf('a', 'c')),
  teamId: rarely(oneOf('a', 'c')),
  modelKey: rarely(oneOf('fast', 'größer', 'none')),
  providerKey: rarely(oneOf('up', 'none')),
  statusCode: rarely(fc.constantFrom(200, 429, 418)),
  errorCode: rarely(oneOf('upstream_error', 'client_closed', 'none')),
  service: rarely(oneOf('cart', 'none')),
  component: rarely(oneOf('a', 'none')),
  env: rarely(oneOf('prod', 'none')),
  agentHarnessKey: rarely(oneOf('codex', 'none')),
};

const aFilter: fc.Arbitrary<RequestLogFilter> = fc.record({
  ...ofColumns,
  requestId: rarely(oneOf('one', 'x'.repeat(9000), 'never')),
  longRequestIdSha256: rarely(oneOf(sha256('x'.repeat(9000)), sha256('never'))),
  failed: rarely(fc.boolean()),
  ownerKind: rarely(fc.constantFrom('user', 'team')),
  inLedger: rarely(fc.boolean()),
  pricingStatus: rarely(fc.constantFrom('priced', 'unpriced', 'usage_missing')),
  tag: rarely(fc.record({ key: oneOf('k', 'l'), value: oneOf('v', 'none') })),
  except: rarely(fc.record(ofColumns)),
  from: asked(anInstant),
  until: asked(anInstant),
});

/** The columns that a filter compares, according to the specification. */
const pairsOf = (filter: RequestLogExcept, row: Row): readonly (readonly [unknown, unknown])[] => [
  [filter.apiKeyId, row.api_key_id],
  [filter.userId, row.user_id],
  [filter.serviceAccountId, row.service_account_id],
  [filter.teamId, row.team_id],
  [filter.modelKey, row.model_key],
  [filter.providerKey, row.provider_key],
  [filter.statusCode, row.status_code],
  [filter.errorCode, row.error_code],
  [filter.service, row.caller_service],
  [filter.component, row.caller_component],
  [filter.env, row.caller_env],
  [filter.agentHarnessKey, row.agent_harness_key],
];

const ownerKindOf = (row: Row): string | undefined =>
  row.user_id === null ? (row.team_id === null ? undefined : 'team') : 'user';

function meets(row: Row, filter: RequestLogFilter): boolean {
  const { tag, from, until } = filter;
  const pairs: readonly (readonly [unknown, unknown])[] = [
    [filter.requestId, row.request_id],
    [filter.longRequestIdSha256, sha256(row.request_id)],
    [filter.failed, isFailed(row.status_code)],
    [filter.ownerKind, ownerKindOf(row)],
    [filter.inLedger, row.pricing_status !== null],
    [filter.pricingStatus, row.pricing_status],
    ...pairsOf(filter, row),
    [tag?.value, tag === undefined ? undefined : row.tags[tag.key]],
  ];
  const at = Date.parse(row.occurred_at);
  return (
    pairs.every(([wanted, present]) => wanted === undefined || wanted === present) &&
    pairsOf(filter.except ?? {}, row).every(([unwanted, present]) => unwanted !== present) &&
    (from === undefined || at >= from.getTime()) &&
    (until === undefined || at < until.getTime())
  );
}

const newestFirst = (a: Row, b: Row): number =>
  Date.parse(b.occurred_at) - Date.parse(a.occurred_at) || (a.request_log_id < b.request_log_id ? 1 : -1);

describe('the list of request logs', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { logs, pool } = withRequestLogs(database.url);
  const empty = () => query('truncate request_logs, request_log_tags, usage_cost_events');

  it('selects the rows that match every filter, newest first; its pages are complete and repeat nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(aRow, {
          minLength: 1,
          maxLength: 40,
          size: 'max',
          selector: (row) => row.request_log_id,
        }),
        fc.array(aFilter, { minLength: 8, maxLength: 8 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, filters, pageSize) => {
          await empty();
          await insertRows(query, rows);
          for (const filter of filters) {
            const expected = rows.filter((row) => meets(row, filter)).toSorted(newestFirst);
            const listed: string[] = [];
            for (let page = 1; ; page += 1) {
              const { items, total, totalIsLowerBound } = await logs.page(filter, { page, pageSize });
              expect([total, totalIsLowerBound]).toEqual([expected.length, false]);
              expect(items.length).toBe(Math.min(pageSize, Math.max(0, expected.length - listed.length)));
              listed.push(...idsOf(items));
              if (items.length === 0) break;
            }
            expect(listed).toEqual(expected.map((row) => row.request_log_id));
          }
        },
      ),
      { numRuns: 25 },
    );
  });

  it('has an exact total up to 10,000, and beyond it 10,000 with the flag set', async () => {
    await empty();
    await query(
      `insert into request_logs (request_log_id, ownership_scope_key, request_id, model_key, status_code, latency_ms,
         metadata_json, occurred_at)
       select gen_random_uuid(), 's', 'r', 'fast', 200, 1, '{}', timestamptz '2028-01-01Z' + n * interval '1 second'
       from generate_series(1, 10001) n`,
    );
    const filters: readonly RequestLogFilter[] = [
      {},
      { modelKey: 'fast' },
      { statusCode: 200, requestId: 'r' },
    ];
    for (const filter of filters)
      expect(await logs.page(filter, { page: 50, pageSize: 200 })).toMatchObject({
        total: 10_000,
        totalIsLowerBound: true,
        items: { length: 200 },
      });
    await query(`delete from request_logs where occurred_at = '2028-01-01 00:00:01Z'`);
    for (const filter of filters)
      expect(await logs.page(filter, { page: 51, pageSize: 200 })).toEqual({
        total: 10_000,
        totalIsLowerBound: false,
        items: [],
      });
    const first = await logs.page({ modelKey: 'fast' }, { page: 1, pageSize: 1 });
    expect(first.items[0]?.occurredAt).toEqual(new Date('2028-01-01T02:46:41Z'));
  });

  it('is read with sorting enabled if the read by index takes too long', async () => {
    const sortings: unknown[] = [];
    const read = await readList(pool(), async (connection) => {
      sortings.push(await connection.oneFirst(sql.unsafe`show enable_sort`));
      return connection.oneFirst(
        sql.unsafe`select ${sortings.length}::integer from pg_sleep(${sortings.length === 1 ? 30 : 0})`,
      );
    });
    expect(read).toBe(2);
    expect(sortings).toEqual(['off', 'on']);
  });

  it('accepts instants of any year', async () => {
    await empty();
    for (const year of ['-000001-01-01T00:00:00Z', '+010000-01-01T00:00:00Z'])
      expect(
        await logs.page({ from: new Date(year), until: new Date(year) }, { page: 1, pageSize: 1 }),
      ).toEqual({
        items: [],
        total: 0,
        totalIsLowerBound: false,
      });
  });

  describe('is read by the index of its leading filter, whatever the statistics are', () => {
    const user = ids[0]!;
    const cases: readonly (readonly [string, RequestLogFilter, string])[] = [
      ['nothing', {}, 'request_logs_occurred_at_idx'],
      ['status 200', { statusCode: 200 }, 'request_logs_occurred_at_idx'],
      ['another status', { statusCode: 429 }, 'request_logs_status_code_idx'],
      ['what failed', { failed: true }, 'request_logs_failed_idx'],
      ['what did not fail', { failed: false }, 'request_logs_occurred_at_idx'],
      ['an error code', { errorCode: 'upstream_error' }, 'request_logs_failed_idx'],
      ['a client disconnect', { errorCode: 'client_closed' }, 'request_logs_occurred_at_idx'],
      ['what failed of a user', { userId: user, failed: true }, 'request_logs_user_id_idx'],
      ['what failed of a model', { modelKey: 'fast', failed: true }, 'request_logs_model_key_idx'],
      [
        'what failed of a tag pair',
        { tag: { key: 'k', value: 'v' }, failed: true },
        'request_log_tags_pair_idx',
      ],
      ['all but a model', { except: { modelKey: 'fast' } }, 'request_logs_occurred_at_idx'],
      ['all but a status', { except: { statusCode: 200 } }, 'request_logs_occurred_at_idx'],
      ['a user without a model', { userId: user, except: { modelKey: 'fast' } }, 'request_logs_user_id_idx'],
      [
        'what failed but of a model',
        { failed: true, except: { modelKey: 'fast' } },
        'request_logs_failed_idx',
      ],
      [
        'what failed but at a provider',
        { failed: true, except: { providerKey: 'up' } },
        'request_logs_failed_idx',
      ],
      ['a request id', { requestId: 'one' }, 'request_logs_request_id_idx'],
      ['a long request id', { longRequestIdSha256: sha256('one') }, 'request_logs_long_request_id_idx'],
      ['a key', { apiKeyId: user }, 'request_logs_api_key_id_idx'],
      ['a user', { userId: user }, 'request_logs_user_id_idx'],
      ['a team', { teamId: 'a' }, 'request_logs_team_id_idx'],
      ['a service account', { serviceAccountId: 'a' }, 'request_logs_service_account_id_idx'],
      ['a model', { modelKey: 'fast' }, 'request_logs_model_key_idx'],
      ['a provider', { providerKey: 'up' }, 'request_logs_provider_key_idx'],
      ['a service', { service: 'cart' }, 'request_logs_caller_service_idx'],
      ['a component', { component: 'a' }, 'request_logs_caller_component_idx'],
      ['an env', { env: 'prod' }, 'request_logs_caller_env_idx'],
      ['a harness', { agentHarnessKey: 'codex' }, 'request_logs_agent_harness_key_idx'],
      ['a tag pair', { tag: { key: 'k', value: 'v' } }, 'request_log_tags_pair_idx'],
      ['a user and a status', { userId: user, statusCode: 429 }, 'request_logs_user_id_idx'],
      ['a user and a model', { userId: user, modelKey: 'fast' }, 'request_logs_user_id_idx'],
      ['a user and a provider', { userId: user, providerKey: 'up' }, 'request_logs_user_id_idx'],
      ['a team and an env', { teamId: 'a', env: 'prod' }, 'request_logs_team_id_idx'],
      ['a team and a service', { teamId: 'a', service: 'cart' }, 'request_logs_caller_service_idx'],
      ['service and env', { service: 'cart', env: 'prod' }, 'request_logs_caller_service_idx'],
      ['a model and a status', { modelKey: 'fast', statusCode: 429 }, 'request_logs_model_key_idx'],
      [
        'a tag pair and a model',
        { tag: { key: 'k', value: 'v' }, modelKey: 'fast' },
        'request_log_tags_pair_idx',
      ],
      ['a tag pair and an env', { tag: { key: 'k', value: 'v' }, env: 'prod' }, 'request_log_tags_pair_idx'],
      ['a tag pair and a user', { tag: { key: 'k', value: 'v' }, userId: user }, 'request_logs_user_id_idx'],
    ];

    interface Plan {
      readonly 'Node Type': string;
      readonly 'Index Name'?: string;
      readonly Plans?: readonly Plan[];
    }
    const scansOf = (plan: Plan): readonly Plan[] => [
      ...(/(?<!Subquery|CTE) Scan$/.test(plan['Node Type']) ? [plan] : []),
      ...(plan.Plans ?? []).flatMap(scansOf),
    ];
    /** Filters for which rows are read from the table before it is known which are on the page. */
    const withRows = [
      'all but a model',
      'an error code',
      'a client disconnect',
      'a request id',
      'a long request id',
      'a user and a provider',
      'a tag pair and an env',
      'a tag pair and a user',
    ];

    /** Maps the index of each partition to the index of the whole table. */
    const wholeIndexes = async (): Promise<ReadonlyMap<string | undefined, string>> => {
      const parts = await query<{ part: string; whole: string }>(
        `select p.relname as part, w.relname as whole from pg_inherits h
         join pg_class p on p.oid = h.inhrelid and p.relkind = 'i' join pg_class w on w.oid = h.inhparent`,
      );
      return new Map(parts.map(({ part, whole }) => [part, whole]));
    };

    const expectIndexes = async () => {
      const whole = await wholeIndexes();
      for (const [name, filter, index] of cases) {
        const page = pageOf(listOf(filter), { from: undefined, until: undefined }, { page: 2, pageSize: 50 });
        const [plan] = (await readList(pool(), (connection) =>
          connection.oneFirst(sql.unsafe`explain (format json) ${page}`),
        )) as readonly { readonly Plan: Plan }[];
        const scans = scansOf(plan!.Plan).filter((scan) => scan['Index Name']?.endsWith('_pkey') !== true);
        expect([name, new Set(scans.map((scan) => whole.get(scan['Index Name'])))]).toEqual([
          name,
          new Set([index]),
        ]);
        const alone = scans.some((scan) => scan['Node Type'] === 'Index Only Scan');
        expect([name, alone]).toEqual([name, !withRows.includes(name)]);
      }
    };

    it('if plans are made while the table is empty', async () => {
      await empty();
      await query('vacuum analyze request_logs, request_log_tags');
      await expectIndexes();
    });

    it('if all rows have the same values', async () => {
      await empty();
      await insertRows(
        query,
        Array.from({ length: 2000 }, (_, n) => aFullRow(user, n)),
      );
      await query('vacuum analyze request_logs, request_log_tags');
      await expectIndexes();
    });

    it('if the statistics contain none of the values', async () => {
      await empty();
      await insertRows(
        query,
        Array.from({ length: 2000 }, (_, n) => ({
          ...plainRow,
          ...identity(n),
          status_code: 400 + (n % 100),
        })),
      );
      await query('vacuum analyze request_logs, request_log_tags');
      await insertRows(
        query,
        Array.from({ length: 2000 }, (_, n) => aFullRow(user, n)),
      );
      await expectIndexes();
    });

    const identity = (n: number) => ({
      request_log_id: randomUUID(),
      occurred_at: new Date(Date.UTC(2028, 0, 1, 0, 0, n)).toISOString(),
    });

    const aFullRow = (userId: string, n: number): Row => ({
      ...identity(n),
      request_id: 'one',
      api_key_id: userId,
      user_id: userId,
      team_id: 'a',
      service_account_id: 'a',
      model_key: 'fast',
      provider_key: 'up',
      status_code: 429,
      error_code: 'provider_rate_limited',
      pricing_status: null,
      caller_service: 'cart',
      caller_component: 'a',
      caller_env: 'prod',
      agent_harness_key: 'codex',
      tags: { k: 'v' },
    });
  });
});
