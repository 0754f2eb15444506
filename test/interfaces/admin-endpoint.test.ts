import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import type { EndedAdminCall } from '../../application/ports/admin-access.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { Json } from '../../domain/shared/json.ts';
import { adminEndpoint, forAdmins } from '../../interfaces/http/admin/admin-endpoint.ts';
import { type AdminCall, conflictWith } from '../../interfaces/http/admin/admin-route.ts';
import { bodyPace } from '../../interfaces/http/body-pace.ts';
import { adminGates } from '../../interfaces/http/gates.ts';
import { openContext } from '../../interfaces/http/request-context.ts';
import { rawExchange } from '../e2e/raw-http.ts';

const root = 't'.repeat(42) + 'r';
const user = 't'.repeat(42) + 'u';
const now = Date.UTC(2026, 0, 1);
const gates = adminGates({ maxInFlight: 4, maxInFlightPerOwner: 2, maxBufferedBytes: 4 * 1024 * 1024 });

const refused = (code: GatewayError['code']) => E.left({ code, message: code });

/** The calls that reached the route, and the route's next handler. */
const calls: AdminCall[] = [];
let handle: (call: AdminCall) => Promise<E.Either<GatewayError, Json>> = async () => E.right(null);
class DatabaseAway extends Error {}
let defect: unknown;

/** The reports of ended calls. */
const told: EndedAdminCall[] = [];

const person = (userId: string, role: 'user' | 'platform_admin') =>
  E.right({ person: { userId, email: 'a@example.com', name: 'A', role }, expiresAt: now, hasPassword: true });

const ports = {
  gates,
  pace: bodyPace(),
  clock: { now: () => now, newId: () => 'generated' },
  publicBaseUrl: () => undefined,
  trustedProxies: () => ['127.0.0.1'],
  onEnded: (call: EndedAdminCall) => void told.push(call),
  currentSession: async (token: string | undefined) => {
    if (token === user) return person('plain', 'user');
    return token === root ? person('id', 'platform_admin') : refused('session_required');
  },
  bearerOf: async () => refused('invalid_credentials'),
  isDatabaseTrouble: (error: unknown) => error instanceof DatabaseAway,
};

const server = createServer((req, res) => {
  const route = forAdmins(ports)({
    method: req.method as 'POST',
    path: '/thing/:id',
    isRead: req.method === 'GET',
    handle: (call) => {
      calls.push(call);
      return handle(call);
    },
  });
  const context = openContext(req, res, now, () => 'generated');
  const id = decodeURIComponent((req.url ?? '').replace(/\?.*/, '').slice(1));
  adminEndpoint(ports, route)(context, { id }).catch((error: unknown) => {
    defect = error;
    res.destroy();
  });
});
let url = '';

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly token?: string;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Buffer;
  readonly framing?: 'length' | 'chunked' | 'none';
  readonly site?: string;
}

const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 2));
};

async function ask(asked: Asked = {}) {
  const { method = 'PUT', path = '/x', token = root, headers = [], body, framing, site } = asked;
  calls.length = 0;
  told.length = 0;
  const answer = await rawExchange(url, {
    method,
    path,
    headers: [['cookie', `gateway_session=${token}`], ['sec-fetch-site', site ?? 'same-origin'], ...headers],
    ...(body === undefined ? {} : { body }),
    framing: framing ?? (body === undefined ? 'none' : 'length'),
  });
  return { ...answer, json: JSON.parse(answer.body) as Record<string, never> };
}

const json = [['content-type', 'application/json']] as const;

