import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { createAdmin } from '../../application/admin/create-admin.ts';
import { argon2Passwords } from '../../infrastructure/passwords.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import { adminsStore } from '../../infrastructure/postgres/session-store.ts';
import { withClock } from '../contract/ledger-bench.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type RawAnswer, rawExchange } from './raw-http.ts';

export const start = Date.UTC(2026, 0, 1);
export const minute = 60_000;
export const hour = 60 * minute;

export const key = aKey();
export const email = 'Root@Example.com';
export const password = 'correct horse battery canary';

export const config = (server: object) =>
  basicConfig('http://127.0.0.1:1/v1', key, {
    more: { server: { bind: '127.0.0.1:0', ...server } },
  });

export interface Call {
  readonly method?: string;
  readonly cookie?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

export async function call(
  url: string,
  at: string,
  { method = 'GET', cookie, headers = {}, body }: Call = {},
) {
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

export const codeOf = ({ json }: Awaited<ReturnType<typeof call>>) => json['error']?.['code'];

export const logIn = (
  at: TestGateway,
  over: Record<string, unknown> = {},
  headers: Record<string, string> = {},
) => call(at.url, '/api/v1/auth/login', { method: 'POST', headers, body: { email, password, ...over } });

/** The cookie as a browser sends it back. */
export const cookieOf = (answer: RawAnswer): string =>
  (answer.headers['set-cookie'] ?? '').split(';')[0] ?? '';

export const session = (at: TestGateway, cookie?: string) => call(at.url, '/api/v1/auth/session', { cookie });

export const logOut = (at: TestGateway, cookie?: string) =>
  call(at.url, '/api/v1/auth/logout', {
    method: 'POST',
    cookie,
    headers: { 'sec-fetch-site': 'same-origin' },
  });

/** Two replicas behind a trusted https proxy on this machine, and one gateway that is reached by plain http. */
export function adminSessionScene() {
  const database = withDatabase();
  const query = queries(database.url);
  const clock = withClock(query);
  let pool: ServicePool;
  let replicas: readonly TestGateway[] = [];
  let plain: TestGateway;
  const gateways = () => [...replicas, plain];

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

  async function aSession(at = replicas[0]!): Promise<string> {
    const answer = await logIn(at);
    expect(answer.status).toBe(200);
    return cookieOf(answer);
  }

  return {
    query,
    clock,
    databaseUrl: database.url,
    pool: () => pool,
    replicas: () => replicas,
    plain: () => plain,
    gateways,
    setPassword,
    aSession,
  };
}
