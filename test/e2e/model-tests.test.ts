import { describe, expect, it } from '@jest/globals';
import { adminModelsScene, key, root } from './admin-models-scene.ts';
import { eventually } from './traces.ts';

const { admin, query, userIdOf, gateway } = adminModelsScene();

type Result = Record<string, unknown> & { readonly request_id: string };

/** Tests a model for the team, unless the test overrides it. */
const test = (model: string, over: object = {}) =>
  admin('POST', `${root}/${encodeURIComponent(model)}/test`, {
    owner_kind: 'team',
    owner_id: 'platform',
    ...over,
  });
const resultOf = async (model: string, over: object = {}): Promise<Result> => {
  const answer = await test(model, over);
  expect(answer).toMatchObject({ status: 200 });
  return answer.data as Result;
};
const ledgerRows = (requestId: string) =>
  query('select * from usage_cost_events where request_id = $1', [requestId]);
const logRows = (requestId: string) => query('select * from request_logs where request_id = $1', [requestId]);

/** Waits until the replica enforces the limits. */
async function callersAreRefused(): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${gateway().url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hi' }] }),
    });
    await answer.text();
    return answer.headers.get('x-gateway-error') === 'rate_limited' || undefined;
  });
}

describe('POST /api/v1/admin/models/{model_id}/test', () => {
  it('sends one request over the chosen route and returns the result', async () => {
    const result = await resultOf('fast', { route_position: 0 });
    expect(result).toEqual({
      outcome: 'success',
      status: 200,
      latency_ms: expect.any(Number),
      family: 'chat_completions',
      provider_key: 'up',
      upstream_model: 'simulated-fast',
      usage: { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 },
      cost_usd: '0.0001',
      error: null,
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      request_log_id: result.request_id,
      text: expect.stringContaining('ok'),
    });
    expect((await resultOf('fast', { route_position: 1 }))['upstream_model']).toBe('simulated-slow');
    // Without a choice it is the route that a caller's request would take.
    expect((await resultOf('fast'))['upstream_model']).toBe('simulated-slow');
  });

  it('writes a ledger row and a log row with the owner and no key, tagged as a test', async () => {
    const { request_id: requestId } = await resultOf('fast', { route_position: 0 });
    expect(await ledgerRows(requestId)).toMatchObject([
      {
        ownership_scope_key: 'team:platform:actor:none',
        api_key_id: null,
        team_id: 'platform',
        model_key: 'fast',
        pricing_status: 'priced',
        cost_picousd: '100000000',
      },
    ]);
    expect(await logRows(requestId)).toMatchObject([
      {
        request_log_id: requestId,
        api_key_id: null,
        caller_service: 'gateway',
        caller_component: 'model-test',
        status_code: 200,
      },
    ]);
    const listed = await admin('GET', `/api/v1/admin/observability/request-logs?request_id=${requestId}`);
    expect(listed).toMatchObject({ status: 200, data: { total: 1, items: [{ api_key_id: null }] } });
  });

  it('is recorded in the admin events', async () => {
    const { request_id: requestId } = await resultOf('fast', { route_position: 3 });
    const events = await admin(
      'GET',
      '/api/v1/admin/events?action=model.test&target_kind=model&target_id=fast',
    );
    expect((events.data as { items: unknown[] }).items[0]).toMatchObject({
      action: 'model.test',
      target_kind: 'model',
      target_id: 'fast',
      actor_user_id: await userIdOf('root@example.com'),
      before_json: null,
      after_json: {
        request_id: requestId,
        route_position: 3,
        family: 'chat_completions',
        owner_kind: 'team',
        owner_id: 'platform',
      },
      remote_address: '127.0.0.1',
    });
  });

  it.each([
    ['fast', 'messages', 'ok'],
    ['fast', 'responses', 'ok'],
    ['vectors', undefined, undefined],
    ['answers', undefined, 'ok'],
  ])('%s in the family %j', async (model, family, says) => {
    const expected = family ?? { vectors: 'embeddings', answers: 'responses' }[model];
    expect(await resultOf(model, family === undefined ? {} : { family })).toMatchObject({
      outcome: 'success',
      family: expected,
      text: says === undefined ? null : expect.stringContaining(says),
    });
  });

  it("returns the upstream's error, or the gateway's where nothing was sent", async () => {
    expect(await resultOf('fast', { route_position: 3 })).toMatchObject({
      outcome: 'upstream_error',
      status: 429,
      usage: null,
      cost_usd: null,
      error: { code: 'upstream_error', message: expect.stringContaining('slow down'), upstream_status: 429 },
      text: null,
    });
    // A disabled route accepts no request.
    expect(await resultOf('fast', { route_position: 2 })).toMatchObject({
      outcome: 'no_routes_available',
      status: 503,
      provider_key: null,
      error: { code: 'no_routes_available', upstream_status: null },
    });
    expect(await resultOf('vectors', { family: 'chat_completions' })).toMatchObject({
      outcome: 'invalid_request',
      status: 400,
      error: { code: 'invalid_request' },
    });
  });

  it('is refused by a hard budget of its owner, and counts toward it', async () => {
    const userId = await userIdOf('a@example.com');
    const path = `/api/v1/admin/spend/budgets/users/${userId}`;
    await admin('PUT', path, { cadence: 'monthly', amount_10000: 1, hard_limit: true });
    const owner = { owner_kind: 'user', owner_id: userId, route_position: 0 };
    expect(await resultOf('fast', owner)).toMatchObject({ outcome: 'success', cost_usd: '0.0001' });
    const refused = await resultOf('fast', owner);
    expect(refused).toMatchObject({
      outcome: 'budget_error',
      status: 429,
      error: { code: 'budget_exceeded' },
    });
    expect(await ledgerRows(refused.request_id)).toEqual([]);
    expect(await admin('GET', `${path}/days?days=1`)).toMatchObject({
      data: { days: [{ request_count: 1, spend_usd: '0.0001' }] },
    });
    await admin('DELETE', path);
  });

  it('ignores the rate limits of its owner and model, and counts toward none', async () => {
    const userId = await userIdOf('a@example.com');
    const paths = [`users/${userId}`, 'teams/platform', 'models/fast'].map(
      (each) => `/api/v1/admin/rate-limits/${each}`,
    );
    for (const path of paths)
      await admin('PUT', path, { requests_per_minute: 1, tokens_per_minute: 1, requests_in_flight: 1 });
    // All are full, in a minute that is not over before this test is.
    await query(
      `update rate_limit_windows set window_start = date_trunc('minute', now()) + interval '1 hour', requests = 1,
         tokens = 1`,
    );
    await query(
      `insert into rate_limit_holds
       select subject, gen_random_uuid(), gen_random_uuid(), now() + interval '1 hour' from rate_limit_windows`,
    );
    await callersAreRefused();
    const taken = () =>
      query(`select * from rate_limit_windows full join rate_limit_holds using (subject) order by subject`);
    const before = await taken();
    expect(before).toHaveLength(3);
    for (const owner of [
      { owner_kind: 'user', owner_id: userId },
      { owner_kind: 'team', owner_id: 'platform' },
    ])
      for (const family of ['chat_completions', 'messages', 'responses'])
        expect(await resultOf('fast', { ...owner, family })).toMatchObject({ outcome: 'success' });
    expect(await taken()).toEqual(before);
    for (const path of paths) await admin('DELETE', path);
  });

  it('of an owner whose requests are not logged is not logged and returns no log id', async () => {
    const owner = { owner_kind: 'user', owner_id: await userIdOf('quiet@example.com') };
    const result = await resultOf('fast', owner);
    expect(result).toMatchObject({ outcome: 'success', request_log_id: null });
    expect(await logRows(result.request_id)).toEqual([]);
    expect(await ledgerRows(result.request_id)).toHaveLength(1);
  });

  it.each([
    [{ owner_id: undefined }, 'owner_id'],
    [{ owner_id: '' }, 'owner_id'],
    [{ owner_id: 'nobody' }, 'owner_id'],
    [{ owner_kind: 'user', owner_id: 'no-uuid' }, 'owner_id'],
    [{ owner_kind: 'user', owner_id: '00000000-0000-4000-8000-00000000abcd' }, 'owner_id'],
    [{ owner_kind: 'service_account' }, 'owner_kind'],
    [{ route_position: 4 }, 'route_position'],
    [{ route_position: -1 }, 'route_position'],
    [{ route_position: '0' }, 'route_position'],
    [{ family: 'count_tokens' }, 'family'],
    [{ prompt: 'Hi' }, 'prompt'],
  ])('%j is refused with 400, names the field, and writes no event and no log row', async (wrong, param) => {
    const rows = () =>
      query('select (select count(*) from admin_events) e, (select count(*) from request_logs) l');
    const before = await rows();
    expect(await test('fast', wrong)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
    expect(await rows()).toEqual(before);
  });

  it('is answered with 404 for an unknown model', async () => {
    expect(await test('nobody')).toMatchObject({
      status: 404,
      error: { code: 'not_found', param: 'model_id' },
    });
    expect(await test('org/nobody')).toMatchObject({ status: 404 });
  });
});
