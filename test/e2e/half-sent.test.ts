import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { adminClient, withAdmin } from '../support/admin.ts';
import { aKey, basicConfig, queries } from '../support/gateway.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { simulatedScene } from './simulated-scene.ts';
import { eventually, outcomesOf } from './traces.ts';

const [greedyKey, otherKey] = [aKey(), aKey()];
const { gateway, databaseUrl } = simulatedScene((url) =>
  basicConfig(url, greedyKey, {
    more: {
      server: { bind: '127.0.0.1:0', max_in_flight: 40 },
      users: [
        { email: 'greedy@example.com', name: 'G' },
        { email: 'other@example.com', name: 'O' },
      ],
      api_keys: [
        { name: 'greedy', owner: 'user:greedy@example.com', value: greedyKey },
        { name: 'other', owner: 'user:other@example.com', value: otherKey },
      ],
      mcp_servers: [{ id: 'tools', url: `${url}/mcp` }],
    },
  }),
);
const admin = withAdmin(databaseUrl, gateway);
const query = queries(databaseUrl);
const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** Starts `count` requests with incomplete bodies; returns what each one receives. */
function halves(count: number, head: string): { text: string }[] {
  return Array.from({ length: count }, () => {
    const socket = rawSocket(gateway().url);
    const heard = { text: '' };
    sockets.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => void (heard.text += piece.toString()));
    socket.write(
      `POST ${head}\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"email":`,
    );
    return heard;
  });
}

const ask = (key: string, requestId: string, path = '/v1/chat/completions') =>
  rawExchange(gateway().url, {
    path,
    headers: [
      ['x-api-key', key],
      ['x-request-id', requestId],
      ['content-type', 'application/json'],
    ],
    body: '{"model":"fast","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}',
  });

describe('half-sent requests', () => {
  it('300 incomplete logins block neither the model API nor the admin API nor further logins', async () => {
    const logins = halves(300, '/api/v1/auth/login HTTP/1.1');
    // There are more of them than `max_in_flight` allows.
    await Promise.all(
      sockets.map((socket) => eventually(() => (socket.bytesWritten > 0 ? true : undefined))),
    );
    expect((await ask(otherKey, 'beside-logins')).status).toBe(200);
    expect((await admin('GET', '/api/v1/admin/spend/budgets')).status).toBe(200);
    await expect(adminClient(gateway().url)).resolves.toBeDefined();
    expect(logins.map(({ text }) => text).join('')).toBe('');
  });

  it('of one owner leave room for other owners; more requests of that owner are 429 too_many_requests', async () => {
    const path = `/v1/chat/completions HTTP/1.1\r\nx-api-key: ${greedyKey}`;
    // This request puts the key into the cache: a request takes no place while its key is looked up.
    expect((await ask(greedyKey, 'before-greed')).status).toBe(200);
    const requests = halves(60, path);
    await eventually(() => (requests.filter(({ text }) => text !== '').length === 50 ? true : undefined));
    expect((await ask(otherKey, 'beside-greed')).status).toBe(200);
    const refused = await ask(greedyKey, 'greed', '/v1/messages');
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    expect(JSON.parse(refused.body)).toEqual({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: expect.any(String),
        details: { error_code: 'too_many_requests' },
      },
      request_id: 'greed',
    });
    expect(outcomesOf(gateway(), 'greed')).toMatchObject([
      { outcome: 'overloaded', status: 429, error_code: 'too_many_requests', api_key_id: expect.any(String) },
    ]);
  });
});

describe('a key that is revoked while the body of its request arrives', () => {
  it.each([
    [
      '/v1/chat/completions',
      '{"model":"fast","max_tokens":9,',
      '"messages":[{"role":"user","content":"Hi"}]}',
    ],
    ['/mcp/tools', '{"jsonrpc":"2.0","id":1,', '"method":"tools/list"}'],
  ])(
    'is refused as soon as the body is complete, and nothing is sent upstream: %s',
    async (path, ...halves) => {
      const owner = { owner_kind: 'team', owner_id: 'platform' };
      const made = await admin('POST', '/api/v1/admin/api-keys', { name: 'leaver', ...owner });
      const { api_key: key, api_key_id: id } = made.data as { api_key: string; api_key_id: string };
      async function* body(): AsyncGenerator<Buffer> {
        yield Buffer.from(halves[0] ?? '');
        expect((await admin('DELETE', `/api/v1/admin/api-keys/${id}`)).status).toBe(200);
        do await sleep(500);
        while ((await ask(key, 'leaving')).status !== 401);
        yield Buffer.from(halves[1] ?? '');
      }
      const answer = await fetch(`${gateway().url}${path}`, {
        method: 'POST',
        headers: {
          'x-api-key': key,
          'x-request-id': `left ${path}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: body(),
        duplex: 'half',
      });
      expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('invalid_api_key')]);
      expect(await query(`select from request_logs where request_id = 'left ${path}'`)).toEqual([]);
    },
  );
});

describe('the body of an admin call without a session', () => {
  it('is not read: the 401 is sent at once, and the connection is closed', async () => {
    const socket = rawSocket(gateway().url);
    sockets.push(socket);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => void (text += piece.toString()));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write(
      'PUT /api/v1/admin/spend/budgets/users/x HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n' +
        `content-length: 1000000000\r\n\r\n${'x'.repeat(100_000)}`,
    );
    await eventually(() => (text.includes('session_required') ? true : undefined));
    // What is sent after that fills at most the socket buffers of both sides.
    let taken = 0;
    const piece = Buffer.alloc(64 * 1024);
    for (let n = 0; n < 1000; n += 1)
      socket.write(piece, (error) => {
        if (error === null || error === undefined) taken += piece.length;
      });
    await ended;
    expect(text).toMatch(/^HTTP\/1\.1 401 /);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(taken).toBeLessThan(32 * 1024 * 1024);
  });
});
