import { beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { createAdmin } from '../../application/admin/create-admin.ts';
import { argon2Passwords } from '../../infrastructure/passwords.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { adminsStore } from '../../infrastructure/postgres/session-store.ts';
import { withClock } from '../contract/ledger-bench.ts';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

const keys = { ann: aKey(), bea: aKey(), silent: aKey(), worker: aKey() };
const email = 'root@example.com';
const password = 'a long enough password';
let cookie = '';
const idOf: Record<string, string> = {};

/** A thousand prompt tokens at 0.15 USD per million cost 0.00015 USD. */
const model = (id: string, simulate: string, upstream_model = 'simulated-fast') => ({
  id,
  routes: [{ provider: 'up', upstream_model, extra_headers: { 'x-simulate': simulate } }],
});

const config = (upstreamUrl: string): ConfigFile =>
  basicConfig(upstreamUrl, aKey(), {
    more: {
      models: [
        model('fast', 'usage=last&prompt-tokens=1000&completion-tokens=0'),
        model('silent', 'usage=none'),
        model('new', 'usage=last&prompt-tokens=1000&completion-tokens=0', 'simulated-unpriced'),
      ],
      users: [
        { email: 'ann@example.com', name: 'Ann' },
        { email: 'bea@example.com', name: 'Bea' },
        { email: 'silent@example.com', name: 'Silent', request_logging_enabled: false },
      ],
      service_accounts: [{ id: 'worker', name: 'Worker', team: 'platform' }],
      api_keys: [
        { name: 'ann', owner: 'user:ann@example.com', value: keys.ann },
        { name: 'bea', owner: 'user:bea@example.com', value: keys.bea },
        { name: 'silent', owner: 'user:silent@example.com', value: keys.silent },
        { name: 'worker', owner: 'service_account:worker', value: keys.worker },
      ],
    },
  });

const { query, gateway, databaseUrl } = simulatedScene(config);
const clock = withClock(query);

beforeAll(async () => {
  const pool = await openPool(databaseUrl(), 1);
  const create = createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() });
  expect(await create({ email, password })).toEqual(E.right(undefined));
  await pool.end();
  for (const { user_id, name } of await query<{ user_id: string; name: string }>('select * from users'))
    idOf[name] = user_id;
});

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];

