import { hash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type DatabasePool, sql } from 'slonik';
import type {
  ListedRequestLog,
  RequestLogFilter,
  RequestLogs,
} from '../../application/ports/request-logs.ts';
import { recordRow } from '../../infrastructure/postgres/ledger-rows.ts';
import { mcpRecords } from '../../infrastructure/postgres/mcp-invocations-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { listOf } from '../../infrastructure/postgres/request-log-filter.ts';
import { requestLogsStore } from '../../infrastructure/postgres/request-logs-store.ts';
import { pageOf, readList } from '../../infrastructure/postgres/time-list.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import {
  aLog,
  aRecord,
  aTeam,
  aUser,
  type Query,
  scopeOf,
  settleTogether,
  setUserBudget,
  userIdOf,
  withClock,
  withLedgers,
} from './ledger-bench.ts';

/** A row with what lists ask for; all else is the same in each. */
interface Row {
  readonly request_log_id: string;
  readonly request_id: string;
  readonly api_key_id: string | null;
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly service_account_id: string | null;
  readonly model_key: string | null;
  readonly provider_key: string | null;
  readonly status_code: number;
  readonly caller_service: string | null;
  readonly caller_component: string | null;
  readonly caller_env: string | null;
  readonly agent_harness_key: string | null;
  readonly occurred_at: string;
  readonly tags: Readonly<Record<string, string>>;
}

const plainRow = {
  request_id: 'one',
  api_key_id: null,
  user_id: null,
  team_id: null,
  service_account_id: null,
  model_key: null,
  provider_key: null,
  status_code: 200,
  caller_service: null,
  caller_component: null,
  caller_env: null,
  agent_harness_key: null,
  tags: {},
};

async function insertRows(query: Query, rows: readonly Row[]): Promise<void> {
  await query(
    `insert into request_logs (
       ownership_scope_key, request_log_id, request_id, api_key_id, user_id, team_id, service_account_id, model_key,
       provider_key, status_code, caller_service, caller_component, caller_env, agent_harness_key, occurred_at, latency_ms, metadata_json)
     select ownership_scope(user_id, coalesce(team_id, '')), r.*, 1, '{}' from json_to_recordset($1) r(
       request_log_id uuid, request_id text, api_key_id uuid, user_id uuid, team_id text, service_account_id text,
       model_key text, provider_key text, status_code integer, caller_service text, caller_component text,
       caller_env text, agent_harness_key text, occurred_at timestamptz)`,
    [JSON.stringify(rows)],
  );
  await query(
    `insert into request_log_tags (
       request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
     select l.request_log_id, l.ownership_scope_key, tag.key, tag.value, l.list_bucket, l.status_code, l.model_key
     from json_to_recordset($1) r(request_log_id uuid, tags jsonb)
     join request_logs l using (request_log_id) cross join lateral jsonb_each_text(r.tags) tag`,
    [JSON.stringify(rows)],
  );
}

/** The request logs of the suite's database. */
function withRequestLogs(url: () => string): {
  readonly logs: RequestLogs;
  readonly pool: () => DatabasePool;
} {
  let pool: DatabasePool | undefined;
  beforeAll(async () => {
    pool = await openPool(url(), 2);
  });
  afterAll(async () => pool?.end());
  return {
    pool: () => pool!,
    logs: {
      page: (filter, ask) => requestLogsStore(pool!).page(filter, ask),
      find: (id) => requestLogsStore(pool!).find(id),
    },
  };
}

