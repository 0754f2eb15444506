import { createHash, randomBytes } from 'node:crypto';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type DatabasePool, sql } from 'slonik';
import type { AdminSessions, LoginAttempts } from '../../application/ports/admin-access.ts';
import { newSession } from '../../domain/identity/admin-session.ts';
import { AnswerTimeout, isDatabaseTrouble } from '../../infrastructure/postgres/database-fault.ts';
import { ownAccessStore } from '../../infrastructure/postgres/own-access-store.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { seedStore } from '../../infrastructure/postgres/seed-store.ts';
import {
  adminsStore,
  loginAttemptsStore,
  sessionStore,
} from '../../infrastructure/postgres/session-store.ts';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';
import { holder, untilWaiting, withClock } from './ledger-bench.ts';
import { tcpProxy } from './tcp-proxy.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const start = Date.UTC(2026, 0, 1);
const minute = 60_000;

let pools: readonly DatabasePool[] = [];
let sessions: AdminSessions;
let attempts: LoginAttempts;

beforeAll(async () => {
  pools = [await openPool(database.url(), 8), await openPool(database.url(), 8)];
  sessions = sessionStore(pools[0]!);
  attempts = loginAttemptsStore(pools[0]!);
});
afterAll(async () => {
  for (const pool of pools) await pool.end();
});
beforeEach(() => clock.standAt(new Date(start)));

const admins = () => adminsStore(pools[1]!);
const digest = (): Uint8Array => randomBytes(32);
const hashOf = (name: string): string => `$argon2id$${name}`;

let people = 0;
async function anAdmin() {
  people += 1;
  const email = `admin-${people}@example.com`;
  await admins().set(email, hashOf('first'));
  const person = await sessions.personOf(email);
  if (person === undefined) throw new Error('nobody');
  return person;
}

const count = async (table: string): Promise<number> =>
  Number((await query<{ n: string }>(`select count(*) as n from ${table}`))[0]?.n);

describe('an admin', () => {
  it('is created with the e-mail address as name, and is found in any letter case', async () => {
    await admins().set('Root@Example.com', hashOf('a'));
    expect(await sessions.personOf('rOOT@example.COM')).toEqual({
      userId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      email: 'root@example.com',
      name: 'Root@Example.com',
      role: 'platform_admin',
      passwordHash: hashOf('a'),
    });
  });

  it('can be an existing user: the name stays, role and password are replaced', async () => {
    await query("insert into users (email, name, active) values ('There@example.com', 'T', false)");
    expect(await sessions.personOf('there@example.com')).toBeUndefined();
    await admins().set('there@example.com', hashOf('a'));
    await admins().set('there@example.com', hashOf('b'));
    expect(await sessions.personOf('there@example.com')).toMatchObject({
      email: 'There@example.com',
      name: 'T',
      role: 'platform_admin',
      passwordHash: hashOf('b'),
    });
  });

  it('is not stored with a password hash of another kind', async () => {
    await expect(admins().set('plain@example.com', 'correct horse')).rejects.toThrow();
    expect(await query("select from users where email = 'plain@example.com'")).toEqual([]);
  });

  it('can be set while a seed is in progress, and neither fails', async () => {
    const people = [{ email: 'seeded@example.com', name: 'S', role: 'platform_admin' as const }];
    const seed = {
      teams: [{ id: 't', name: 'T', budget: undefined }],
      users: people.map((each) => ({
        ...each,
        requestLoggingEnabled: true,
        membership: undefined,
        budget: undefined,
      })),
      serviceAccounts: [],
      providers: [],
      models: [],
      apiKeys: [],
      mailReady: false,
    };
    for (let round = 0; round < 5; round += 1) {
      await query(`update teams set name = 'other ${round}'`);
      await Promise.all([
        seedStore(pools[0]!).reconcile(seed),
        admins().set('seeded@example.com', hashOf(`${round}`)),
      ]);
    }
    expect(await sessions.personOf('seeded@example.com')).toMatchObject({
      name: 'S',
      role: 'platform_admin',
    });
  });
});

