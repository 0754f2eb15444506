import { beforeAll, describe, expect, it } from '@jest/globals';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { aKey, basicConfig } from '../support/gateway.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const usage = { 'x-simulate': 'prompt-tokens=1000&completion-tokens=0&total-tokens=1000' };
const config = (upstream: string) =>
  basicConfig(upstream, key, {
    more: {
      models: [
        {
          id: 'fast',
          routes: [{ provider: 'up', upstream_model: 'simulated-fast', extra_headers: usage }],
        },
        { id: 'free', routes: [{ provider: 'up', upstream_model: 'simulated-slow', extra_headers: usage }] },
        { id: 'broken', routes: [{ provider: 'up', upstream_model: 'simulated-fast?status=500' }] },
      ],
    },
  });
const scene = simulatedScene(config);
let admin: AdminClient;

beforeAll(async () => {
  await makeAdmin(scene.databaseUrl());
  admin = await adminClient(scene.gateway().url);
});

const ask = async (model: string, headers: Record<string, string> = {}) => {
  const answer = await fetch(`${scene.gateway().url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await answer.text();
  return answer.status;
};

const overview = async () => (await admin('GET', '/api/v1/admin/overview')).data as Record<string, unknown>;
const found = async (q: string) =>
  (
    (await admin('GET', `/api/v1/admin/search?q=${encodeURIComponent(q)}`)).data as {
      items: readonly Record<string, unknown>[];
    }
  ).items;
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const none = { request_count: 0, spend_usd: '0', spend_usd_10000: 0 };
const count = expect.any(Number);

describe('the overview of a gateway without requests', () => {
  it('has all 24 hours with zero counts, and null for times that were not measured', async () => {
    const data = await overview();
    const hour = {
      ...none,
      logged_count: 0,
      errors: { caller: 0, upstream: 0, gateway: 0 },
      latency_ms: null,
      first_token_ms: null,
    };
    expect(data).toMatchObject({
      now: instant,
      logs_since: null,
      today: { day: String(data['now']).slice(0, 10), ...none },
      last_day: hour,
      top_models: [],
      top_owners: [],
      budgets: { total: 0, above_80_percent: 0, blocked: 0, items: [] },
      setup: {
        model_answered: false,
        key_exists: true,
        budget_set: false,
        mail_configured: false,
        telemetry_configured: false,
        own_database: true,
      },
    });
    const hours = data['hours'] as readonly { readonly hour_start: string }[];
    expect(hours).toHaveLength(24);
    for (const each of hours) expect(each).toEqual({ hour_start: instant, ...hour });
    expect(hours[0]!.hour_start).toBe(data['window_start']);
    expect(Date.parse(hours[23]!.hour_start) + 3_600_000).toBe(Date.parse(String(data['window_end'])));
  });
});

describe('the overview of a gateway with requests', () => {
  it('shows requests and spend, errors by class, the budgets nearest their limit, and what needs attention', async () => {
    const users = (await admin('GET', '/api/v1/admin/users')).data as {
      items: { user_id: string; name: string }[];
    };
    const userId = users.items.find(({ name }) => name === 'A')?.user_id ?? '';
    await admin('PUT', `/api/v1/admin/spend/budgets/users/${userId}`, {
      cadence: 'daily',
      amount_10000: 2,
      hard_limit: true,
      timezone: 'UTC',
    });
    const statuses = [];
    for (const model of ['fast', 'free', 'broken', 'nobody', 'fast']) statuses.push(await ask(model));
    expect(statuses).toEqual([200, 200, 502, 404, 429]);
    const data = await overview();
    const spent = { request_count: 2, spend_usd: '0.00015', spend_usd_10000: 2 };
    expect(data).toMatchObject({
      logs_since: instant,
      today: spent,
      last_day: {
        ...spent,
        logged_count: 5,
        errors: { caller: 2, upstream: 1, gateway: 0 },
        latency_ms: { median: count, p95: count },
      },
      top_models: [
        { model_key: 'fast', request_count: 1, spend_usd: '0.00015' },
        { model_key: 'free', request_count: 1, spend_usd: '0' },
      ],
      top_owners: [{ owner_kind: 'user', owner_id: userId, owner_name: 'A', ...spent }],
      budgets: {
        total: 1,
        above_80_percent: 0,
        blocked: 1,
        items: [
          {
            owner_id: userId,
            amount_10000: 2,
            hard_limit: true,
            spend_usd: '0.00015',
            share_bps: 7500,
            blocked_answer_count: 1,
          },
        ],
      },
      attention: [
        {
          kind: 'unpriced_models',
          count: 2,
          items: [
            { kind: 'model', id: 'free', count: 1 },
            { kind: 'model', id: 'broken', count: 0 },
          ],
        },
        { kind: 'budget_blocks', count: 1, items: [{ kind: 'user', id: userId, title: 'A', count: 1 }] },
        { kind: 'failed_mails', count: 0, items: [] },
        { kind: 'journal_records', count: 0, count_is_lower_bound: false, items: [] },
        { kind: 'replicas_behind', count: 0, items: [] },
        {
          kind: 'provider_errors',
          count: 1,
          items: [{ kind: 'route', id: 'broken', title: 'up', count: 1 }],
        },
      ],
      setup: { model_answered: true, budget_set: true },
    });
  });

  it('counts all budgets in force, those above 80 % and those that blocked', async () => {
    await admin('PUT', '/api/v1/admin/spend/budgets/teams/platform', {
      cadence: 'daily',
      amount_10000: 1,
      hard_limit: false,
      timezone: 'UTC',
    });
    await scene.query(
      `insert into usage_daily_totals
       values ('team:platform:actor:none', (gateway_now() at time zone 'UTC')::date, 80000000)`,
    );
    expect(await overview()).toMatchObject({
      budgets: { total: 2, above_80_percent: 1, blocked: 1, items: [{ owner_kind: 'team' }, {}] },
    });
  });

  it('says that mail is set up once the file configures it', async () => {
    const mail = { from: 'alerts@example.com', smtp: { host: '127.0.0.1', port: 9 } };
    await scene.gateway().take({ ...config(scene.upstream().url), mail });
    expect(await overview()).toMatchObject({
      setup: { mail_configured: true, telemetry_configured: false },
    });
    await scene.gateway().take(config(scene.upstream().url));
  });
});

describe('the search', () => {
  it('finds users, teams, models, providers and requests by id or part of a name, in any case', async () => {
    await ask('fast', { 'x-request-id': 'my-request-1' });
    expect(await found('A@EXAMPLE')).toMatchObject([{ kind: 'user', title: 'A', detail: 'a@example.com' }]);
    expect(await found('latf')).toEqual([{ kind: 'team', id: 'platform', title: 'Platform', detail: null }]);
    expect(await found('FAS')).toMatchObject([{ kind: 'model', id: 'fast' }]);
    expect(await found('up')).toMatchObject([{ kind: 'provider', id: 'up', detail: 'compat' }]);
    expect(await found('my-request-1')).toMatchObject([
      { kind: 'request_log', title: 'my-request-1', detail: 'fast' },
    ]);
  });

  it('finds a key by its public id or the beginning of it, and never by its secret', async () => {
    const publicId = /^gwk_([^.]+)\./.exec(key)?.[1] ?? '';
    const secret = key.split('.')[1] ?? '';
    const [hit] = await found(publicId.slice(0, 8));
    expect(hit).toMatchObject({ kind: 'api_key', title: 'dev', detail: publicId });
    expect(await found(`gwk_${publicId}`)).toEqual([hit]);
    expect(await found(key.slice(0, 200))).toEqual([hit]);
    expect(await found(secret)).toEqual([]);
    expect(await found(secret.slice(0, 12))).toEqual([]);
    expect(await found(String(hit?.['id']))).toEqual([hit]);
  });

  it.each(['', 'x'.repeat(201)])('refuses an empty query, and one that is too long, with 400', async (q) => {
    const answer = await admin('GET', `/api/v1/admin/search?q=${q}`);
    expect([answer.status, answer.error?.param]).toEqual([400, 'q']);
  });
});