async function chat(key: string, wanted: string, userAgent: string, more: object = {}): Promise<void> {
  const answer = await fetch(`${gateway().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', 'user-agent': userAgent },
    body: JSON.stringify({ model: wanted, messages: [{ role: 'user', content: 'Hi' }], ...more }),
  });
  expect(answer.status).toBe(200);
  await answer.arrayBuffer();
}

async function logIn(): Promise<void> {
  const answer = await fetch(`${gateway().url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  expect(answer.status).toBe(200);
  [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';');
}

async function get(at: string, headers: Record<string, string> = { cookie }) {
  const answer = await fetch(`${gateway().url}/api/v1/admin${at}`, { headers });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

async function dataOf(at: string): Promise<Record<string, readonly Record<string, unknown>[]>> {
  const { status, body } = await get(at);
  expect(status).toBe(200);
  expect(body['meta']).toEqual({ generated_at: expect.stringMatching(/^\d{4}-.*Z$/) });
  return body['data'] as Record<string, readonly Record<string, unknown>[]>;
}

const exact = ['0', '0.00015', '0.0003', '0.00045', '0.0006'];
const spend = (requests: number) => ({
  spend_usd: exact[requests],
  // units of 0.0001 USD, rounded half up
  spend_usd_10000: [0, 2, 3, 5, 6][requests],
});
const counts = (priced: number, unpriced = 0, missing = 0) => ({
  request_count: priced + unpriced + missing,
  ...spend(priced),
  priced_count: priced,
  legacy_estimated_count: 0,
  unpriced_count: unpriced,
  usage_missing_count: missing,
});

describe('reports over requests that were served', () => {
  beforeAll(async () => {
    await clock.standAt('2028-02-29T11:59:59.999Z');
    await chat(keys.bea, 'fast', 'opencode/1.0', { tools });
    await clock.standAt('2028-03-01T12:00:00Z');
    await chat(keys.ann, 'fast', 'claude-cli/2.0.1 (external, cli)', { tools });
    await chat(keys.ann, 'fast', 'claude-cli/2.0.2 (external, cli)');
    await chat(keys.ann, 'new', 'claude-cli/2.0.2 (external, cli)');
    await chat(keys.silent, 'silent', 'codex_cli_rs/0.1');
    await chat(keys.worker, 'fast', 'my-worker/1');
    await clock.standAt('2028-03-01T12:30:00Z');
    await logIn();
  });

  it('the spend report has totals, days, owners and models, with counts of all four statuses', async () => {
    const report = await dataOf('/spend/report?days=7&owner_kind=all');
    const day = (text: string, requests = 0, priced = 0) => ({
      day: text,
      request_count: requests,
      ...spend(priced),
    });
    const user = (name: string, tally: object) => ({
      owner_kind: 'user',
      owner_id: idOf[name],
      owner_name: name,
      ...tally,
    });
    const team = { owner_kind: 'team', owner_id: 'platform', owner_name: 'Platform', ...counts(1) };
    expect(report).toEqual({
      window_days: 7,
      owner_kind: 'all',
      window_start: '2028-02-24T00:00:00.000Z',
      window_end: '2028-03-02T00:00:00.000Z',
      totals: counts(4, 1, 1),
      daily: [
        day('2028-02-24'),
        day('2028-02-25'),
        day('2028-02-26'),
        day('2028-02-27'),
        day('2028-02-28'),
        day('2028-02-29', 1, 1),
        day('2028-03-01', 5, 3),
      ],
      owners: [user('Ann', counts(2, 1)), user('Bea', counts(1)), team, user('Silent', counts(0, 0, 1))],
      models: [
        { model_key: 'fast', ...counts(4) },
        { model_key: 'new', ...counts(0, 1) },
        { model_key: 'silent', ...counts(0, 0, 1) },
      ],
    });
    expect(await dataOf('/spend/report')).toEqual(report);
    expect(await dataOf('/spend/report?owner_kind=team')).toMatchObject({
      totals: counts(1),
      owners: [team],
      models: [{ model_key: 'fast', ...counts(1) }],
    });
    expect((await dataOf('/spend/report?days=30&owner_kind=user'))['daily']).toHaveLength(30);
  });

  it('each day is split by owner and by model, and the parts add up to it', async () => {
    const found = await dataOf('/spend/days?days=7');
    const cut = (values: readonly number[]) => ({ values: values.map(spend), rest: spend(0) });
    const day = (text: string, of: number, owners: object, models: object) => ({
      day: text,
      ...spend(of),
      owners,
      models,
    });
    const none = (text: string) => day(text, 0, cut([0, 0, 0]), cut([0]));
    expect(found).toEqual({
      window_days: 7,
      owner_kind: 'all',
      window_start: '2028-02-24T00:00:00.000Z',
      window_end: '2028-03-02T00:00:00.000Z',
      chart_owners: [
        { owner_kind: 'user', owner_id: idOf['Ann'], owner_name: 'Ann', ...spend(2) },
        { owner_kind: 'user', owner_id: idOf['Bea'], owner_name: 'Bea', ...spend(1) },
        { owner_kind: 'team', owner_id: 'platform', owner_name: 'Platform', ...spend(1) },
      ],
      chart_models: [{ model_key: 'fast', ...spend(4) }],
      days: [
        ...['2028-02-24', '2028-02-25', '2028-02-26', '2028-02-27', '2028-02-28'].map(none),
        day('2028-02-29', 1, cut([0, 1, 0]), cut([1])),
        day('2028-03-01', 3, cut([2, 0, 1]), cut([3])),
      ],
    });
    expect((await dataOf('/spend/days?owner_kind=team'))['days']?.at(-1)).toEqual(
      day('2028-03-01', 1, cut([1]), cut([1])),
    );
  });

  it('the leaderboard ranks users by spend, and averages the tool counts of their logs', async () => {
    const board = await dataOf('/observability/leaderboard');
    const averages = (exposed: number | null, invoked: number | null) => ({
      referenced_mcp_server_count: null,
      exposed_tool_count: exposed,
      invoked_tool_count: invoked,
      filtered_tool_count: null,
    });
    const users = [
      { rank: 1, user_id: idOf['Ann'], user_name: 'Ann', ...spend(2) },
      { rank: 2, user_id: idOf['Bea'], user_name: 'Bea', ...spend(1) },
      { rank: 3, user_id: idOf['Silent'], user_name: 'Silent', ...spend(0) },
    ];
    expect(board).toEqual({
      range: '7d',
      bucket_hours: 12,
      window_start: '2028-02-24T00:00:00.000Z',
      window_end: '2028-03-02T00:00:00.000Z',
      logs_since: '2028-02-29T11:59:59.999Z',
      chart_users: users,
      series: expect.any(Array),
      leaders: [
        {
          ...users[0],
          total_requests: 3,
          dominant_model: 'fast',
          tool_cardinality_averages: averages(1 / 3, 0),
        },
        { ...users[1], total_requests: 1, dominant_model: 'fast', tool_cardinality_averages: averages(1, 0) },
        {
          ...users[2],
          total_requests: 1,
          dominant_model: 'silent',
          tool_cardinality_averages: averages(null, null),
        },
      ],
    });
    const values = (...requests: readonly number[]) =>
      users.map(({ user_id }, place) => ({ user_id, ...spend(requests[place] ?? 0) }));
    const filled: Record<string, unknown> = {
      '2028-02-29T00:00:00.000Z': values(0, 1),
      '2028-03-01T12:00:00.000Z': values(2),
    };
    expect(board['series']).toEqual(
      Array.from({ length: 14 }, (_, index) => {
        const bucket = new Date(Date.UTC(2028, 1, 24, 12 * index)).toISOString();
        return { bucket_start: bucket, values: filled[bucket] ?? values() };
      }),
    );
    expect((await dataOf('/observability/leaderboard?range=31d'))['series']).toHaveLength(62);
  });

  it('each tool count is averaged over the logs that recorded it', async () => {
    await query(
      `update tool_cardinality_rollups set referenced_mcp_server_sum = 6, referenced_mcp_server_rows = 2,
         filtered_tool_sum = 1, filtered_tool_rows = 4 where user_id = $1`,
      [idOf['Ann']],
    );
    expect((await dataOf('/observability/leaderboard'))['leaders']?.[0]).toMatchObject({
      user_name: 'Ann',
      tool_cardinality_averages: {
        referenced_mcp_server_count: 3,
        exposed_tool_count: 1 / 3,
        invoked_tool_count: 0,
        filtered_tool_count: 1 / 4,
      },
    });
  });

  it('harness usage is grouped by harness, not by User-Agent', async () => {
    const usage = await dataOf('/observability/harness-usage?range=31d');
    const harness = (rank: number, key: string, label: string, requests: number) => ({
      rank,
      agent_harness_key: key,
      agent_harness_label: label,
      request_count: requests,
    });
    const leaders = [
      harness(1, 'claude-code', 'Claude Code', 3),
      harness(2, 'opencode', 'opencode', 1),
      harness(3, 'other', 'Other', 1),
    ];
    expect(usage).toEqual({
      range: '31d',
      bucket_hours: 12,
      window_start: '2028-01-31T00:00:00.000Z',
      window_end: '2028-03-02T00:00:00.000Z',
      logs_since: '2028-02-29T11:59:59.999Z',
      chart_harnesses: leaders,
      series: expect.any(Array),
      leaders,
    });
    expect(usage['series']).toHaveLength(62);
    expect(usage['series']?.at(-1)).toEqual({
      bucket_start: '2028-03-01T12:00:00.000Z',
      values: [
        { agent_harness_key: 'claude-code', request_count: 3 },
        { agent_harness_key: 'opencode', request_count: 0 },
        { agent_harness_key: 'other', request_count: 1 },
      ],
    });
  });

  it.each([
    ['/spend/report?days=31', 'days'],
    ['/spend/report?days=07', 'days'],
    ['/spend/report?days=', 'days'],
    ['/spend/report?owner_kind=service_account', 'owner_kind'],
    ['/spend/report?days=7&days=30', 'days'],
    ['/spend/report?owner=user', 'owner'],
    ['/observability/leaderboard?range=30d', 'range'],
    ['/observability/leaderboard?days=7', 'days'],
    ['/observability/harness-usage?range=31D', 'range'],
    ['/observability/harness-usage?range=7d&page=1', 'page'],
  ])('%s is refused with 400 and names the parameter', async (at, param) => {
    const { status, body } = await get(at);
    expect(status).toBe(400);
    expect(body).toEqual({
      error: { type: 'invalid_request_error', code: 'invalid_request', param, message: expect.any(String) },
    });
  });

  it('estimated spend of an earlier service is counted under its own name', async () => {
    await query(
      `insert into usage_rollups
       values ('2028-03-01T12:00:00Z', 'user:' || $1, 'old', 'legacy_estimated', $1::uuid, null, 2, 150000000)`,
      [idOf['Bea']],
    );
    const estimated = { request_count: 2, ...spend(1), legacy_estimated_count: 2, unpriced_count: 0 };
    const { totals, models } = await dataOf('/spend/report');
    expect(totals).toMatchObject({ request_count: 8, legacy_estimated_count: 2, usage_missing_count: 1 });
    expect(models).toContainEqual({ model_key: 'old', ...counts(0), ...estimated });
  });

  it('are refused with 401 without a session', async () => {
    for (const at of ['/spend/report', '/observability/leaderboard', '/observability/harness-usage'])
      expect(await get(at, {})).toMatchObject({ status: 401, body: { error: { code: 'session_required' } } });
  });
});