describe('the first admin', () => {
  it('is created by one of many replicas, and only if no active platform admin has a password', async () => {
    await query('delete from admin_sessions; delete from user_passwords; delete from users');
    await query("insert into users (email, name, role) values ('listed@example.com', 'L', 'platform_admin')");
    expect(await admins().exist()).toBe(false);
    const made = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        adminsStore(pools[n % 2]!).setFirst(`first-${n}@example.com`, hashOf(`${n}`)),
      ),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(await count('user_passwords')).toBe(1);
    expect(await admins().exist()).toBe(true);
    expect(await admins().setFirst('late@example.com', hashOf('late'))).toBe(false);
    expect(await query("select from users where email = 'late@example.com'")).toEqual([]);

    await query("update users set role = 'user' where email like 'first-%'");
    expect(await admins().exist()).toBe(false);
    await query("update users set role = 'platform_admin', active = false where email like 'first-%'");
    expect(await admins().exist()).toBe(false);
  });
});

describe('a session', () => {
  it("is opened, found on every replica with the person's current data, and ended", async () => {
    const person = await anAdmin();
    const token = digest();
    expect(await sessions.open(token, person, newSession)).toEqual(newSession(start));
    await clock.standAt(new Date(start + minute));
    const elsewhere = sessionStore(pools[1]!);
    const { passwordHash: _, ...shown } = person;
    expect(await elsewhere.find(token)).toEqual({
      session: newSession(start),
      person: shown,
      signedInBy: 'password',
      hasPassword: true,
      hasSecondFactor: false,
      now: start + minute,
    });
    await query(`update users set role = 'user', name = 'N' where user_id = $1`, [person.userId]);
    expect(await elsewhere.find(token)).toMatchObject({ person: { role: 'user', name: 'N' } });
    await query('update users set active = false where user_id = $1', [person.userId]);
    expect(await elsewhere.find(token)).toBeUndefined();
    expect(await elsewhere.end(token)).toBe(person.userId);
    expect(await sessions.end(token)).toBeUndefined();
    expect(await sessions.find(token)).toBeUndefined();
  });

  it('is stored without its token', async () => {
    const person = await anAdmin();
    const token = randomBytes(32);
    await sessions.open(createHash('sha256').update(token).digest(), person, newSession);
    const [dump] = await query<{ all: string }>('select json_agg(s)::text as all from admin_sessions s');
    expect(dump?.all).not.toContain(token.toString('hex'));
  });

  it('moves its end forward when its use is noted, never back, and never reopens', async () => {
    const person = await anAdmin();
    const token = digest();
    await sessions.open(token, person, newSession);
    const later = { createdAt: start, lastSeenAt: start + 5 * minute, expiresAt: start + 900 * minute };
    await sessions.note(token, later);
    expect(await sessions.find(token)).toMatchObject({ session: later });
    await sessions.note(token, newSession(start));
    expect(await sessions.find(token)).toMatchObject({ session: later });
    await sessions.end(token);
    await sessions.note(token, later);
    expect(await sessions.find(token)).toBeUndefined();
  });

  it('is ended by a new password of its person; sessions of others stay', async () => {
    const person = await anAdmin();
    const other = await anAdmin();
    const [token, others] = [digest(), digest()];
    await sessions.open(token, person, newSession);
    await sessions.open(others, other, newSession);
    await admins().set(person.email, hashOf('second'));
    expect(await sessions.find(token)).toBeUndefined();
    expect(await sessions.find(others)).toBeDefined();
    expect(await sessions.open(digest(), person, newSession)).toBeUndefined();
  });

  it('never outlives the password that opened it, in any order of the two changes', async () => {
    for (let round = 0; round < 20; round += 1) {
      const person = await anAdmin();
      const tokens = Array.from({ length: 4 }, digest);
      await Promise.all([
        ...tokens.map((token) => sessions.open(token, person, newSession)),
        admins().set(person.email, hashOf('second')),
      ]);
      for (const token of tokens) expect(await sessions.find(token)).toBeUndefined();
    }
  });

  it('does not outlive the enrolment of a second factor, also if both happen at the same moment', async () => {
    const person = await anAdmin();
    const own = ownAccessStore(pools[0]!);
    const change = { person, tokenSha256: digest(), address: '198.51.100.1' };
    const sealedSecret = digest();
    expect(await own.beginFactor(change, sealedSecret)).toBe(true);
    const login = await holder(database.url());
    await login.query('select from user_passwords where user_id = $1 for share', [person.userId]);
    const token = digest();
    await login.query(
      `insert into admin_sessions (token_sha256, user_id, created_at, last_seen_at, expires_at, signed_in_by)
       values ($1, $2, gateway_now(), gateway_now(), gateway_now() + interval '1 hour', 'password')`,
      [token, person.userId],
    );
    const confirmed = own.confirmFactor(change, { sealedSecret, lastUsedStep: 1 }, []);
    await untilWaiting(query, 1, 'transactionid');
    await login.commit();
    expect(await confirmed).toBe(true);
    expect(await sessions.find(token)).toBeUndefined();
  });

  it('is deleted once it has expired, and a person has at most 100', async () => {
    const person = await anAdmin();
    const first = digest();
    await sessions.open(first, person, newSession);
    const over = await count('admin_sessions');
    await clock.standAt(new Date(start + 13 * 60 * minute));
    for (let n = 0; n < 110; n += 1) {
      await clock.standAt(new Date(start + 13 * 60 * minute + n));
      await sessions.open(digest(), person, newSession);
    }
    expect(over).toBeGreaterThan(1);
    expect(await count('admin_sessions')).toBe(100);
    const [oldest] = await query<{ at: Date }>('select min(created_at) as at from admin_sessions');
    expect(oldest?.at).toEqual(new Date(start + 13 * 60 * minute + 10));
  });
});

