import { hash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { recordInvocation } from '../../application/mcp/record-invocation.ts';
import { redactionRules } from '../../domain/payload/redact.ts';
import { systemClock } from '../../infrastructure/clock.ts';
import { mcpRecords } from '../../infrastructure/postgres/mcp-invocations-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { withClock } from '../contract/ledger-bench.ts';
import { rawExchange } from './raw-http.ts';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const keys = { ann: aKey(), silent: aKey(), platform: aKey(), worker: aKey() };
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let admin: AdminClient;

const root = '/api/v1/admin/observability';

interface Call {
  readonly key: string;
  readonly model?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** Sends a chat request, reads its answer to the end, and gives back its status. */
async function chat({ key, model = 'fast', headers = {}, body = {} }: Call): Promise<number> {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }], ...body }),
  });
  await answer.arrayBuffer();
  return answer.status;
}

const minute = (minutes: number): string => new Date(Date.UTC(2028, 2, 1, 12, minutes)).toISOString();

const workersTags = {
  'x-gateway-service': 'checkout',
  'x-gateway-component': 'cart',
  'x-gateway-env': 'prod',
  'x-gateway-tags': 'customer=acme; feature=search',
};

/** Each request a minute after the one before, under the id of its place. */
const calls: readonly Call[] = [
  { key: keys.ann, headers: { 'user-agent': 'claude-cli/2.0.1 (external, cli)' } },
  { key: keys.silent },
  {
    key: keys.worker,
    headers: workersTags,
    body: {
      stream: true,
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    },
  },
  { key: keys.platform, model: 'broken', headers: { ...workersTags, 'x-gateway-env': 'dev' } },
  { key: keys.worker, model: 'nowhere', headers: { 'x-gateway-tags': 'customer=acme' } },
];
const statuses = [200, 200, 200, 502, 404];

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  const model = (id: string, simulate: string) => ({
    id,
    routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: { 'x-simulate': simulate } }],
  });
  gateway = await startGateway(
    basicConfig(upstream.url, aKey(), {
      more: {
        request_logging: { payloads: { capture_mode: 'summary_only' } },
        models: [model('fast', 'usage=last'), model('broken', 'status=500')],
        users: [
          { email: 'ann@example.com', name: 'Ann' },
          { email: 'silent@example.com', name: 'Silent', request_logging_enabled: false },
        ],
        service_accounts: [{ id: 'worker', name: 'Worker', team: 'platform' }],
        api_keys: [
          { name: 'ann', owner: 'user:ann@example.com', value: keys.ann },
          { name: 'silent', owner: 'user:silent@example.com', value: keys.silent },
          { name: 'platform', owner: 'team:platform', value: keys.platform },
          { name: 'worker', owner: 'service_account:worker', value: keys.worker },
        ],
      },
    }),
    database.url(),
  );
  for (const [place, call] of calls.entries()) {
    await clock.standAt(minute(place));
    const status = await chat({ ...call, headers: { ...call.headers, 'x-request-id': `r-${place}` } });
    expect([place, status]).toEqual([place, statuses[place]]);
  }
  await makeAdmin(database.url());
  admin = await adminClient(gateway.url);
});
afterAll(async () => {
  await gateway.stop();
  await upstream.close();
});

type Body = Readonly<Record<string, unknown>>;
interface ListBody {
  readonly items: readonly Body[];
  readonly page: number;
  readonly page_size: number;
  readonly total: number;
  readonly total_is_lower_bound: boolean;
}

async function list(of: string, search = ''): Promise<ListBody> {
  const answer = await admin('GET', `${root}/${of}?${search}`);
  expect([search, answer.status]).toEqual([search, 200]);
  return answer.data as ListBody;
}
const placesIn = async (search: string): Promise<readonly unknown[]> =>
  (await list('request-logs', search)).items.map((item) => item['request_id']);

const idOf = async (table: string, name: string): Promise<unknown> =>
  (await query(`select * from ${table} where name = $1`, [name]))[0]?.[`${table.slice(0, -1)}_id`];

const logIdOf = async (requestId: string): Promise<string> =>
  (
    await query<{ id: string }>('select request_log_id as id from request_logs where request_id = $1', [
      requestId,
    ])
  )[0]!.id;

