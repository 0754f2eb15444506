import { hash, randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { rawExchange } from './raw-http.ts';
import { keys, minute, requestLogsScene, root } from './request-logs-scene.ts';

const { query, gateway, admin, list, placesIn, idOf, logIdOf } = requestLogsScene();

describe('GET request-logs', () => {
  it('returns a page of summary rows including metadata, payload policy and truncation fields, newest first', async () => {
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
      first_token_ms: expect.any(Number),
      prompt_tokens: expect.any(Number),
      completion_tokens: expect.any(Number),
      total_tokens: expect.any(Number),
      pricing_status: 'priced',
      unpriced_reason: null,
      cost_usd: expect.stringMatching(/^0\.0\d+$/),
      cost_usd_10000: expect.any(Number),
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
      first_token_ms: null,
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
    ['not_model_key=fast', ['r-4', 'r-3']],
    ['not_provider_key=up', ['r-4']],
    ['not_status_code=200', ['r-4', 'r-3']],
    ['not_team_id=platform', ['r-0']],
    ['not_service_account_id=worker', ['r-3', 'r-0']],
    ['not_service=checkout', ['r-4', 'r-0']],
    ['not_component=cart&not_env=nowhere', ['r-4', 'r-0']],
    ['not_env=prod&env=dev', ['r-3']],
    ['env=prod&not_env=prod', []],
    ['not_agent_harness_key=claude-code', ['r-4', 'r-3', 'r-2']],
    ['tag_key=customer&tag_value=acme&not_model_key=fast&not_env=dev', ['r-4']],
    ['not_model_key=fast&page=2&page_size=1', ['r-3']],
    ['failed=true', ['r-4', 'r-3']],
    ['failed=false', ['r-2', 'r-0']],
    ['failed=true&env=dev', ['r-3']],
    ['error_code=upstream_error', ['r-3']],
    ['not_error_code=upstream_error', ['r-4', 'r-2', 'r-0']],
    ['pricing_status=priced', ['r-2', 'r-0']],
    ['pricing_status=unpriced', []],
    ['in_ledger=true&service=checkout', ['r-2']],
    ['in_ledger=false', ['r-4', 'r-3']],
    ['owner_kind=user', ['r-0']],
    ['owner_kind=team', ['r-4', 'r-3', 'r-2']],
    ['owner_kind=team&in_ledger=true&tag_key=customer&tag_value=acme', ['r-2']],
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

  it('selects and excludes by user and by key', async () => {
    expect(await placesIn(`user_id=${String(await idOf('users', 'Ann'))}`)).toEqual(['r-0']);
    expect(await placesIn(`user_id=${String(await idOf('users', 'Silent'))}`)).toEqual([]);
    expect(await placesIn(`api_key_id=${String(await idOf('api_keys', 'platform'))}`)).toEqual(['r-3']);
    expect(await placesIn(`not_user_id=${String(await idOf('users', 'Ann'))}`)).toEqual([
      'r-4',
      'r-3',
      'r-2',
    ]);
    expect(await placesIn(`not_api_key_id=${String(await idOf('api_keys', 'platform'))}`)).toEqual([
      'r-4',
      'r-2',
      'r-0',
    ]);
  });

  it.each([
    ['tag_key=customer', 'tag_value'],
    ['tag_value=acme', 'tag_key'],
    ['tag_key=&tag_value=acme', 'tag_key'],
    ['user_id=ann', 'user_id'],
    ['api_key_id=1', 'api_key_id'],
    ['status_code=20', 'status_code'],
    ['status_code=ok', 'status_code'],
    ['failed=yes', 'failed'],
    ['pricing_status=none', 'pricing_status'],
    ['in_ledger=1', 'in_ledger'],
    ['owner_kind=all', 'owner_kind'],
    ['not_user_id=ann', 'not_user_id'],
    ['not_status_code=20', 'not_status_code'],
    ['not_env=a&not_env=b', 'not_env'],
    ['not_request_id=r-1', 'not_request_id'],
    ['from=2028-03-01', 'from'],
    ['to=yesterday', 'to'],
    ['page=0', 'page'],
    ['page_size=201', 'page_size'],
    ['page=501&page_size=200', 'page'],
    ['service=a&service=b', 'service'],
    ['Model_key=fast', 'Model_key'],
    ['request_log_id=x', 'request_log_id'],
    ['env=%00', 'env'],
  ])('?%s is refused with 400 and names the parameter %s', async (search, param) => {
    expect(await admin('GET', `${root}/request-logs?${search}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });
});

describe('GET request-logs/{request_log_id}', () => {
  it('returns the row with its payloads as stored, its attempts and its MCP token overhead', async () => {
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
      `insert into request_mcp_token_overheads (request_id, server_count, tool_count, tool_definition_bytes,
         tool_result_tokens, occurred_at)
       values ('r-3', 1, 12, 9000, 70, $1)`,
      [minute(3)],
    );
    await query(
      `update request_log_attempts set started_at = $2, completed_at = $3, error_detail = 'no room'
       where request_log_id = $1`,
      [id, minute(4), minute(5)],
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
          error_detail: 'no room',
          stream: false,
          started_at: minute(4),
          completed_at: minute(5),
          latency_ms: expect.any(Number),
        },
      ],
      mcp_token_overhead: {
        request_id: 'r-3',
        request_log_id: null,
        server_count: 1,
        tool_count: 12,
        tool_definition_bytes: 9000,
        tool_definition_tokens: null,
        tool_result_tokens: 70,
        occurred_at: minute(3),
      },
    });
    // Every digit, escape and the order of keys, as they are stored.
    expect(text).toContain(`"request_json":${stored.request},"response_json":${stored.response}`);
  });

  it('says which payload was truncated, how many tools and servers there were, and why there is no price', async () => {
    const id = await logIdOf('r-2');
    await query(
      `update request_logs set request_payload_truncated = true, referenced_mcp_server_count = 2,
         filtered_tool_count = 3, invoked_tool_count = 4
       where request_log_id = $1`,
      [id],
    );
    await query(
      `update usage_cost_events set pricing_status = 'unpriced', unpriced_reason = 'no_catalogue_price',
         input_picousd_per_token = null, output_picousd_per_token = null, pricing_source = null, cost_picousd = null
       where request_log_id = $1`,
      [id],
    );
    expect((await admin('GET', `${root}/request-logs/${id}`)).data).toMatchObject({
      log: {
        request_payload_truncated: true,
        response_payload_truncated: false,
        tool_cardinality: {
          exposed_tool_count: 1,
          invoked_tool_count: 4,
          referenced_mcp_server_count: 2,
          filtered_tool_count: 3,
        },
        pricing_status: 'unpriced',
        unpriced_reason: 'no_catalogue_price',
        cost_usd: null,
      },
    });
  });

  it('returns no attempts, no payload and no overhead if there were none', async () => {
    const id = await logIdOf('r-4');
    expect((await admin('GET', `${root}/request-logs/${id}`)).data).toMatchObject({
      log: { request_log_id: id },
      payload: null,
      attempts: [],
      mcp_token_overhead: null,
    });
  });

  it.each([randomUUID(), 'r-3', 'null', '%00', `${randomUUID()}0`, 'x'.repeat(3000)])(
    'returns 404 not_found if the row does not exist (%#)',
    async (id) => {
      expect(await admin('GET', `${root}/request-logs/${id}`)).toMatchObject({
        status: 404,
        error: { code: 'not_found' },
      });
    },
  );

  it('refuses query parameters', async () => {
    expect(await admin('GET', `${root}/request-logs/${await logIdOf('r-3')}?page=1`)).toMatchObject({
      status: 400,
      error: { param: 'page' },
    });
  });
});

describe('a caller without an admin session', () => {
  it.each([
    'request-logs',
    `request-logs/${randomUUID()}`,
    'mcp-invocations',
    `mcp-invocations/${randomUUID()}`,
  ])('cannot read %s', async (of) => {
    const headers: readonly Record<string, string>[] = [{}, { 'x-api-key': keys.ann }];
    for (const each of headers) {
      const answer = await fetch(`${gateway().url}${root}/${of}`, { headers: each });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: { code: 'session_required' } });
    }
  });
});

describe('a request id of any length that the gateway stored', () => {
  const longest = 31_000;
  const sent = async (id: string): Promise<string> => {
    const { status } = await rawExchange(gateway().url, {
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

  it.each([1024, 1025, longest])('is found by its text: %d characters', async (chars) => {
    const id = 'i'.repeat(chars);
    await sent(id);
    expect(await placesIn(`request_id=${id}`)).toEqual([id]);
  });

  it.each(['é'.repeat(513), '%'.repeat(longest), 'é& '.repeat(longest / 4).trim()])(
    'is found by its digest if it does not fit into a URL: %#',
    async (id) => {
      const digest = await sent(id);
      expect(await placesIn(`request_id_sha256=${digest.toUpperCase()}`)).toEqual([id]);
      expect((await list('mcp-invocations', `request_id_sha256=${digest}`)).items).toEqual([]);
    },
  );

  it('is also found by its digest in MCP invocations', async () => {
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