describe('login attempts', () => {
  beforeEach(() => query('delete from login_attempts'));

  it('are counted per account and address, and per account', async () => {
    const elsewhere = loginAttemptsStore(pools[1]!);
    expect(await attempts.begin('a@example.com', '198.51.100.1')).toEqual({
      here: 1,
      anywhere: 1,
      firstHereAt: start,
      now: start,
    });
    await clock.standAt(new Date(start + minute));
    expect(await elsewhere.begin('A@Example.COM', '198.51.100.1')).toEqual({
      here: 2,
      anywhere: 2,
      firstHereAt: start,
      now: start + minute,
    });
    expect(await elsewhere.begin('a@example.com', '203.0.113.1')).toMatchObject({ here: 1, anywhere: 3 });
    expect(await elsewhere.begin('b@example.com', '198.51.100.1')).toMatchObject({ here: 1, anywhere: 1 });
  });

  it('are forgotten 15 minutes after the first, and after a correct password', async () => {
    for (let n = 0; n < 4; n += 1) await attempts.begin('a@example.com', '198.51.100.1');
    await clock.standAt(new Date(start + 15 * minute - 1));
    expect(await attempts.begin('a@example.com', '198.51.100.1')).toMatchObject({ here: 5 });
    await clock.standAt(new Date(start + 15 * minute));
    expect(await attempts.begin('a@example.com', '203.0.113.1')).toMatchObject({ here: 1, anywhere: 1 });
    expect(await attempts.begin('a@example.com', '198.51.100.1')).toMatchObject({
      here: 1,
      firstHereAt: start + 15 * minute,
    });
    await attempts.forget('A@example.com', '198.51.100.1');
    expect(await attempts.begin('a@example.com', '198.51.100.1')).toMatchObject({ here: 1, anywhere: 2 });
  });

  it('of a clock that ran ahead are forgotten once it is corrected, but not those of half a minute ahead', async () => {
    const tries = async (at: number): Promise<number> => {
      await clock.standAt(new Date(at));
      return (await attempts.begin('a@example.com', '198.51.100.1')).here;
    };
    expect([await tries(start + 365 * 24 * 60 * minute), await tries(start)]).toEqual([1, 1]);
    expect([await tries(start + minute / 2), await tries(start)]).toEqual([2, 3]);
  });

  it('made concurrently are each counted once, on any replica', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(2), { minLength: 1, maxLength: 16 }), async (addresses) => {
        await query('delete from login_attempts');
        const tries = await Promise.all(
          addresses.map((address, n) =>
            loginAttemptsStore(pools[n % 2]!).begin('a@example.com', `198.51.100.${address}`),
          ),
        );
        for (const address of new Set(addresses)) {
          const here = tries.filter((_, n) => addresses[n] === address).map(({ here }) => here);
          expect(here.toSorted((a, b) => a - b)).toEqual(here.map((_, n) => n + 1));
        }
      }),
      { numRuns: 20 },
    );
  });

  it('are stored without the typed e-mail address, and old rows are deleted', async () => {
    for (let n = 0; n < 20; n += 1) await attempts.begin(`my secret ${n}`, '198.51.100.1');
    const [dump] = await query<{ all: string }>('select json_agg(l)::text as all from login_attempts l');
    expect(dump?.all).not.toContain('secret');
    await clock.standAt(new Date(start + 16 * minute));
    await attempts.begin('a@example.com', '198.51.100.1');
    expect(await count('login_attempts')).toBe(1);
  });
});