describe('an admin endpoint', () => {
  it('answers 200 with `data` and `meta`, and with `cache-control: no-store`', async () => {
    handle = async () => E.right({ a: [1, null] });
    const answer = await ask({ method: 'GET' });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      data: { a: [1, null] },
      meta: { generated_at: '2026-01-01T00:00:00.000Z' },
    });
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'generated',
    });
  });

  it('passes admin, path parameters, query and body to the route', async () => {
    await ask({ path: '/a%2Fb?days=7&days=8', headers: json, body: '{"n":1.50}' });
    expect(calls).toEqual([
      {
        admin: { userId: 'id', email: 'a@example.com', address: '127.0.0.1' },
        params: { id: 'a/b' },
        query: expect.any(URLSearchParams),
        body: { n: 1.5 },
      },
    ]);
    expect(calls[0]?.query.getAll('days')).toEqual(['7', '8']);
  });

  it.each([
    ['a call without a session', '', 401, 'session_required', 'authentication_error'],
    [
      'a call with two session cookies',
      `${root}; gateway_session=${root}`,
      401,
      'session_required',
      'authentication_error',
    ],
    ['a malformed token', `${root}x`, 401, 'session_required', 'authentication_error'],
    ['a user who is not an admin', user, 403, 'admin_required', 'permission_error'],
  ])('rejects %s before it reads the body', async (_who, token, status, code, type) => {
    const answer = await ask({ token, body: '{"not": json', headers: json });
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ error: { message: expect.any(String), type, param: null, code } });
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(calls).toEqual([]);
  });

  it('ignores other cookies', async () => {
    expect((await ask({ method: 'GET', token: `${root}; a=b; gateway_session_2=x; =;` })).status).toBe(200);
  });

  it.each<readonly [string, Asked, number, string, string | null]>([
    [
      'another content type',
      { headers: [['content-type', 'text/plain']], body: '{}' },
      400,
      'invalid_request',
      'content-type',
    ],
    [
      'a form',
      { headers: [['content-type', 'application/x-www-form-urlencoded']], body: 'a=b' },
      400,
      'invalid_request',
      'content-type',
    ],
    [
      'a vendor’s JSON',
      { headers: [['content-type', 'application/x+json']], body: '{}' },
      400,
      'invalid_request',
      'content-type',
    ],
    ['no content type', { body: '{}' }, 400, 'invalid_request', 'content-type'],
    ['no JSON', { headers: json, body: '{' }, 400, 'invalid_request', 'body'],
    ['no object', { headers: json, body: '[1]' }, 400, 'invalid_request', 'body'],
    ['not UTF-8', { headers: json, body: Buffer.from([0x7b, 0xff, 0x7d]) }, 400, 'invalid_request', 'body'],
    ['a key twice', { headers: json, body: '{"a":1,"\\u0061":2}' }, 400, 'invalid_request', 'a'],
    [
      'nested too deep',
      { headers: json, body: `{"a":${'['.repeat(300)}${']'.repeat(300)}}` },
      400,
      'invalid_request',
      'body',
    ],
    [
      'a mebibyte and more',
      { headers: json, body: `{"a":"${'x'.repeat(1024 * 1024)}"}` },
      413,
      'request_too_large',
      null,
    ],
    [
      'the same in chunks',
      { headers: json, body: `{"a":"${'x'.repeat(1024 * 1024)}"}`, framing: 'chunked' },
      413,
      'request_too_large',
      null,
    ],
    [
      'compressed',
      { headers: [...json, ['content-encoding', 'gzip']], body: '{}' },
      400,
      'invalid_request',
      'content-encoding',
    ],
  ])('rejects a body: %s', async (_what, asked, status, code, param) => {
    const answer = await ask(asked);
    expect({ status: answer.status, error: answer.json['error'] }).toMatchObject({
      status,
      error: { code, param },
    });
    expect(calls).toEqual([]);
  });

  it.each<readonly [string, Asked]>([
    ['without one', {}],
    ['with an empty one', { body: '' }],
    ['with an empty one in chunks', { body: '', framing: 'chunked', headers: json }],
  ])('passes no body for a state-changing call %s', async (_how, asked) => {
    expect((await ask({ ...asked, method: 'DELETE' })).status).toBe(200);
    expect(calls[0]?.body).toBeUndefined();
  });

  it('answers 404 to a path with a NUL character', async () => {
    expect((await ask({ path: '/a%00b' })).json).toMatchObject({ error: { code: 'not_found' } });
    expect(calls).toEqual([]);
  });

  it('answers an error of a route with its status, headers and parameter', async () => {
    handle = async () =>
      E.left({ code: 'conflict', message: 'There is one.', param: 'name', retryAfterSecs: 3 });
    const answer = await ask();
    expect([answer.status, answer.headers['retry-after']]).toEqual([409, '3']);
    expect(answer.json).toEqual({
      error: { message: 'There is one.', type: 'invalid_request_error', param: 'name', code: 'conflict' },
    });
  });

  it('answers a conflict with the present state beside the error, and with the headers of any error', async () => {
    handle = async () => E.left(conflictWith({ id: 'x', version: 7 }));
    const answer = await ask();
    expect(answer.status).toBe(409);
    expect(answer.json).toMatchObject({ error: { code: 'conflict' }, data: { id: 'x', version: 7 } });
    expect(answer.headers).toMatchObject({
      'x-gateway-error': 'conflict',
      'x-should-retry': 'false',
      'x-request-id': 'generated',
    });
  });

  it('answers 503 `store_unavailable` with Retry-After while the database is unreachable', async () => {
    handle = async () => {
      throw new DatabaseAway('at 10.0.0.1');
    };
    const answer = await ask();
    expect([answer.status, answer.headers['retry-after']]).toEqual([503, '5']);
    expect(answer.body).not.toContain('10.0.0.1');
  });

  it('passes any other exception on as a defect', async () => {
    handle = async () => {
      throw new TypeError('inside');
    };
    await expect(ask()).rejects.toThrow();
    expect(defect).toEqual(new TypeError('inside'));
    handle = async () => E.right(null);
    expect((await ask()).status).toBe(200);
  });

  it.each<readonly [string, Asked, Partial<EndedAdminCall>]>([
    ['that worked', {}, { status: 200, errorCode: undefined, userId: 'id' }],
    ['without a session', { token: '' }, { status: 401, errorCode: 'session_required', userId: undefined }],
    [
      'of a user who is not an admin',
      { token: user },
      { status: 403, errorCode: 'admin_required', userId: 'plain' },
    ],
    [
      'from another site',
      { headers: [['origin', 'https://evil.example.com']], site: 'cross-site' },
      { status: 403, errorCode: 'cross_origin', userId: undefined },
    ],
    [
      'with a bad body',
      { headers: json, body: '{' },
      { status: 400, errorCode: 'invalid_request', userId: 'id' },
    ],
    [
      'through a trusted proxy',
      { headers: [['x-forwarded-for', '6.6.6.6, 203.0.113.7']] },
      { status: 200, address: '203.0.113.7' },
    ],
  ])(
    'reports a call %s once, with method, route pattern, status, user and address',
    async (_which, asked, tells) => {
      handle = async () => E.right(null);
      const { body: _body, ...answer } = await ask({ path: '/secret', ...asked });
      await until(() => told.length > 0);
      expect(told).toEqual([
        {
          requestId: 'generated',
          method: 'PUT',
          route: '/thing/:id',
          isLogin: false,
          address: '127.0.0.1',
          latencyMs: 0,
          email: undefined,
          userId: 'id',
          errorCode: undefined,
          ...tells,
        },
      ]);
      expect(told[0]?.status).toBe(answer.status);
    },
  );

  it('reports a call that a defect ended without an answer as `internal_error`', async () => {
    handle = async () => {
      throw new TypeError('inside');
    };
    await expect(ask()).rejects.toThrow();
    await until(() => told.length > 0);
    expect(told).toMatchObject([{ status: 499, errorCode: 'internal_error', userId: 'id' }]);
    handle = async () => E.right(null);
  });

  it('counts a call as in flight until its answer is sent; a network at its share gets 503 `overloaded`', async () => {
    const held: (() => void)[] = [];
    handle = () => new Promise((resolve) => held.push(() => resolve(E.right(null))));
    const both = [ask(), ask()];
    while (held.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(gates.calls.inFlight()).toBe(2);
    expect((await ask()).json).toMatchObject({ error: { code: 'overloaded' } });
    expect((await ask({ headers: [['x-forwarded-for', '127.0.0.99']] })).json).toMatchObject({
      error: { code: 'overloaded' },
    });
    expect((await ask({ token: '', headers: [['x-forwarded-for', '198.51.100.1']] })).status).toBe(401);
    for (const end of held) end();
    for (const answer of both) expect((await answer).status).toBe(200);
    while (gates.calls.inFlight() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    handle = async () => E.right(null);
    expect((await ask()).status).toBe(200);
  });

  it('counts a call until its answer has been read, and a refused one only until it is answered', async () => {
    handle = async () => E.right('x'.repeat(16 * 1024 * 1024));
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    const head = (token: string): string =>
      `GET /x HTTP/1.1\r\nhost: a\r\ncookie: gateway_session=${token}\r\n\r\n`;
    socket.write(head(root));
    await until(() => gates.calls.inFlight() === 1);
    const arrived = once(server, 'request');
    socket.write(head(''));
    await arrived;
    await until(() => gates.calls.inFlight() === 1);
    socket.destroy();
    await until(() => gates.calls.inFlight() === 0);
    handle = async () => E.right(null);
  });
});
