import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { adminRoute } from '../../interfaces/http/admin/admin-route.ts';
import { textValue } from '../../interfaces/http/admin/answers.ts';
import type { DatabasePool } from 'slonik';
import { stringify } from 'yaml';
import { createAdmin } from '../../application/admin/create-admin.ts';
import { buildContainer, tokens } from '../../composition/container.ts';
import { liveConfig } from '../../infrastructure/config/live-config.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { maxErrorMessageChars } from '../../domain/shared/limits.ts';
import { argon2Passwords } from '../../infrastructure/passwords.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { adminsStore } from '../../infrastructure/postgres/session-store.ts';
import { bundledCatalogue } from '../../infrastructure/pricing/bundled.ts';
import { telemetryTo } from '../../infrastructure/telemetry/request-telemetry.ts';
import { withClock } from '../contract/ledger-bench.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, memoryLog, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { beginExchange, type RawAnswer, rawExchange } from './raw-http.ts';
import { eventually } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const hour = 60 * minute;

const key = aKey();
const email = 'Root@Example.com';
const password = 'correct horse battery canary';
let pool: DatabasePool;
/** Two replicas that people reach under https, and one by plain http. All trust the proxy on this machine. */
let replicas: readonly TestGateway[] = [];
let plain: TestGateway;
const gateways = () => [...replicas, plain];

const config = (server: object) =>
  basicConfig('http://127.0.0.1:1/v1', key, {
    more: { server: { bind: '127.0.0.1:0', ...server } },
  });

beforeAll(async () => {
  pool = await openPool(database.url(), 4);
  const behindProxy = { public_base_url: 'https://Gateway.Example.com/', trusted_proxies: ['127.0.0.1'] };
  replicas = [
    await startGateway(config(behindProxy), database.url()),
    await startGateway(config(behindProxy), database.url()),
  ];
  plain = await startGateway(config({}), database.url());
  await setPassword(email);
});
afterAll(async () => {
  await Promise.all(gateways().map((gateway) => gateway.stop()));
  await pool.end();
});
beforeEach(async () => {
  await clock.standAt(new Date(start));
  await query('delete from login_attempts');
});

async function setPassword(email: string): Promise<void> {
  const create = createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() });
  expect(await create({ email, password })).toEqual(E.right(undefined));
}