describe('database trouble', () => {
  it('is distinguished from wrong statements and from defects', async () => {
    const proxy = await tcpProxy();
    const pool = await openPool(proxy.to(database.url()), 1);
    const store = sessionStore(pool);
    expect(await store.find(digest())).toBeUndefined();
    const failureOf = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (error: unknown) => error,
      );
    expect(isDatabaseTrouble(await failureOf(pool.query(sql.unsafe`select 1 / 0`)))).toBe(false);
    expect(isDatabaseTrouble(await failureOf(pool.query(sql.unsafe`select 'x'::uuid`)))).toBe(false);
    expect(isDatabaseTrouble(await failureOf(pool.one(sql.unsafe`select where false`)))).toBe(false);
    expect(isDatabaseTrouble(new TypeError('x'))).toBe(false);
    await pool.query(sql.unsafe`set statement_timeout = 1000`);
    expect(isDatabaseTrouble(await failureOf(pool.query(sql.unsafe`select pg_sleep(5)`)))).toBe(true);
    const ended = failureOf(pool.query(sql.unsafe`set statement_timeout = 0; select pg_sleep(30)`));
    await connected(database.url(), async (client) => {
      for (let hit = 0; hit === 0; ) {
        const { rowCount } = await client.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where query like '%pg_sleep(30)%' and state = 'active' and pid <> pg_backend_pid()`,
        );
        hit = rowCount ?? 0;
      }
    });
    expect(isDatabaseTrouble(await ended)).toBe(true);
    await proxy.refuse();
    expect(isDatabaseTrouble(await failureOf(store.find(digest())))).toBe(true);
    await pool.end();
    await proxy.close();
  });

  it.each([
    ['closes', (socket: Socket) => socket.destroy()],
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
  ])('includes a server that accepts a connection and %s it', async (_, end) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      setTimeout(() => end(socket), 20);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = new URL(database.url());
    url.port = String((server.address() as AddressInfo).port);
    const error: unknown = await openPool(url.href, 1)
      .then((pool) => sessionStore(pool).find(digest()))
      .catch((refusal: unknown) => refusal);
    server.close();
    expect(isDatabaseTrouble(error)).toBe(true);
  });

  it.each([
    ...['ECONNRESET', 'EPIPE', 'ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'].map(
      (code) => Object.assign(new Error(`read ${code}`), { code }),
    ),
    Object.assign(new Error('write after end'), { code: 'ERR_STREAM_DESTROYED' }),
    new Error('Connection terminated unexpectedly'),
    new Error('timeout expired'),
    new Error('Client has encountered a connection error and is not queryable'),
  ])('includes %p, by itself and as the cause of another error', (error) => {
    expect(isDatabaseTrouble(error)).toBe(true);
    expect(isDatabaseTrouble(new Error('wrapped', { cause: error }))).toBe(true);
    expect(isDatabaseTrouble(new AggregateError([new Error('first'), error]))).toBe(true);
  });

  it('includes an answer that did not arrive in time', () => {
    expect(isDatabaseTrouble(new AnswerTimeout('late'))).toBe(true);
  });

  it.each([
    new Error('Cannot use released connection'),
    Object.assign(new Error('no such file'), { code: 'ENOENT' }),
    Object.assign(new Error('x', { cause: Object.assign(new Error('y'), { code: '23505' }) }), {}),
    'a text',
    undefined,
  ])('does not include %p', (error) => {
    expect(isDatabaseTrouble(error)).toBe(false);
  });
});
