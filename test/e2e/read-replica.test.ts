import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EmbeddedPostgres } from '../../infrastructure/embedded-postgres/start.ts';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { type AdminClient, adminClient, makeAdmin } from '../support/admin.ts';
import { aKey, basicConfig, startGateway, type TestGateway } from '../support/gateway.ts';
import { serverAndStandby } from '../support/standby.ts';
import { connected } from '../support/test-server.ts';
import { eventually } from './traces.ts';

const key = aKey();
const logs = '/api/v1/admin/observability/request-logs';
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let admin: AdminClient;

beforeAll(async () => {
  ({ primary, standby } = await serverAndStandby());
  upstream = await startSimulatedUpstream({ port: 0 });
  const config = basicConfig(upstream.url, key, { more: { database: { read_url: '${READ_URL}' } } });
  gateway = await startGateway(config, primary.url, { READ_URL: standby.url });
  await makeAdmin(primary.url);
  admin = await adminClient(gateway.url);
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
  await standby?.stop();
  await primary?.stop();
});

const asked = () =>
  fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Hello' }] }),
  });

describe('database.read_url', () => {
  it('is used for reports and lists of records, and `meta.as_of` shows how current it is', async () => {
    expect((await asked()).status).toBe(200);
    const answer = await eventually(async () => {
      const found = await admin('GET', logs);
      return (found.data as { items?: object[] } | undefined)?.items?.length === 1 ? found : undefined;
    }, 20_000);
    const { generated_at: at, as_of: asOf } = answer.meta as { generated_at: string; as_of: string };
    expect(asOf).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(asOf)).toBeLessThanOrEqual(Date.parse(at));
    const [log] = (answer.data as { items: readonly { request_log_id: string }[] }).items;
    for (const each of [
      'spend/report',
      'spend/days',
      'observability/leaderboard',
      'observability/harness-usage',
      'observability/mcp-invocations',
      `observability/request-logs/${log?.request_log_id}`,
    ])
      expect([each, await admin('GET', `/api/v1/admin/${each}`)]).toEqual([
        each,
        expect.objectContaining({
          status: 200,
          meta: expect.objectContaining({ as_of: expect.any(String) }),
        }),
      ]);
  });

  it('returns the same rows and `as_of` while replay is paused, and newer ones after that', async () => {
    const idsNow = async () => {
      const { data, meta } = await admin('GET', logs);
      const { items } = data as { items: readonly { request_log_id: string; occurred_at: string }[] };
      return { items, asOf: Date.parse((meta as { as_of: string }).as_of) };
    };
    await connected(standby.url, (client) => client.query('select pg_wal_replay_pause()'));
    await eventually(async () => {
      const state = await connected(standby.url, (client) =>
        client.query('select pg_get_wal_replay_pause_state()'),
      );
      return JSON.stringify(state.rows).includes('"paused"') ? true : undefined;
    });
    const before = await idsNow();
    expect((await asked()).status).toBe(200);
    expect(await idsNow()).toEqual(before);
    await connected(standby.url, (client) => client.query('select pg_wal_replay_resume()'));
    const after = await eventually(async () => {
      const now = await idsNow();
      return now.items.length > before.items.length ? now : undefined;
    }, 20_000);
    const came = Date.parse(after.items[0]?.occurred_at ?? '');
    expect(before.asOf).toBeLessThanOrEqual(came);
    // `as_of` is read before the rows: the first list with the row may have an `as_of` from before the row.
    expect((await idsNow()).asOf).toBeGreaterThanOrEqual(came);
  });

  it('is not used for the list of users, which admins change', async () => {
    const { status, meta } = await admin('GET', '/api/v1/admin/users');
    expect([status, meta]).toEqual([200, { generated_at: expect.any(String) }]);
  });

  it('that is unavailable fails these reads with 503, and no other request', async () => {
    await standby.stop();
    expect(await admin('GET', logs)).toMatchObject({ status: 503, error: { code: 'store_unavailable' } });
    expect(await admin('GET', '/api/v1/admin/users')).toMatchObject({ status: 200 });
    expect((await asked()).status).toBe(200);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(200);
  });

  it('that is unavailable prevents no start', async () => {
    const config = basicConfig(upstream.url, key, { more: { database: { read_url: '${READ_URL}' } } });
    const another = await startGateway(config, primary.url, { READ_URL: standby.url });
    expect((await fetch(`${another.url}/readyz`)).status).toBe(200);
    await another.stop();
  });
});
