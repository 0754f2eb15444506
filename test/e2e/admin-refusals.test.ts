import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { secretDigest } from '../../infrastructure/key-secrets.ts';
import type { AdminRoute } from '../../interfaces/http/admin/admin-route.ts';
import { declaredRoutes } from '../support/openapi/description.ts';
import { adminObjectsScene, dataOf } from './admin-objects-scene.ts';

const { admin, replicas, query } = adminObjectsScene();
const routes = declaredRoutes;
let read = '';
let write = '';
let expired = '';
let plain = '';

async function aSession(userId: string, isOver: boolean): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await query(
    `insert into admin_sessions (token_sha256, user_id, created_at, last_seen_at, expires_at)
     select $1, $2, t, t, t + interval '1 hour' from (select now() - $3::interval as t) times`,
    [secretDigest(token), userId, isOver ? '2 hours' : '1 minute'],
  );
  return `gateway_session=${token}`;
}

beforeAll(async () => {
  const token = async (scope: string) =>
    String(dataOf(await admin('POST', '/api/v1/admin/tokens', { name: 't', scope }))['token']);
  read = await token('read');
  write = await token('write');
  const [root] = await query<{ user_id: string }>(
    `select user_id from users where email = 'root@example.com'`,
  );
  const [user] = await query<{ user_id: string }>(`select user_id from users where email = 'a@example.com'`);
  expired = await aSession(root?.user_id ?? '', true);
  plain = await aSession(user?.user_id ?? '', false);
});
const someId = '00000000-0000-4000-8000-000000000000';
const pathOf = ({ path }: AdminRoute): string => path.replaceAll(/:\w+/g, someId);

async function refusal(route: AdminRoute, headers: Readonly<Record<string, string>>): Promise<string> {
  const answer = await fetch(`${replicas[0]!.url}${pathOf(route)}`, {
    method: route.method,
    headers: { ...headers, ...(route.body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(route.body === undefined ? {} : { body: '{}' }),
  });
  const { error } = (await answer.json()) as { error?: { code?: string } };
  return `${answer.status} ${error?.code ?? ''}`.trim();
}

/** The distinct answers of all routes called with these headers. */
const refusals = async (
  headers: Readonly<Record<string, string>>,
  which: (route: AdminRoute) => boolean = () => true,
): Promise<readonly string[]> => {
  const asked = routes.filter(which);
  expect(asked.length).toBeGreaterThan(0);
  return [...new Set(await Promise.all(asked.map((route) => refusal(route, headers))))];
};

const sameSite = { 'sec-fetch-site': 'same-origin' };

describe('every admin route refuses', () => {
  it('a call without a session', async () => {
    expect(await refusals({})).toEqual(['401 session_required']);
  });

  it('a call with an expired session', async () => {
    expect(await refusals({ cookie: expired, ...sameSite })).toEqual(['401 session_required']);
  });

  it('a user who is no platform admin', async () => {
    expect(await refusals({ cookie: plain, ...sameSite })).toEqual(['403 admin_required']);
  });

  it('an unknown token', async () => {
    expect(await refusals({ authorization: `Bearer gwa_${'0'.repeat(32)}.${'0'.repeat(64)}` })).toEqual([
      '401 invalid_credentials',
    ]);
  });

  it('a read token, if the route changes something', async () => {
    expect(await refusals({ authorization: `Bearer ${read}` }, ({ isRead }) => !isRead)).toEqual([
      '403 admin_required',
    ]);
  });

  it('any token, if the route needs a session', async () => {
    expect(
      await refusals({ authorization: `Bearer ${write}` }, ({ sessionOnly }) => sessionOnly === true),
    ).toEqual(['403 admin_required']);
  });

  it('another origin, if the method is not GET', async () => {
    const changing = ({ method }: AdminRoute): boolean => method !== 'GET';
    for (const headers of [
      { cookie: plain, origin: 'https://elsewhere.example' },
      { cookie: plain, 'sec-fetch-site': 'cross-site' },
      { cookie: plain },
    ])
      expect(await refusals(headers, changing)).toEqual(['403 cross_origin']);
  });

  it('no read token, if the route changes nothing', async () => {
    const found = await refusals(
      { authorization: `Bearer ${read}` },
      ({ isRead, sessionOnly, method }) => isRead && sessionOnly !== true && method === 'GET',
    );
    expect(found.filter((each) => !/^(200|400 invalid_request|404 not_found)$/.test(each))).toEqual([]);
  });
});

describe('random bodies', () => {
  /** Known members of the route with nearly valid values, and any other JSON. */
  const bodiesOf = (route: AdminRoute) => {
    const near = fc.oneof(
      fc.constantFrom<unknown>(
        'user',
        'team',
        'platform',
        'fast',
        '',
        'x',
        'read',
        'write',
        null,
        true,
        false,
        0,
        -1,
      ),
      fc.constantFrom<unknown>(
        'a\0b',
        '\ud800',
        someId,
        'a@example.com',
        [],
        ['fast'],
        [null],
        {},
        'x'.repeat(3000),
      ),
      fc.constantFrom<unknown>(
        '2030-01-01T00:00:00Z',
        '0000-01-01T00:00:00Z',
        '9999-12-31T23:59:59Z',
        604_800,
      ),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.integer(),
      fc.double(),
      fc.jsonValue(),
    );
    const names = Object.keys(route.body?.members ?? {});
    const known = names.length === 0 ? fc.constant('x') : fc.constantFrom(...names);
    return fc.oneof(
      {
        weight: 8,
        arbitrary: fc.dictionary(known, near, { maxKeys: names.length + 1, noNullPrototype: true }),
      },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
  };

  it('are answered by every route with 200, 400, 404 or 409, and a 400 names the field', async () => {
    const asked = routes.filter(({ body }) => body !== undefined);
    expect(asked.length).toBeGreaterThan(8);
    for (const route of asked) {
      const bodies = fc.sample(bodiesOf(route), { numRuns: 200, seed: 17 });
      for (let at = 0; at < bodies.length; at += 20)
        await Promise.all(
          bodies.slice(at, at + 20).map(async (body) => {
            const path = route.path
              .replace(':team_id', 'platform')
              .replace(':service_account_id', 'ci')
              .replaceAll(/:\w+/g, someId);
            const answer = await admin(route.method, path, JSON.stringify(body));
            if (![200, 400, 404, 409].includes(answer.status))
              throw new Error(`${route.method} ${path} ${JSON.stringify(body)}: ${answer.text}`);
            if (answer.status === 400) expect(typeof answer.error?.param).toBe('string');
          }),
        );
    }
  });
});
