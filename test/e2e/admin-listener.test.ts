import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { account, adminClient, makeAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, startGateway, type TestGateway } from '../support/gateway.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const key = aKey();
let upstream: SimulatedUpstream;
let gateway: TestGateway;

const config = () =>
  basicConfig(upstream.url, key, {
    more: {
      models: [
        { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] },
        {
          id: 'slow',
          routes: [{ provider: 'up', upstream_model: 'simulated?chunk-delay-ms=50&chunks=100' }],
        },
      ],
      server: {
        bind: '127.0.0.1:0',
        admin_bind: '127.0.0.1:0',
        trusted_proxies: ['127.0.0.1'],
        cors_origins: ['*'],
        shutdown_grace_secs: 10,
      },
    },
  });

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  gateway = await startGateway(config(), database.url());
  await makeAdmin(database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

const authorization = `Bearer ${key}`;
const doors = ['url', 'adminUrl'] as const;
const chat = { model: 'fast', messages: [{ role: 'user', content: 'Hello' }] };

async function statusOf(url: string, init: RequestInit = {}): Promise<number> {
  const answer = await fetch(url, { redirect: 'manual', ...init });
  await answer.arrayBuffer();
  return answer.status;
}

describe('server.admin_bind', () => {
  it('serves the admin API, its description and its page', async () => {
    const admin = await adminClient(gateway.adminUrl);
    expect(await admin('GET', '/api/v1/admin/models')).toMatchObject({ status: 200 });
    expect(await statusOf(`${gateway.adminUrl}/api/v1/openapi.json`)).toBe(200);
    // 503: the page is not built in this working copy.
    expect([200, 503]).toContain(await statusOf(`${gateway.adminUrl}/admin/`));
  });

  it.each([
    ['POST', '/api/v1/auth/login'],
    ['GET', '/api/v1/auth/session'],
    ['GET', '/api/v1/admin/models'],
    ['PUT', '/api/v1/admin/models'],
    ['GET', '/api/v1/openapi.json'],
    ['GET', '/admin'],
    ['GET', '/admin/'],
    ['GET', '/admin/assets/index.js'],
  ])('makes this path 404 at bind, like any unknown path: %s %s', async (method, path) => {
    const answer = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      ...(method === 'GET' ? {} : { body: JSON.stringify(account) }),
    });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toMatchObject({
      error: { code: 'not_found', message: `There is nothing at \`${path}\`.` },
    });
  });

  it('serves no path for callers, even with a valid key, and answers no preflight', async () => {
    const headers = { authorization, 'content-type': 'application/json', origin: 'https://app.example.com' };
    const body = JSON.stringify(chat);
    expect(await statusOf(`${gateway.url}/v1/models`, { headers })).toBe(200);
    expect(await statusOf(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body })).toBe(200);
    for (const path of ['/v1/models', '/v1/models/fast', '/mcp'])
      expect([path, await statusOf(`${gateway.adminUrl}${path}`, { headers })]).toEqual([path, 404]);
    for (const path of ['/v1/chat/completions', '/v1/messages', '/v1/responses', '/v1/embeddings', '/mcp'])
      expect([path, await statusOf(`${gateway.adminUrl}${path}`, { method: 'POST', headers, body })]).toEqual(
        [path, 404],
      );
    const preflight = { ...headers, 'access-control-request-method': 'POST' };
    const ask = { method: 'OPTIONS', headers: preflight };
    expect(await statusOf(`${gateway.url}/v1/chat/completions`, ask)).toBe(204);
    const refused = await fetch(`${gateway.adminUrl}/v1/chat/completions`, ask);
    await refused.arrayBuffer();
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([404, null]);
  });

  it.each(doors)('health and readiness are reported at both listeners: %s', async (door) => {
    expect(await statusOf(`${gateway[door]}/healthz`)).toBe(200);
    expect(await statusOf(`${gateway[door]}/readyz`)).toBe(200);
  });

  it.each(doors)('limits on headers and HTTP syntax are enforced at both listeners: %s', async (door) => {
    const get = (headers: readonly (readonly [string, string])[]) =>
      rawExchange(gateway[door], { method: 'GET', path: '/healthz', headers, framing: 'none' });
    expect((await get([['x-large', 'a'.repeat(33_000)]])).status).toBe(431);
    expect((await get([['host', 'another']])).status).toBe(400);
    const { status, body } = await rawExchange(gateway[door], { path: '/ HTTP/9.9\r\nx', framing: 'none' });
    expect([status, body]).toEqual([400, expect.stringContaining('The request is not valid HTTP.')]);
  });

  it('trusted proxies are trusted at the admin listener, too', async () => {
    await statusOf(`${gateway.adminUrl}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify({ ...account, password: 'a wrong password of an admin' }),
    });
    const line = await eventually(() =>
      gateway.log.lines.find(({ fields }) => fields['address'] === '203.0.113.9'),
    );
    expect(line).toMatchObject({ message: 'login', fields: { status: 401 } });
  });

  it('shuts down together with bind: refuses new connections and answers open requests', async () => {
    const ending = await startGateway(config(), database.url());
    const open = await Promise.all(
      doors.map(async (door) => {
        const socket = rawSocket(ending[door]);
        let text = '';
        socket.on('data', (piece: Buffer) => void (text += piece.toString()));
        socket.write('GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n');
        await eventually(() => (text.includes('"ready"') ? true : undefined));
        socket.write('GET /readyz HTTP/1.1\r\nhost: x\r\n');
        return { socket, text: () => text, closed: new Promise((resolve) => socket.once('close', resolve)) };
      }),
    );
    const stream = await fetch(`${ending.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, model: 'slow', stream: true }),
    });
    const stopped = ending.stop();
    for (const door of doors)
      await expect(rawExchange(ending[door], { method: 'GET', path: '/healthz' })).rejects.toThrow(
        'ECONNREFUSED',
      );
    for (const { socket, text, closed } of open) {
      socket.write('\r\n');
      await closed;
      expect(text()).toContain('"reason":"draining"');
    }
    expect(await stream.text()).toContain('data: [DONE]');
    await stopped;
  });
});