const ids = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`);
const sha256 = (text: string): string => hash('sha256', text);
const orNull = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: null });
const oneOf = (...texts: readonly string[]) => fc.constantFrom(...texts);

/** Around the edges of buckets, often at the same instant. */
const anInstant = fc
  .tuple(fc.constantFrom(0, 5, 10, 15, 60 * 24), fc.constantFrom(-60_000, -1, 0, 1, 60_000, 299_999))
  .map(([minutes, ms]) => new Date(Date.UTC(2028, 1, 29, 23, 50 + minutes) + ms));

const aRow: fc.Arbitrary<Row> = fc.record({
  request_log_id: fc.uuid(),
  request_id: oneOf('one', 'two', 'x'.repeat(9000)),
  api_key_id: orNull(oneOf(...ids)),
  user_id: orNull(oneOf(...ids)),
  team_id: orNull(oneOf('a', 'b')),
  service_account_id: orNull(oneOf('a', 'b')),
  model_key: orNull(oneOf('fast', 'large', 'größer')),
  provider_key: orNull(oneOf('up', 'down')),
  status_code: fc.constantFrom(200, 200, 200, 429, 502),
  caller_service: orNull(oneOf('cart', 'shop')),
  caller_component: orNull(oneOf('a', 'b')),
  caller_env: orNull(oneOf('prod', 'dev')),
  agent_harness_key: orNull(oneOf('codex', 'other')),
  occurred_at: anInstant.map((at) => at.toISOString()),
  tags: fc.dictionary(oneOf('k', 'l'), oneOf('v', 'w'), { maxKeys: 2, noNullPrototype: true }),
});

/** Each filter is asked for in one list of four or so, and its value may be one that no row has. */
const asked = <A>(arbitrary: fc.Arbitrary<A>) => fc.option(arbitrary, { nil: undefined, freq: 1 });
const rarely = <A>(arbitrary: fc.Arbitrary<A>) =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const aFilter: fc.Arbitrary<RequestLogFilter> = fc.record({
  requestId: rarely(oneOf('one', 'x'.repeat(9000), 'never')),
  longRequestIdSha256: rarely(oneOf(sha256('x'.repeat(9000)), sha256('never'))),
  apiKeyId: rarely(oneOf(...ids)),
  userId: rarely(oneOf(...ids)),
  serviceAccountId: rarely(oneOf('a', 'c')),
  teamId: rarely(oneOf('a', 'c')),
  modelKey: rarely(oneOf('fast', 'größer', 'none')),
  providerKey: rarely(oneOf('up', 'none')),
  statusCode: rarely(fc.constantFrom(200, 429, 418)),
  service: rarely(oneOf('cart', 'none')),
  component: rarely(oneOf('a', 'none')),
  env: rarely(oneOf('prod', 'none')),
  agentHarnessKey: rarely(oneOf('codex', 'none')),
  tag: rarely(fc.record({ key: oneOf('k', 'l'), value: oneOf('v', 'none') })),
  from: asked(anInstant),
  until: asked(anInstant),
});

/** What the specification says of a filter, in plain words. */
function meets(row: Row, filter: RequestLogFilter): boolean {
  const { tag, from, until } = filter;
  const pairs: readonly (readonly [unknown, unknown])[] = [
    [filter.requestId, row.request_id],
    [filter.longRequestIdSha256, sha256(row.request_id)],
    [filter.apiKeyId, row.api_key_id],
    [filter.userId, row.user_id],
    [filter.serviceAccountId, row.service_account_id],
    [filter.teamId, row.team_id],
    [filter.modelKey, row.model_key],
    [filter.providerKey, row.provider_key],
    [filter.statusCode, row.status_code],
    [filter.service, row.caller_service],
    [filter.component, row.caller_component],
    [filter.env, row.caller_env],
    [filter.agentHarnessKey, row.agent_harness_key],
    [tag?.value, tag === undefined ? undefined : row.tags[tag.key]],
  ];
  const at = Date.parse(row.occurred_at);
  return (
    pairs.every(([wanted, present]) => wanted === undefined || wanted === present) &&
    (from === undefined || at >= from.getTime()) &&
    (until === undefined || at < until.getTime())
  );
}

const newestFirst = (a: Row, b: Row): number =>
  Date.parse(b.occurred_at) - Date.parse(a.occurred_at) || (a.request_log_id < b.request_log_id ? 1 : -1);

const idsOf = (items: readonly ListedRequestLog[]): readonly string[] =>
  items.map(({ requestLogId }) => requestLogId);

describe('the list of request logs', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { logs, pool } = withRequestLogs(database.url);
  const empty = () => query('truncate request_logs, request_log_tags');

  it('selects the rows that meet every filter, newest first; its pages are complete and repeat nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(aRow, { minLength: 1, maxLength: 40, selector: (row) => row.request_log_id }),
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

  it('is read as the planner likes where its index passes over too much', async () => {
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

  it('finds instants of any year that can be written', async () => {
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

  describe('is read by the index of what leads, whatever the statistics say', () => {
    const user = ids[0]!;
    const cases: readonly (readonly [string, RequestLogFilter, string])[] = [
      ['nothing', {}, 'request_logs_occurred_at_idx'],
      ['status 200', { statusCode: 200 }, 'request_logs_occurred_at_idx'],
      ['another status', { statusCode: 429 }, 'request_logs_status_code_idx'],
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
    /** Whose rows are looked at before it is known which are on the page. */
    const withRows = [
      'a request id',
      'a long request id',
      'a user and a provider',
      'a tag pair and an env',
      'a tag pair and a user',
    ];

    /** The index of the table that one of a partition is a part of. */
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

    it('when the table was empty as they were made', async () => {
      await empty();
      await query('vacuum analyze request_logs, request_log_tags');
      await expectIndexes();
    });

    it('when every row looked the same', async () => {
      await empty();
      await insertRows(
        query,
        Array.from({ length: 2000 }, (_, n) => aFullRow(user, n)),
      );
      await query('vacuum analyze request_logs, request_log_tags');
      await expectIndexes();
    });

    it('when what is asked for is said to be in no row', async () => {
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
      caller_service: 'cart',
      caller_component: 'a',
      caller_env: 'prod',
      agent_harness_key: 'codex',
      tags: { k: 'v' },
    });
  });
});

describe('what was settled', () => {
  const database = withDatabase();
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url);
  const clock = withClock(query);
  const { logs, pool } = withRequestLogs(database.url);

  it('is found by its tags, models and statuses, as soon as it was written', async () => {
    const [, worker] = await aTeam(query);
    const bespoke = [
      { key: 'b', value: '2' },
      { key: 'a', value: '1' },
    ];
    const records = ['fast', 'fast', 'large'].map((modelKey, n) => {
      const logged = aLog(worker, {
        modelKey,
        statusCode: n === 0 ? 502 : 200,
        tags: { service: 's', component: 'c', env: 'e', bespoke },
      });
      return { charge: undefined, logged, release: undefined, deferrableTo: undefined };
    });
    await settleTogether(ledgers[0]!, records);
    const found = async (filter: RequestLogFilter) =>
      (await logs.page(filter, { page: 1, pageSize: 10 })).items;
    const [failed] = await found({ tag: { key: 'a', value: '1' }, modelKey: 'fast', statusCode: 502 });
    expect(failed).toMatchObject({
      requestLogId: records[0]!.logged.log.requestLogId,
      bespokeTags: bespoke.toReversed(),
      service: 's',
      component: 'c',
      env: 'e',
    });
    expect(await found({ tag: { key: 'b', value: '2' }, modelKey: 'fast' })).toHaveLength(2);
    expect(await found({ tag: { key: 'b', value: '2' }, statusCode: 200 })).toHaveLength(2);
    expect(await found({ tag: { key: 'b', value: '1' } })).toHaveLength(0);
  });

  it('is found by its tags and another status when it was judged again', async () => {
    const user = await aUser(query, { amount: 0n });
    const tag = { key: 'b', value: '3' };
    const judged = (): ReturnType<typeof aRecord> => {
      const record = aRecord(user, 1n);
      const tags = { service: 's', component: 'c', env: 'e', bespoke: [tag] };
      return { ...record, logged: { ...record.logged, log: { ...record.logged.log, tags } } };
    };
    const records = [judged(), judged()];
    expect(await settleTogether(ledgers[0]!, records)).toEqual(['blocked', 'blocked']);
    const found = async (statusCode: number) =>
      idsOf((await logs.page({ tag, statusCode }, { page: 1, pageSize: 10 })).items);
    expect(await found(429)).toHaveLength(2);
    await setUserBudget(query, userIdOf(user), undefined);
    await query('select verdict from gateway_settle($1, $2, false, false, null, true)', [
      JSON.stringify([recordRow(records[0]!, 1)]),
      [],
    ]);
    expect(await found(200)).toEqual([records[0]!.charge.requestLogId]);
    expect(await found(429)).toEqual([records[1]!.charge.requestLogId]);
  });

  it('is settled with the longest of everything that a row may have', async () => {
    const user = await aUser(query);
    const long = (chars: number) =>
      Array.from({ length: chars }, () =>
        String.fromCharCode(0x4e00 + Math.floor(20_000 * Math.random())),
      ).join('');
    const key = 'k'.repeat(32);
    const modelKey = long(256);
    const record = aRecord(user, 1n, { requestId: long(16_384), modelKey, providerKey: long(128) });
    const { log } = record.logged;
    const logged = {
      ...record.logged,
      log: {
        ...log,
        modelKey,
        providerKey: record.charge.providerKey,
        tags: { service: long(64), component: long(64), env: long(64), bespoke: [{ key, value: long(64) }] },
        harness: { key: long(64), label: long(64) },
      },
    };
    expect(await settleTogether(ledgers[0]!, [{ ...record, logged }])).toEqual(['recorded']);
    const filter = {
      requestId: log.requestId,
      tag: logged.log.tags.bespoke[0]!,
      modelKey: logged.log.modelKey,
    };
    expect(idsOf((await logs.page(filter, { page: 1, pageSize: 1 })).items)).toEqual([log.requestLogId]);
  });

  it('is told whole, with names of today, and payloads as they are stored', async () => {
    await clock.standAt('2028-03-01T12:00:00Z');
    const user = await aUser(query);
    const record = aRecord(user, 1n);
    const { requestLogId, requestId } = record.charge;
    await settleTogether(ledgers[0]!, [record]);
    const request = '{"9": 9007199254740993, "1": 0.10, "text": "\\u00e9\\/ \\"\\/0\\""}';
    await query(`insert into request_log_payloads values ($1, $2, $3, null)`, [
      requestLogId,
      scopeOf(user),
      request,
    ]);
    await query(`update users set name = 'Renamed' where user_id = $1`, [
      user.keyOwner.kind === 'user' ? user.keyOwner.userId : '',
    ]);
    const found = await logs.find(requestLogId);
    expect(found).toMatchObject({
      log: {
        requestLogId,
        requestId,
        user: { name: 'Renamed' },
        // Nobody has made such a key.
        apiKey: { id: user.apiKeyId, name: undefined },
        team: undefined,
        statusCode: 200,
        referencedMcpServerCount: undefined,
        exposedToolCount: 0,
        occurredAt: new Date('2028-03-01T12:00:00Z'),
      },
      payload: { request, response: undefined },
      attempts: [],
      mcpTokenOverhead: undefined,
    });
    expect(await logs.find(randomUUID())).toBeUndefined();
  });

  it('has the token overhead of the request itself, else that of its request id', async () => {
    const records = [
      aRecord(await aUser(query), 1n, { requestId: 'shared' }),
      aRecord(await aUser(query), 1n, { requestId: 'shared' }),
    ];
    await settleTogether(ledgers[0]!, records);
    const [own, other] = records.map(({ charge }) => charge.requestLogId) as [string, string];
    const overhead = {
      requestId: 'shared',
      requestLogId: undefined,
      serverCount: 1,
      toolCount: 9,
      toolDefinitionTokens: 9_007_199_254_740_991,
      toolResultTokens: undefined,
    };
    const { putTokenOverhead } = mcpRecords(pool());
    await putTokenOverhead({ ...overhead, toolCount: 1 });
    await putTokenOverhead(overhead);
    await putTokenOverhead({ ...overhead, requestLogId: own, toolCount: 0 });
    const overheadOf = async (id: string) => (await logs.find(id))?.mcpTokenOverhead;
    expect(await overheadOf(own)).toMatchObject({ requestLogId: own, toolCount: 0 });
    expect(await overheadOf(other)).toEqual({ ...overhead, occurredAt: new Date('2028-03-01T12:00:00Z') });
  });
});