describe('GET request-logs', () => {
  it('gives a page of summary rows including metadata, payload policy and truncation fields, newest first', async () => {
    const { items, ...page } = await list('request-logs');
    expect(page).toEqual({ page: 1, page_size: 50, total: 4, total_is_lower_bound: false });
    expect(items.map((item) => item['request_id'])).toEqual(['r-4', 'r-3', 'r-2', 'r-0']);
    expect(items[2]).toEqual({
      request_log_id: await logIdOf('r-2'),
      request_id: 'r-2',
      api_key_id: await idOf('api_keys', 'worker'),
      api_key_name: 'worker',
      user_id: null,
      user_name: null,
      team_id: 'platform',
      team_name: 'Platform',
      service_account_id: 'worker',
      service_account_name: 'Worker',
      model_key: 'fast',
      resolved_model_key: 'fast',
      provider_key: 'up',
      status_code: 200,
      error_code: null,
      latency_ms: expect.any(Number),
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
      has_payload: false,
      request_payload_truncated: false,
      response_payload_truncated: false,
      request_tags: {
        service: 'checkout',
        component: 'cart',
        env: 'prod',
        bespoke: [
          { key: 'customer', value: 'acme' },
          { key: 'feature', value: 'search' },
        ],
      },
      tool_cardinality: {
        exposed_tool_count: 1,
        invoked_tool_count: expect.any(Number),
        referenced_mcp_server_count: null,
        filtered_tool_count: null,
      },
      user_agent_raw: 'node',
      agent_harness_key: 'other',
      agent_harness_label: 'Other',
      metadata: {
        operation: 'chat_completions',
        stream: true,
        payload_policy: {
          capture_mode: 'summary_only',
          request_max_bytes: 65_536,
          response_max_bytes: 65_536,
          stream_max_events: 128,
          version: 'builtin:v2',
        },
      },
      occurred_at: minute(2),
    });
    expect(items[3]).toMatchObject({
      user_name: 'Ann',
      team_id: null,
      request_tags: { service: null, component: null, env: null, bespoke: [] },
      agent_harness_key: 'claude-code',
    });
    expect(items[1]).toMatchObject({
      api_key_name: 'platform',
      service_account_id: null,
      error_code: 'upstream_error',
    });
    expect(items[0]).toMatchObject({ model_key: 'nowhere', resolved_model_key: null, provider_key: null });
  });

  it.each([
    ['request_id=r-3', ['r-3']],
    ['request_id=r', []],
    ['model_key=fast', ['r-2', 'r-0']],
    ['provider_key=up', ['r-3', 'r-2', 'r-0']],
    ['status_code=502', ['r-3']],
    ['status_code=200', ['r-2', 'r-0']],
    ['team_id=platform', ['r-4', 'r-3', 'r-2']],
    ['service_account_id=worker', ['r-4', 'r-2']],
    ['service=checkout', ['r-3', 'r-2']],
    ['component=cart&env=dev', ['r-3']],
    ['env=prod', ['r-2']],
    ['tag_key=customer&tag_value=acme', ['r-4', 'r-3', 'r-2']],
    ['tag_key=customer&tag_value=acme&model_key=fast', ['r-2']],
    ['tag_key=feature&tag_value=acme', []],
    ['agent_harness_key=claude-code', ['r-0']],
    [`from=${minute(2)}&to=${minute(4)}`, ['r-3', 'r-2']],
    [`from=${minute(1)}&to=${minute(3)}&team_id=platform&status_code=200`, ['r-2']],
    ['page=2&page_size=3', ['r-0']],
    ['page=3&page_size=3', []],
    ['page=500&page_size=200', []],
    ['user_id=00000000-0000-7000-8000-000000000000', []],
  ])('?%s selects %j', async (search, expected) => {
    expect(await placesIn(search)).toEqual(expected);
  });

  it('selects by user and by key', async () => {
    expect(await placesIn(`user_id=${String(await idOf('users', 'Ann'))}`)).toEqual(['r-0']);
    expect(await placesIn(`user_id=${String(await idOf('users', 'Silent'))}`)).toEqual([]);
    expect(await placesIn(`api_key_id=${String(await idOf('api_keys', 'platform'))}`)).toEqual(['r-3']);
  });

  it.each([
    ['tag_key=customer', 'tag_value'],
    ['tag_value=acme', 'tag_key'],
    ['tag_key=&tag_value=acme', 'tag_key'],
    ['user_id=ann', 'user_id'],
    ['api_key_id=1', 'api_key_id'],
    ['status_code=20', 'status_code'],
    ['status_code=ok', 'status_code'],
    ['from=2028-03-01', 'from'],
    ['to=yesterday', 'to'],
    ['page=0', 'page'],
    ['page_size=201', 'page_size'],
    ['page=501&page_size=200', 'page'],
    ['service=a&service=b', 'service'],
    ['Model_key=fast', 'Model_key'],
    ['request_log_id=x', 'request_log_id'],
    ['env=%00', 'env'],
  ])('?%s is an invalid request that names the parameter %s', async (search, param) => {
    expect(await admin('GET', `${root}/request-logs?${search}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });
});

describe('GET request-logs/{request_log_id}', () => {
  it('gives the row with sanitized payloads, attempts and tags', async () => {
    const id = await logIdOf('r-3');
    const stored = {
      request: '{"headers": {}, "n": 9007199254740993, "2": 0.10, "1": "\\u00e9\\/"}',
      response: '[]',
    };
    await query(
      `insert into request_log_payloads
       select $1, ownership_scope_key, $2, $3 from request_logs where request_log_id = $1`,
      [id, stored.request, stored.response],
    );
    await query(
      `insert into request_mcp_token_overheads (request_id, server_count, tool_count, tool_definition_tokens, occurred_at)
       values ('r-3', 1, 12, 3400, $1)`,
      [minute(3)],
    );
    const [listed] = (await list('request-logs', 'request_id=r-3')).items;
    const { status, data, text } = await admin('GET', `${root}/request-logs/${id.toUpperCase()}`);
    expect(status).toBe(200);
    expect(data).toEqual({
      log: listed,
      payload: { request_json: JSON.parse(stored.request) as unknown, response_json: [] },
      attempts: [
        {
          attempt_number: 1,
          provider_key: 'up',
          upstream_model: 'simulated-fast',
          status: 'provider_error',
          status_code: 500,
          error_code: 'upstream_error',
          error_detail: expect.any(String),
          stream: false,
          started_at: expect.stringMatching(/Z$/),
          completed_at: expect.stringMatching(/Z$/),
          latency_ms: expect.any(Number),
        },
      ],
      mcp_token_overhead: {
        request_id: 'r-3',
        request_log_id: null,
        server_count: 1,
        tool_count: 12,
        tool_definition_tokens: 3400,
        tool_result_tokens: null,
        occurred_at: minute(3),
      },
    });
    // Every digit, escape and the order of keys, as they are stored.
    expect(text).toContain(`"request_json":${stored.request},"response_json":${stored.response}`);
  });

  it('has zero attempts, no payload and no overhead where there were none', async () => {
    const id = await logIdOf('r-4');
    expect((await admin('GET', `${root}/request-logs/${id}`)).data).toMatchObject({
      log: { request_log_id: id },
      payload: null,
      attempts: [],
      mcp_token_overhead: null,
    });
  });

  it.each([randomUUID(), 'r-3', 'null', '%00', `${randomUUID()}0`, 'x'.repeat(3000)])(
    'missing row: 404 not_found (%#)',
    async (id) => {
      expect(await admin('GET', `${root}/request-logs/${id}`)).toMatchObject({
        status: 404,
        error: { code: 'not_found' },
      });
    },
  );

  it('takes no parameters', async () => {
    expect(await admin('GET', `${root}/request-logs/${await logIdOf('r-3')}?page=1`)).toMatchObject({
      status: 400,
      error: { param: 'page' },
    });
  });
});

describe('GET mcp-invocations', () => {
  let teams: string;
  let strangers: string;

  beforeAll(async () => {
    const pool = await openPool(database.url(), 1);
    const record = recordInvocation({
      records: mcpRecords(pool),
      clock: systemClock(),
      redaction: () => redactionRules([], []),
    });
    const invocation = {
      requestId: 'r-2',
      requestLogId: await logIdOf('r-2'),
      callerSecrets: [],
      server: { id: 'files', displayName: 'Files' },
      tool: { id: 'files/read', displayName: 'Read' },
      latencyMs: 7,
      errorCode: undefined,
      payload: { arguments: { n: 1 }, result: undefined },
    };
    await clock.standAt(minute(2));
    teams = await record({
      ...invocation,
      caller: {
        apiKeyId: String(await idOf('api_keys', 'worker')),
        keyOwner: { kind: 'service_account', serviceAccountId: 'worker', teamId: 'platform' },
        allowedModels: [],
      },
      status: 'success',
      policyResult: 'allowed',
    });
    await clock.standAt(minute(10));
    strangers = await record({
      ...invocation,
      requestId: 'other',
      requestLogId: undefined,
      caller: undefined,
      tool: { id: 'files/write', displayName: undefined },
      status: 'unauthorized',
      policyResult: 'not_evaluated',
      errorCode: 'no_credential',
    });
    await pool.end();
  });

  it('gives per-tool invocation rows, newest first', async () => {
    const { items, ...page } = await list('mcp-invocations');
    expect(page).toEqual({ page: 1, page_size: 50, total: 2, total_is_lower_bound: false });
    expect(items).toEqual([
      {
        mcp_tool_invocation_id: strangers,
        request_id: 'other',
        request_log_id: null,
        api_key_id: null,
        user_id: null,
        team_id: null,
        owner_kind: null,
        server_id: 'files',
        server_display_name: 'Files',
        tool_id: 'files/write',
        tool_display_name: null,
        status: 'unauthorized',
        policy_result: 'not_evaluated',
        latency_ms: 7,
        error_code: 'no_credential',
        arguments_json: { n: 1 },
        result_json: null,
        arguments_truncated: false,
        result_truncated: false,
        occurred_at: minute(10),
      },
      expect.objectContaining({
        mcp_tool_invocation_id: teams,
        request_log_id: await logIdOf('r-2'),
        api_key_id: await idOf('api_keys', 'worker'),
        team_id: 'platform',
        owner_kind: 'team',
        error_code: null,
      }),
    ]);
    expect((await admin('GET', `${root}/mcp-invocations/${strangers}`)).data).toEqual(items[0]);
  });

  it('filters by each id, status, policy result, request id and time', async () => {
    const found = async (search: string) =>
      (await list('mcp-invocations', search)).items.map((item) => item['mcp_tool_invocation_id']);
    for (const search of [
      'request_id=r-2',
      `request_log_id=${await logIdOf('r-2')}`,
      `mcp_tool_invocation_id=${teams}`,
      `api_key_id=${String(await idOf('api_keys', 'worker'))}`,
      'team_id=platform',
      'tool_id=files/read',
      'status=success',
      'policy_result=allowed',
      'status=success&policy_result=allowed&server_id=files',
      `to=${minute(10)}`,
      'page=2&page_size=1',
    ])
      expect([search, await found(search)]).toEqual([search, [teams]]);
    for (const search of [
      'status=unauthorized',
      'policy_result=not_evaluated',
      `from=${minute(10)}`,
      'server_id=files&page_size=1',
    ])
      expect([search, await found(search)]).toEqual([search, [strangers]]);
    for (const search of [
      'user_id=00000000-0000-7000-8000-000000000000',
      'server_id=nowhere',
      'status=timeout',
    ])
      expect([search, await found(search)]).toEqual([search, []]);
  });

  it.each([
    ['status=failed', 'status'],
    ['policy_result=yes', 'policy_result'],
    ['request_log_id=r-2', 'request_log_id'],
    ['model_key=fast', 'model_key'],
  ])('?%s is an invalid request that names the parameter %s', async (search, param) => {
    expect(await admin('GET', `${root}/mcp-invocations?${search}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it.each([randomUUID(), 'x'])('a missing one: 404 not_found (%#)', async (id) => {
    expect(await admin('GET', `${root}/mcp-invocations/${id}`)).toMatchObject({
      status: 404,
      error: { code: 'not_found' },
    });
  });
});

describe('whoever is no platform admin', () => {
  it.each([
    'request-logs',
    `request-logs/${randomUUID()}`,
    'mcp-invocations',
    `mcp-invocations/${randomUUID()}`,
  ])('does not read %s', async (of) => {
    const headers: readonly Record<string, string>[] = [{}, { 'x-api-key': keys.ann }];
    for (const each of headers) {
      const answer = await fetch(`${gateway.url}${root}/${of}`, { headers: each });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: { code: 'session_required' } });
    }
  });
});

describe('a request id of any length that the gateway stored', () => {
  const longest = 31_000;
  const sent = async (id: string): Promise<string> => {
    const { status } = await rawExchange(gateway.url, {
      path: '/v1/chat/completions',
      headers: [
        ['x-api-key', keys.ann],
        ['content-type', 'application/json'],
        ['x-request-id', id],
      ],
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    expect([id.length, status]).toEqual([id.length, 200]);
    return hash('sha256', id);
  };

  it.each([1024, 1025, longest])('is found as it is: %d characters', async (chars) => {
    const id = 'i'.repeat(chars);
    await sent(id);
    expect(await placesIn(`request_id=${id}`)).toEqual([id]);
  });

  it.each(['é'.repeat(513), '%'.repeat(longest), 'é& '.repeat(longest / 4).trim()])(
    'is found by its digest where it fits into no URL: %#',
    async (id) => {
      const digest = await sent(id);
      expect(await placesIn(`request_id_sha256=${digest.toUpperCase()}`)).toEqual([id]);
      expect((await list('mcp-invocations', `request_id_sha256=${digest}`)).items).toEqual([]);
    },
  );

  it('is of the MCP invocations too', async () => {
    const id = 'ü'.repeat(20_000);
    await query(
      `insert into mcp_tool_invocations (mcp_tool_invocation_id, request_id, server_id, tool_id, status, policy_result,
         latency_ms, arguments_truncated, result_truncated, occurred_at)
       values (gen_random_uuid(), $1, 's', 't', 'success', 'allowed', 1, false, false, gateway_now())`,
      [id],
    );
    const { items } = await list('mcp-invocations', `request_id_sha256=${hash('sha256', id)}`);
    expect(items.map((item) => item['request_id'])).toEqual([id]);
  });
});