interface Call {
  readonly method?: string;
  readonly cookie?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

async function call(url: string, at: string, { method = 'GET', cookie, headers = {}, body }: Call = {}) {
  const text = typeof body === 'object' ? JSON.stringify(body) : body;
  const answer = await rawExchange(url, {
    method,
    path: at,
    headers: Object.entries({
      ...(cookie === undefined ? {} : { cookie }),
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }),
    framing: text === undefined ? 'none' : 'length',
    ...(text === undefined ? {} : { body: text }),
  });
  return { ...answer, json: JSON.parse(answer.body) as Record<string, Record<string, unknown>> };
}

const codeOf = ({ json }: Awaited<ReturnType<typeof call>>) => json['error']?.['code'];

const logIn = (at: TestGateway, over: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  call(at.url, '/api/v1/auth/login', { method: 'POST', headers, body: { email, password, ...over } });

/** The cookie as a browser sends it back. */
const cookieOf = (answer: RawAnswer): string => (answer.headers['set-cookie'] ?? '').split(';')[0] ?? '';

async function aSession(at: TestGateway = replicas[0]!): Promise<string> {
  const answer = await logIn(at);
  expect(answer.status).toBe(200);
  return cookieOf(answer);
}

const session = (at: TestGateway, cookie?: string) => call(at.url, '/api/v1/auth/session', { cookie });

const logOut = (at: TestGateway, cookie?: string) =>
  call(at.url, '/api/v1/auth/logout', {
    method: 'POST',
    cookie,
    headers: { 'sec-fetch-site': 'same-origin' },
  });

describe('logging in', () => {
  it('answers with the session, in a cookie that scripts cannot read and other sites cannot post', async () => {
    const answer = await logIn(replicas[0]!, { email: 'root@example.COM' });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      data: {
        user_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        email,
        name: email,
        role: 'platform_admin',
        expires_at: new Date(start + 12 * hour).toISOString(),
      },
      meta: { generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) },
    });
    expect(answer.headers['set-cookie']).toMatch(
      /^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    expect((await session(replicas[1]!, cookieOf(answer))).json).toMatchObject({ data: answer.json['data'] });
  });

  it('the cookie is not Secure where people come by plain http', async () => {
    const answer = await logIn(plain);
    expect(answer.headers['set-cookie']).toMatch(
      /^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect((await logOut(plain, cookieOf(answer))).headers['set-cookie']).toBe(
      'gateway_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    );
  });

  it('each login has a token of its own', async () => {
    const cookies = [await aSession(), await aSession()];
    expect(new Set(cookies).size).toBe(2);
    for (const cookie of cookies) expect((await session(plain, cookie)).status).toBe(200);
  });

  it('unknown account, no password, inactive and wrong password are told apart by nothing', async () => {
    await query("insert into users (email, name, active) values ('gone@example.com', 'G', true)");
    await setPassword('gone@example.com');
    await query("update users set active = false where email = 'gone@example.com'");
    const answers = [
      await logIn(plain, { password: `${password}!` }),
      await logIn(plain, { email: 'nobody@example.com' }),
      await logIn(plain, { email: 'a@example.com' }),
      await logIn(plain, { email: 'gone@example.com' }),
      await logIn(plain, { email: 'no address at all' }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(401);
      expect(answer.json).toEqual({
        error: {
          message: expect.any(String),
          type: 'authentication_error',
          param: null,
          code: 'invalid_credentials',
        },
      });
      expect(answer.body).toBe(answers[0]?.body);
      const { date: _, 'x-request-id': __, 'request-id': ___, ...rest } = answer.headers;
      const { date: ____, 'x-request-id': _____, 'request-id': ______, ...first } = answers[0]!.headers;
      expect(rest).toEqual(first);
    }
  });

  it('an unknown account takes as long as a wrong password', async () => {
    const took: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] };
    const time = async (which: 'known' | 'unknown', as: string) => {
      await query('delete from login_attempts');
      const startedAt = performance.now();
      expect((await logIn(plain, { email: as, password: 'wrong' })).status).toBe(401);
      took[which].push(performance.now() - startedAt);
    };
    for (let n = 0; n < 9; n += 1) {
      await time('known', email);
      await time('unknown', `nobody-${n}@example.com`);
    }
    const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[4]!;
    expect(median(took.unknown)).toBeGreaterThan(median(took.known) / 2);
    expect(median(took.unknown)).toBeLessThan(median(took.known) * 2);
  });

  it.each<readonly [string, unknown, string, number]>([
    ['no password', { email }, 'password', 400],
    ['an empty password', { email, password: '' }, 'password', 400],
    ['a password that is a number', { email, password: 123 }, 'password', 400],
    ['a password of more than 1024 bytes', { email, password: 'é'.repeat(513) }, 'password', 400],
    ['no e-mail', { password }, 'email', 400],
    ['an e-mail that is null', { email: null, password }, 'email', 400],
    ['an e-mail that no table can hold', { email: 'a\0@example.com', password }, 'email', 400],
    ['half a character', { email: '\ud800@example.com', password }, 'email', 400],
    ['an e-mail of 255 characters', { email: `${'a'.repeat(243)}@example.com`, password }, 'email', 400],
    ['a misspelt member', { email, password, remenber: true }, 'remenber', 400],
    ['a repeated member', `{"email":"a","email":"b","password":"c"}`, 'email', 400],
    ['a list', [email, password], 'body', 400],
    ['no JSON', `{"email":`, 'body', 400],
    ['a megabyte', { email, password: 'x'.repeat(1024 * 1024) }, null as unknown as string, 413],
  ])('%s is refused by name, and counts as no try', async (_what, body, param, status) => {
    const answer = await call(plain.url, '/api/v1/auth/login', { method: 'POST', body: body as object });
    expect({ status: answer.status, param: answer.json['error']?.['param'] }).toEqual({ status, param });
    expect(answer.body).not.toContain('canary');
    expect(await query('select from login_attempts')).toEqual([]);
  });

  it('without a body the e-mail is asked for, and a form is no JSON', async () => {
    const empty = await call(plain.url, '/api/v1/auth/login', { method: 'POST' });
    expect(empty.json).toMatchObject({ error: { code: 'invalid_request', param: 'email' } });
    const form = await call(plain.url, '/api/v1/auth/login', {
      method: 'POST',
      body: `email=${email}&password=x`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form.json).toMatchObject({ error: { code: 'invalid_request', param: 'content-type' } });
  });
});

describe('what is logged of a login', () => {
  const lineOf = async (gateway: TestGateway, answer: RawAnswer) => {
    const found = () =>
      gateway.log.lines.filter(({ fields }) => fields['request_id'] === answer.headers['x-request-id']);
    while (found().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const [line, ...more] = found();
    expect(more).toEqual([]);
    expect(JSON.stringify(gateway.log.lines)).not.toMatch(/canary|hunter2/);
    return { message: line?.message, ...line?.fields } as Record<string, unknown>;
  };

  it('one line for each outcome: address, e-mail and status, never the password', async () => {
    const shared = { message: 'login', method: 'POST', route: '/api/v1/auth/login', address: '203.0.113.9' };
    const from = { 'x-forwarded-for': '203.0.113.9' };
    const [gateway] = replicas;
    const good = await logIn(gateway!, {}, from);
    const userId = good.json['data']?.['user_id'];
    expect(await lineOf(gateway!, good)).toMatchObject({
      ...shared,
      outcome: 'succeeded',
      status: 200,
      user_id: userId,
      email,
    });
    const wrong = await logIn(gateway!, { password: 'hunter2 hunter2' }, from);
    expect(await lineOf(gateway!, wrong)).toMatchObject({
      ...shared,
      outcome: 'failed',
      status: 401,
      error_code: 'invalid_credentials',
      user_id: undefined,
      email,
    });
    const foreign = await logIn(gateway!, {}, { ...from, origin: 'https://evil.example.com' });
    expect(await lineOf(gateway!, foreign)).toMatchObject({
      ...shared,
      outcome: 'refused',
      status: 403,
      error_code: 'cross_origin',
      email: undefined,
    });
    let last = wrong;
    for (let tries = 0; last.status !== 429; tries += 1) {
      expect(tries).toBeLessThan(12);
      last = await logIn(gateway!, { password: 'hunter2 hunter2' }, from);
    }
    expect(await lineOf(gateway!, last)).toMatchObject({
      ...shared,
      outcome: 'throttled',
      status: 429,
      error_code: 'too_many_attempts',
      email,
    });
  });

  it('an e-mail address is bounded and escaped; what is none, or is the password, is left out', async () => {
    const odd = `\u001b[2J\u202e\n${'x'.repeat(200)}@example.com`;
    for (const [typed, said] of [
      [odd, undefined],
      [`\u009b\u202e\n@example.com`, '\\u{9b}\\u{202e}\\u{a}@example.com'],
      ['correct horse battery canary', undefined],
      ['hunter2@example.com', undefined],
    ] as const) {
      const answer = await logIn(plain, { email: typed, password: 'hunter2@example.com' });
      const { email: logged } = await lineOf(plain, answer);
      if (typed !== odd) expect(logged).toBe(said);
      else expect(logged).toMatch(/^\\u\{1b\}\[2J\\u\{202e\}\\u\{a\}x{120,128}$/);
    }
  });

  it('other calls are told of with whose session it is', async () => {
    const cookie = await aSession(plain);
    const seen = await session(plain, cookie);
    const out = await logOut(plain, cookie);
    const after = await session(plain, cookie);
    const by = { user_id: seen.json['data']?.['user_id'], address: '127.0.0.1' };
    expect(await lineOf(plain, seen)).toMatchObject({
      message: 'admin call',
      method: 'GET',
      route: '/api/v1/auth/session',
      status: 200,
      ...by,
    });
    expect(await lineOf(plain, out)).toMatchObject({ route: '/api/v1/auth/logout', status: 200, ...by });
    expect(await lineOf(plain, after)).toMatchObject({ status: 401, user_id: undefined });
  });
});

describe('a session', () => {
  it('is required', async () => {
    const nobody = [
      undefined,
      '',
      'gateway_session=',
      `gateway_session=${'A'.repeat(43)}`,
      'gateway_session=x',
    ];
    for (const cookie of nobody) {
      const answer = await session(plain, cookie);
      expect([answer.status, codeOf(answer), answer.headers['cache-control']]).toEqual([
        401,
        'session_required',
        'no-store',
      ]);
    }
  });

  it('an API key is none', async () => {
    const answer = await call(plain.url, '/api/v1/auth/session', { headers: { 'x-api-key': key } });
    expect(codeOf(answer)).toBe('session_required');
  });

  it('lasts 12 hours from its last call', async () => {
    const cookie = await aSession();
    await clock.standAt(new Date(start + 12 * hour - 1));
    const seen = await session(replicas[1]!, cookie);
    expect(seen.json['data']?.['expires_at']).toBe(new Date(start + 24 * hour - 1).toISOString());
    await clock.standAt(new Date(start + 24 * hour - 2));
    expect((await session(replicas[0]!, cookie)).status).toBe(200);
    await clock.standAt(new Date(start + 36 * hour));
    expect(codeOf(await session(replicas[0]!, cookie))).toBe('session_required');
  });

  it('ends 7 days after the login, however often it is used', async () => {
    const cookie = await aSession();
    for (let at = 11; at < 7 * 24; at += 11) {
      await clock.standAt(new Date(start + at * hour));
      expect((await session(replicas[0]!, cookie)).status).toBe(200);
    }
    await clock.standAt(new Date(start + 7 * 24 * hour - 1));
    const last = await session(replicas[0]!, cookie);
    expect(last.json['data']?.['expires_at']).toBe(new Date(start + 7 * 24 * hour).toISOString());
    await clock.standAt(new Date(start + 7 * 24 * hour));
    expect(codeOf(await session(replicas[0]!, cookie))).toBe('session_required');
  });

  it('is written at most once a minute', async () => {
    await query('delete from admin_sessions');
    const cookie = await aSession();
    const lastSeen = async () =>
      (await query<{ at: Date }>('select max(last_seen_at) as at from admin_sessions'))[0]?.at.getTime();
    await clock.standAt(new Date(start + minute - 1));
    await session(replicas[0]!, cookie);
    expect(await lastSeen()).toBe(start);
    await clock.standAt(new Date(start + minute));
    await session(replicas[0]!, cookie);
    expect(await lastSeen()).toBe(start + minute);
  });

  it('logging out ends it at once on every replica, and only it', async () => {
    const [cookie, other] = [await aSession(replicas[0]), await aSession(replicas[0])];
    expect((await session(replicas[1]!, cookie)).status).toBe(200);
    const out = await logOut(replicas[0]!, cookie);
    expect([out.status, out.json['data']]).toEqual([200, { logged_out: true }]);
    expect(out.headers['set-cookie']).toBe(
      'gateway_session=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
    );
    for (const gateway of gateways()) {
      expect(codeOf(await session(gateway, cookie))).toBe('session_required');
      expect((await session(gateway, other)).status).toBe(200);
    }
    expect((await logOut(replicas[1]!, cookie)).json['data']).toEqual({ logged_out: false });
  });

  it('ends with a new password, on every replica', async () => {
    const cookie = await aSession();
    await setPassword(email);
    for (const gateway of gateways()) expect(codeOf(await session(gateway, cookie))).toBe('session_required');
    expect((await session(plain, await aSession())).status).toBe(200);
  });

  it('shows the person as it is at this request', async () => {
    const cookie = await aSession();
    const person = (over: string) => query(`update users set ${over} where email = $1`, [email]);
    await person("role = 'user', name = 'Somebody'");
    expect((await session(plain, cookie)).json).toMatchObject({ data: { role: 'user', name: 'Somebody' } });
    await person('active = false');
    expect(codeOf(await session(plain, cookie))).toBe('session_required');
    await person(`active = true, role = 'platform_admin', name = email`);
    expect((await session(plain, cookie)).json).toMatchObject({ data: { role: 'platform_admin' } });
  });
});

describe('paths of the admin API', () => {
  it('unknown ones are 404 and known ones asked in another way 405, in the OpenAI envelope', async () => {
    const headers = { 'anthropic-version': '2023-06-01' };
    const unknown = await call(plain.url, '/api/v1/auth/nothing', { headers });
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not_found']);
    const get = await call(plain.url, '/api/v1/auth/login', { headers });
    expect([get.status, codeOf(get), get.headers['allow']]).toEqual([405, 'method_not_allowed', 'POST']);
    const put = await call(plain.url, '/api/v1/auth/session', { method: 'DELETE', headers });
    expect([put.status, codeOf(put), put.headers['allow']]).toEqual([405, 'method_not_allowed', 'HEAD, GET']);
  });
});

/** Servers of the whole application, but with two admin endpoints of the test's own. */
describe('an admin endpoint in the application', () => {
  const servers: Server[] = [];
  const log = memoryLog();
  /** A token of the configuration, a caller's key, the query of a URL. */
  const secrets = ['upstream-token-0123456789', aKey(), 'https://host/path?signature=hunter2'];
  let url = '';

  beforeAll(async () => {
    const variables = { DATABASE_URL: database.url() };
    const loaded = parseConfig(
      stringify(config({ public_base_url: 'https://gateway.example.com' })),
      variables,
    );
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const container = buildContainer({
      config: liveConfig(path.join('nowhere', 'gateway.yaml'), variables, loaded.right, bundledCatalogue()),
      pool,
      log,
      telemetry: telemetryTo({ log: () => undefined }),
      notReady: async () => undefined,
      draining: () => false,
    });
    const declared = { summary: 'A probe.', answer: textValue };
    const answers = { ...declared, path: '/api/v1/admin/probe/:id', handle: async () => E.right('in') };
    const breaks = {
      ...declared,
      path: '/api/v1/admin/breaks',
      handle: async () => {
        throw new TypeError(`secrets: ${secrets.join(' ')} ${'x'.repeat(10_000)}`);
      },
    };
    container
      .rebind(tokens.adminRoutes)
      .toConstantValue([
        adminRoute({ method: 'GET', ...answers }),
        adminRoute({ method: 'PUT', ...answers }),
        adminRoute({ method: 'GET', ...breaks }),
      ]);
    const handle = container.get(tokens.app).callback();
    const server = createServer((req, res) => void handle(req, res));
    servers.push(server.listen(0, '127.0.0.1'));
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => servers.forEach((server) => server.close()));

  const probe = (options: Call) => call(url, '/api/v1/admin/probe/1', options);

  it('admits platform admins only; a change of role takes effect at the next request', async () => {
    const cookie = await aSession();
    const codes = async () => [
      codeOf(await probe({ cookie })),
      codeOf(await probe({ cookie, method: 'PUT', headers: { 'sec-fetch-site': 'same-origin' } })),
    ];
    expect(codeOf(await probe({}))).toBe('session_required');
    expect(await codes()).toEqual([undefined, undefined]);
    await query("update users set role = 'user' where email = $1", [email]);
    expect(await codes()).toEqual(['admin_required', 'admin_required']);
    expect((await probe({ cookie })).status).toBe(403);
    await query("update users set role = 'platform_admin' where email = $1", [email]);
    expect(await codes()).toEqual([undefined, undefined]);
  });

  it.each(['POST', 'PUT', 'GET'])('a call from another site is refused: %s', async (method) => {
    const cookie = await aSession();
    const at = method === 'POST' ? '/api/v1/auth/logout' : '/api/v1/admin/probe/1';
    const own = 'https://gateway.example.com';
    for (const site of [undefined, 'same-origin', 'same-site', 'cross-site', 'none'])
      for (const origin of [undefined, own, 'https://evil.example', 'http://gateway.example.com', 'null'])
        for (const sent of [undefined, cookie, 'other=1']) {
          const admitted =
            method === 'GET' ||
            (site !== undefined
              ? site === 'same-origin'
              : origin !== undefined
                ? origin === own
                : sent === undefined);
          const headers = {
            ...(site === undefined ? {} : { 'sec-fetch-site': site }),
            ...(origin === undefined ? {} : { origin }),
          };
          const answer = await call(url, at, { method, cookie: sent, headers });
          const said = { site, origin, sent, refused: codeOf(answer) === 'cross_origin' };
          expect(said).toEqual({ site, origin, sent, refused: !admitted });
          if (!admitted) expect(answer.status).toBe(403);
        }
  });

  it('a refused call has changed nothing', async () => {
    const cookie = await aSession();
    const out = await call(url, '/api/v1/auth/logout', {
      method: 'POST',
      cookie,
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect([out.status, out.headers['set-cookie']]).toEqual([403, undefined]);
    expect((await session(plain, cookie)).status).toBe(200);
  });

  it('a defect is a 500 that shows nothing of the inside', async () => {
    const cookie = await aSession();
    const answer = await call(url, '/api/v1/admin/breaks', { cookie });
    expect([answer.status, codeOf(answer)]).toEqual([500, 'internal_error']);
    expect(answer.body).not.toContain('secret');
  });

  it('a defect is in the log with its message, bounded and without what is known to be secret', async () => {
    await call(url, '/api/v1/admin/breaks', { cookie: await aSession() });
    const fields = log.lines.find(({ message }) => message === 'defect')?.fields ?? {};
    expect(fields).toMatchObject({
      error: 'TypeError',
      message: expect.stringMatching(/^secrets: \S+ \S+ https:\/\/host\/path/),
      stack: expect.stringContaining('at '),
    });
    expect(String(fields['message']).length).toBeLessThanOrEqual(maxErrorMessageChars);
    for (const secret of [...secrets, 'hunter2']) expect(JSON.stringify(log.lines)).not.toContain(secret);
  });
});

describe('the origin of a login', () => {
  it('without public_base_url it is that of Host', async () => {
    const { host } = new URL(plain.url);
    const from = (headers: Record<string, string>) => logIn(plain, {}, headers);
    // The test's client sends `host: 127.0.0.1`, without the port.
    expect((await from({ origin: 'http://127.0.0.1' })).status).toBe(200);
    for (const origin of [`http://${host}`, 'https://127.0.0.1', 'http://localhost', 'null'])
      expect(codeOf(await from({ origin }))).toBe('cross_origin');
    expect(codeOf(await from({ 'sec-fetch-site': 'cross-site' }))).toBe('cross_origin');
    expect(await query('select from login_attempts')).toEqual([]);
  });

  it('with it, that one alone', async () => {
    expect((await logIn(replicas[0]!, {}, { origin: 'https://gateway.example.com' })).status).toBe(200);
    expect(codeOf(await logIn(replicas[0]!, {}, { origin: 'http://127.0.0.1' }))).toBe('cross_origin');
  });
});

describe('guessing passwords', () => {
  const from = (address: string) => ({ 'x-forwarded-for': address });
  const guess = (at: TestGateway, address: string, over = {}) =>
    logIn(at, { password: 'wrong', ...over }, from(address));

  /** As many tries as if they had been made. */
  const tried = (email: string, address: string, attempts: number) =>
    query(
      `insert into login_attempts values (sha256(convert_to(lower($1), 'UTF8')), $2, $3, gateway_now())`,
      [email, address, attempts],
    );

  it('is 429 too_many_attempts per account and address, on all replicas, until Retry-After has passed', async () => {
    for (const replica of replicas) expect((await guess(replica, '198.51.100.1')).status).toBe(401);
    await query('update login_attempts set attempts = attempts + 8');
    await clock.standAt(new Date(start + 5 * minute));
    for (const over of [{}, { password }, { email: 'ROOT@example.com' }])
      for (const replica of replicas) {
        const refused = await guess(replica, '198.51.100.1', over);
        expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([
          429,
          'too_many_attempts',
          '600',
        ]);
        expect(refused.json['error']).toMatchObject({ type: 'rate_limit_error', param: null });
        expect(refused.headers['set-cookie']).toBeUndefined();
      }

    const startedAt = performance.now();
    expect((await logIn(replicas[0]!, {}, from('203.0.113.9'))).status).toBe(200);
    const delayed = performance.now() - startedAt;
    expect(delayed).toBeGreaterThan(1900);
    expect(delayed).toBeLessThan(8000);
    expect((await guess(replicas[0]!, '198.51.100.1', { email: 'other@example.com' })).status).toBe(401);

    await clock.standAt(new Date(start + 15 * minute));
    expect((await logIn(replicas[1]!, {}, from('198.51.100.1'))).status).toBe(200);
    expect(await guess(replicas[1]!, '198.51.100.1')).toMatchObject({ status: 401 });
    expect(await query('select attempts from login_attempts where attempts > 1')).toEqual([]);
  });

  it('an unknown account is throttled in the same way', async () => {
    await tried('nobody@example.com', '198.51.100.2', 9);
    const over = { email: 'nobody@example.com' };
    const answers = [];
    for (let n = 0; n < 2; n += 1) answers.push(await guess(replicas[0]!, '198.51.100.2', over));
    expect(answers.map(({ status }) => status)).toEqual([401, 429]);
  });

  it('all at once is no way round: ten are tried, whatever replica they are sent to', async () => {
    const at = (n: number) => guess(replicas[n % 2]!, '198.51.100.3', { email: `many@example.com` });
    const answers = await Promise.all(Array.from({ length: 24 }, (_, n) => at(n)));
    const by = (status: number) => answers.filter((answer) => answer.status === status).length;
    expect({ tried: by(401), refused: by(429) }).toEqual({ tried: 10, refused: 14 });
  });

  it('an address is not to be chosen by the caller', async () => {
    await tried('nobody@example.com', '127.0.0.1', 10);
    await tried('nobody@example.com', '198.51.100.4', 10);
    const over = { email: 'nobody@example.com' };
    expect((await guess(plain, '203.0.113.77', over)).status).toBe(429);
    expect((await guess(replicas[0]!, '203.0.113.77, 198.51.100.4', over)).status).toBe(429);
    expect((await guess(replicas[0]!, '198.51.100.4, 203.0.113.77', over)).status).toBe(401);
  });

  it('200 guessers on 50 networks lock nobody out: from elsewhere the admin is in within seconds', async () => {
    const body = JSON.stringify({ email, password: 'wrong' });
    const guessers = Array.from({ length: 200 }, (_, n) =>
      beginExchange(replicas[0]!.url, {
        path: '/api/v1/auth/login',
        headers: [
          ['content-type', 'application/json'],
          ['x-forwarded-for', `198.51.${n % 50}.${n}`],
        ],
        body,
      }),
    );
    await eventually(async () =>
      (await query('select from login_attempts')).length > 50 ? true : undefined,
    );
    const startedAt = performance.now();
    expect((await logIn(replicas[0]!, {}, from('203.0.113.10'))).status).toBe(200);
    // 2 s of throttle; the rest is what a busy machine takes for a few hashes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    for (const guesser of guessers) guesser.destroy();
  });

  it('logins with the right password at once all succeed', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => logIn(replicas[0]!, {}, from('198.51.100.5'))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 16 }, () => 200));
  });
});

describe('what is kept', () => {
  it('no password and no token is in a table or in a log', async () => {
    const cookie = await aSession();
    const token = cookie.replace('gateway_session=', '');
    await logIn(plain, { password: `${password}-wrong` });
    await logIn(plain, { email: `${password}-as-email`, password: 'x' });
    const dump = await query(
      `select row_to_json(t)::text as text from admin_sessions t
       union all select row_to_json(t)::text from user_passwords t
       union all select row_to_json(t)::text from login_attempts t
       union all select row_to_json(t)::text from users t`,
    );
    const kept = JSON.stringify([dump, gateways().map(({ log }) => log.lines)]);
    expect(kept).toContain('$argon2id$v=19$m=19456,t=2,p=1$');
    for (const secret of [token, password, Buffer.from(token, 'base64url').toString('hex')])
      expect(kept).not.toContain(secret);
  });
});
