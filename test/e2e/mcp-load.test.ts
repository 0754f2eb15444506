import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestGateway } from '../support/gateway.ts';
import { listening, type RunningServer } from '../support/mcp-servers.ts';
import { mcpScene } from './mcp-scene.ts';
import { eventually } from './traces.ts';

const scene = mcpScene();
const servers: RunningServer[] = [];
const evil = { origin: 'https://evil.example.com' };
const picky = { accept: 'application/json' };

/** Calls whose answer the server has begun and not finished. */
const begun: { readonly res: ServerResponse; readonly id: unknown; isClosed: boolean }[] = [];
const large = 'x'.repeat(250_000);

const floodBytes = 64 * 1024 * 1024;
let flooded = 0;

/** Sends progress notifications as fast as they are read. */
function flood(res: ServerResponse): void {
  if (flooded >= floodBytes) return void res.end();
  const text = JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/progress',
    params: { message: large },
  });
  flooded += text.length;
  res.write(`data: ${text}\n\n`, () => flood(res));
}

beforeAll(async () => {
  const slow = await listening((req, res) => {
    let text = '';
    req.on('data', (piece) => (text += String(piece)));
    req.on('end', () => {
      const { id, params } = JSON.parse(text) as {
        readonly id: unknown;
        readonly params: { readonly name: string };
      };
      const isStream = params.name === 'stream' || params.name === 'flood';
      const call = { res, id, isClosed: false };
      res.once('close', () => (call.isClosed = true));
      begun.push(call);
      res.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
      if (params.name === 'silent') return res.flushHeaders();
      if (params.name === 'flood') return flood(res);
      res.write(
        `${isStream ? 'data: ' : ''}{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"a":"${large}`,
      );
    });
  });
  servers.push(slow);
});
afterAll(async () => {
  for (const server of servers) await server.stop();
});

const gatewayWith = (server: object): Promise<TestGateway> =>
  scene.gateway([{ id: 'slow', url: servers[0]!.url, timeout_ms: 20_000 }], {
    server: { bind: '127.0.0.1:0', ...server },
  });

interface Terms {
  readonly name?: string;
  readonly args?: object;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly method?: 'POST' | 'GET' | 'DELETE';
  readonly at?: string;
}

async function ask(
  gateway: TestGateway,
  { name = 'whole', args = {}, key = scene.key, headers = {}, method = 'POST', at = '/slow' }: Terms = {},
) {
  const requestId = randomUUID();
  const response = await fetch(`${gateway.url}/mcp${at}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'x-request-id': requestId,
      ...headers,
    },
    body:
      method === 'POST'
        ? JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } })
        : null,
  });
  return { requestId, status: response.status, headers: response.headers, text: await response.text() };
}

const rowOf = async (requestId: string) => (await scene.records(1, `request_id = '${requestId}'`))[0];

async function untilBegun(count: number): Promise<void> {
  await eventually(() => begun.length >= count || undefined);
  expect(begun).toHaveLength(count);
}

function finish(): void {
  for (const { res } of begun.splice(0)) res.end('"}}\n\n');
}

describe('a request that is rejected before it is read', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await gatewayWith({ max_in_flight: 2, max_in_flight_per_owner: 1 });
  });

  // Not by `fetch`, which adds a header of its own.
  it.each(['POST', 'GET'])('%s without an `Accept` header is not acceptable (406)', async (method) => {
    const headers = { authorization: `Bearer ${scene.key}`, 'content-type': 'application/json' };
    const call = request(`${gateway.url}/mcp/slow`, { method, headers }).end();
    const [answer] = (await once(call, 'response')) as [IncomingMessage];
    answer.resume();
    expect([answer.statusCode, answer.headers['x-gateway-error']]).toEqual([406, 'not_acceptable']);
  });

  it.each<[string, number, Terms]>([
    ['cross_origin', 403, { headers: evil }],
    ['cross_origin', 403, { headers: evil, at: '' }],
    ['not_acceptable', 406, { headers: picky }],
    ['not_acceptable', 406, { headers: picky, method: 'GET' }],
    ['cross_origin', 403, { headers: evil, method: 'DELETE' }],
  ])('%s (%i) writes an invocation record with the owner (%#)', async (code, status, terms) => {
    const refused = await ask(gateway, terms);
    expect([refused.status, JSON.parse(refused.text).error.data]).toEqual([status, { error_code: code }]);
    expect(refused.headers.get('x-gateway-error')).toBe(code);
    expect(await rowOf(refused.requestId)).toMatchObject({
      server_id: terms.at === '' ? '*' : 'slow',
      tool_id: terms.at === '' ? '*/(unread)' : 'slow/(unread)',
      status: 'invalid_request',
      error_code: code,
      user_id: expect.any(String),
    });
  });

  it('is authenticated first: without a valid key it is answered with 401', async () => {
    const refused = await ask(gateway, { headers: evil, key: 'gwk_nobody00.'.padEnd(60, '0') });
    expect(refused.status).toBe(401);
    expect(await rowOf(refused.requestId)).toMatchObject({ error_code: 'invalid_api_key', user_id: null });
  });

  it("is one whose Origin is not the gateway's own address, whatever Host the request names", async () => {
    const port = new URL(gateway.url).port;
    const listening = (origin: string, host = `127.0.0.1:${port}`) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { authorization: `Bearer ${scene.key}`, accept: 'text/event-stream', origin, host };
        get(`${gateway.url}/mcp`, { headers }, (response) => resolve(response.resume().statusCode)).once(
          'error',
          reject,
        );
      });
    // There is no such stream: a request that is accepted gets 405.
    expect(await listening(`http://127.0.0.1:${port}`)).toBe(405);
    expect(await listening(`http://localhost:${port}`, `localhost:${port}`)).toBe(405);
    for (const [origin, host] of [
      ['http://127.0.0.1:1'],
      [`http://localhost:${port}`],
      [`https://127.0.0.1:${port}`],
      [`http://rebound.example.com:${port}`, `rebound.example.com:${port}`],
      [`http://localhost.example.com:${port}`, `localhost.example.com:${port}`],
      ['null', 'null'],
    ] as const)
      expect([origin, await listening(origin, host)]).toEqual([origin, 403]);
  });

  it.each([
    ['is listed', ['https://other.example.com', evil.origin], evil.origin, 200],
    ['is one of all', ['*'], evil.origin, 200],
    ['is not listed', ['https://other.example.com'], evil.origin, 403],
    ['is like one that is listed', ['https://evil.example.com.au'], evil.origin, 403],
  ])(
    'with an origin that %s, when `cors_origins` is set, is accepted or refused with 403',
    async (_, origins, origin, status) => {
      const open = await gatewayWith({ cors_origins: origins });
      const asked = ask(open, { headers: { origin } });
      if (status === 200) await untilBegun(1);
      finish();
      expect((await asked).status).toBe(status);
    },
  );

  it('for too many concurrent requests writes a record: with the owner at 429, without one at 503', async () => {
    const first = ask(gateway, { name: 'silent' });
    await untilBegun(1);
    const busy = await ask(gateway);
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await rowOf(busy.requestId)).toMatchObject({
      status: 'gateway_error',
      error_code: 'too_many_requests',
      policy_result: 'not_evaluated',
      user_id: expect.any(String),
    });
    const second = ask(gateway, { name: 'silent', key: scene.otherKey });
    await untilBegun(2);
    const full = await ask(gateway);
    expect([full.status, full.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await rowOf(full.requestId)).toMatchObject({
      status: 'gateway_error',
      error_code: 'overloaded',
      user_id: null,
    });
    finish();
    await Promise.all([first, second]);
  });
});

