import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { adminEndpoint } from '../../interfaces/http/admin/admin-endpoint.ts';
import { loginBodies } from '../../interfaces/http/admin/login-bodies.ts';
import { sessionRoutes } from '../../interfaces/http/admin/session-routes.ts';
import { bodyPace } from '../../interfaces/http/body-pace.ts';
import { adminGates } from '../../interfaces/http/gates.ts';
import { openContext } from '../../interfaces/http/request-context.ts';
import { rawExchange, rawSocket } from '../e2e/raw-http.ts';
import { eventually } from '../e2e/traces.ts';

const places = 8;
const withinMs = 6000;
const bodies = loginBodies({ places, withinMs });
const limits = { maxInFlight: 4, maxInFlightPerOwner: 2, maxBufferedBytes: 1e6 };
const gates = adminGates(limits, bodies);
const person = { userId: 'id', email: 'a@example.com', name: 'A', role: 'platform_admin' as const };
const current = { person, expiresAt: 0, hasPassword: true };

const ports = {
  gates,
  pace: bodyPace(),
  clock: { now: () => 0, newId: () => 'generated' },
  publicBaseUrl: () => undefined,
  trustedProxies: () => ['127.0.0.1'],
  currentSession: async () => E.right(current),
  bearerOf: async () => E.left({ code: 'invalid_credentials' as const, message: '' }),
  onEnded: () => undefined,
  isDatabaseTrouble: () => false,
  logIn: async () => E.right({ ...current, token: 'token' }),
  logOut: async () => 'id',
  endSessionUrl: async () => undefined,
  tokenMaxMs: () => undefined,
};
const [login, , session] = sessionRoutes(ports).map((route) => adminEndpoint(ports, route));

const server = createServer((req, res) => {
  const context = openContext(req, res, 0, () => 'generated');
  void (req.method === 'GET' ? session : login)?.(context, {});
});
let url = '';
const sockets: Socket[] = [];

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  for (const socket of sockets) socket.destroy();
  server.close();
});

/**
 * Sends the head of a login and half of its body; returns what was received, and whether the connection has
 * ended.
 */
function halfALogin(address: string) {
  const socket = rawSocket(url);
  sockets.push(socket);
  const heard = { text: '', ended: false };
  socket.on('error', () => undefined);
  socket.on('data', (piece: Buffer) => void (heard.text += piece.toString()));
  socket.on('close', () => (heard.ended = true));
  socket.write(
    `POST /login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-forwarded-for: ${address}\r\n` +
      'content-length: 100\r\n\r\n{"email":"a@ex',
  );
  return heard;
}

const wholeLogin = (address: string) =>
  rawExchange(url, {
    path: '/login',
    headers: [
      ['content-type', 'application/json'],
      ['x-forwarded-for', address],
    ],
    body: '{"email":"a@example.com","password":"x"}',
  });

describe('half-sent logins', () => {
  it('do not delay complete logins and calls with a session, and are ended', async () => {
    const waiting = halfALogin('203.0.113.1');
    await eventually(() => (bodies.waiting() === 1 ? true : undefined));
    const flood = Array.from({ length: 40 }, (_, n) => halfALogin(`198.51.${n % 2}.${n}`));
    await eventually(() =>
      flood.filter(({ text }) => text.includes('503')).length === 41 - places ? true : undefined,
    );
    expect(bodies.waiting()).toBe(places);
    expect(gates.calls.inFlight()).toBe(0);
    // The network with one place keeps it; those of the other networks that came first are ended.
    expect(waiting.text).toBe('');
    expect(flood.slice(0, 41 - places).every(({ text }) => text.includes('overloaded'))).toBe(true);
    for (const address of ['203.0.113.2', '198.51.0.1', '198.51.100.7'])
      expect((await wholeLogin(address)).status).toBe(200);
    expect((await rawExchange(url, { method: 'GET', path: '/session' })).status).toBe(200);

    await eventually(() => ([waiting, ...flood].every(({ ended }) => ended) ? true : undefined), 30_000);
    expect(waiting.text).toMatch(/^HTTP\/1\.1 400 [^]*connection: close[^]*arrived too slowly/i);
    expect([bodies.waiting(), gates.logins.inFlight()]).toEqual([0, 0]);
  });

  it('hold nothing after the caller has disconnected', async () => {
    halfALogin('203.0.113.1');
    await eventually(() => (bodies.waiting() === 1 ? true : undefined));
    sockets.at(-1)?.destroy();
    await eventually(() => (bodies.waiting() === 0 && gates.logins.inFlight() === 0 ? true : undefined));
    await sleep(0);
  });

  it.each(['length', 'chunked'] as const)(
    'with more than 8 KiB are rejected with 413 (%s)',
    async (framing) => {
      const answer = await rawExchange(url, {
        path: '/login',
        headers: [['content-type', 'application/json']],
        body: `{"email":"a@example.com","password":"${'x'.repeat(8 * 1024)}"}`,
        framing,
      });
      expect([answer.status, answer.headers['connection']]).toEqual([413, 'close']);
      expect(answer.body).toContain('larger than 8192 bytes');
    },
  );
});