describe('buffered answers', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await gatewayWith({ max_buffered_bytes: 400_000, body_max_bytes: 100_000 });
  });

  it.each(['whole', 'stream'])(
    'count toward max_buffered_bytes until they end: answers over it (%s) are refused, and its room is freed',
    async (name) => {
      const first = ask(gateway, { name });
      await untilBegun(1);
      await sleep(100);
      const others = await Promise.all([1, 2, 3].map(() => ask(gateway, { name, key: scene.otherKey })));
      for (const { text, requestId } of others) {
        const message = name === 'stream' ? text.slice(text.indexOf('data: ') + 'data: '.length) : text;
        expect(JSON.parse(message)).toMatchObject({ id: 1, error: { data: { error_code: 'overloaded' } } });
        expect(await rowOf(requestId)).toMatchObject({ status: 'gateway_error', error_code: 'overloaded' });
      }
      await untilBegun(4);
      await eventually(() => begun.filter(({ isClosed }) => isClosed).length >= 3 || undefined);
      await sleep(100);
      expect(begun.map(({ isClosed }) => isClosed)).toEqual([false, true, true, true]);
      finish();
      expect((await first).text).toContain(large);
      const next = ask(gateway, { name });
      await untilBegun(1);
      finish();
      expect((await next).text).toContain(large);
    },
  );

  it('a message that is too large once parsed is refused with 503 and not sent to the server', async () => {
    const { status, requestId } = await ask(gateway, {
      args: { a: Array.from({ length: 20_000 }, () => 1) },
    });
    expect(status).toBe(503);
    expect(await rowOf(requestId)).toMatchObject({ tool_id: 'slow/whole', error_code: 'overloaded' });
    expect(begun).toEqual([]);
  });
});

describe('a stream whose client does not read', () => {
  it('is not read further from its server', async () => {
    const gateway = await gatewayWith({});
    const caller = request(`${gateway.url}/mcp/slow`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${scene.key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
    });
    const answered = once(caller, 'response');
    caller.end('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"flood"}}');
    await answered;
    for (let before = -1; before < flooded; await sleep(500)) before = flooded;
    expect(flooded).toBeLessThan(floodBytes);
    caller.destroy();
    await eventually(() => begun.every(({ isClosed }) => isClosed) || undefined);
  });
});
