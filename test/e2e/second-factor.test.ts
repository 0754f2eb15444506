import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { Secret, TOTP } from 'otpauth';
import type { DatabasePool } from 'slonik';
import { createAdmin } from '../../application/admin/create-admin.ts';
import { argon2Passwords } from '../../infrastructure/passwords.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { adminsStore } from '../../infrastructure/postgres/session-store.ts';
import { withClock } from '../contract/ledger-bench.ts';
import { withDatabase } from '../support/database.ts';
import { queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { type Answered, Browser, signInConfig } from './sign-in-scene.ts';

const database = withDatabase();
const query = queries(database.url);
const clock = withClock(query);
const start = Date.UTC(2026, 0, 1);
const step = 30_000;
const minute = 60_000;

const password = 'correct horse battery canary';
const login = '/api/v1/auth/login';
const factor = '/api/v1/auth/second-factor';
const reports = '/api/v1/admin/spend/report';
let pool: DatabasePool;
let gateway: TestGateway;
let demanding: TestGateway;
let people = 0;
let now = start;

beforeAll(async () => {
  pool = await openPool(database.url(), 2);
  gateway = await startGateway(signInConfig({}), database.url());
  demanding = await startGateway(signInConfig({ require_second_factor: true }), database.url());
});
afterAll(async () => {
  await Promise.all([gateway.stop(), demanding.stop()]);
  await pool.end();
});
beforeEach(async () => {
  await at(start);
  await query('delete from login_attempts');
});

async function at(ms: number): Promise<void> {
  now = ms;
  await clock.standAt(new Date(ms));
}

async function setPassword(email: string): Promise<void> {
  const create = createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() });
  expect(await create({ email, password })).toEqual(E.right(undefined));
}

const codeOf = (secret: string, ms = now): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: ms });

const refusal = ({ status, error }: Answered) => [status, error['code']];

interface Admin {
  readonly email: string;
  readonly browser: Browser;
}

async function anAdmin(where = gateway): Promise<Admin> {
  people += 1;
  const email = `admin-${people}@example.com`;
  await setPassword(email);
  const browser = new Browser(where.url, '203.0.113.1');
  expect((await browser.post(login, { email, password })).status).toBe(200);
  return { email, browser };
}

/** Enrols at `start`, with the code of that step. */
async function enrolled(where = gateway) {
  const { email, browser } = await anAdmin(where);
  const begun = await browser.post(factor, { password });
  const secret = String(begun.data['secret']);
  const confirmed = await browser.post(`${factor}/confirm`, { password, code: codeOf(secret) });
  expect(confirmed.status).toBe(200);
  const recovery = confirmed.data['recovery_codes'] as string[];
  const tries = (over: object, address = '203.0.113.1') =>
    new Browser(where.url, address).post(login, { email, password, ...over });
  return { email, browser, secret, recovery, tries };
}

describe('enrolling', () => {
  it('returns the secret and its link once, requires a code of it, and returns ten recovery codes once', async () => {
    const { email, browser } = await anAdmin();
    const begun = await browser.post(factor, { password });
    const secret = String(begun.data['secret']);
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    const uri = new URL(String(begun.data['otpauth_uri']));
    expect([uri.protocol, uri.searchParams.get('secret')]).toEqual(['otpauth:', secret]);
    expect(decodeURIComponent(uri.pathname)).toContain(email);

    expect((await browser.go(factor)).data).toEqual({ state: 'none' });
    expect(refusal(await browser.post(`${factor}/confirm`, { password, code: '000000' }))).toEqual([
      401,
      'invalid_credentials',
    ]);
    const confirmed = await browser.post(`${factor}/confirm`, { password, code: codeOf(secret) });
    const codes = confirmed.data['recovery_codes'] as string[];
    expect(new Set(codes).size).toBe(10);
    for (const code of codes) expect(code).toMatch(/^[a-z2-7]{4}(-[a-z2-7]{4}){3}$/);
    expect((await browser.go(factor)).data).toEqual({ state: 'enrolled' });

    const stored = JSON.stringify(
      await query(
        'select f.*, c.code_sha256 from user_second_factors f join user_recovery_codes c using (user_id)',
      ),
    );
    for (const each of [secret, Buffer.from(Secret.fromBase32(secret).buffer).toString('hex'), ...codes])
      expect(stored).not.toContain(each);
    const events = await query(
      `select e.action, e.after_json from admin_events e join users u on u.user_id::text = e.target_id
       where u.email = $1 and e.actor_user_id = u.user_id`,
      [email],
    );
    expect(events).toEqual([{ action: 'second_factor.enrol', after_json: { second_factor: true } }]);
  });

  it('requires a session and the password, again for its confirmation, which is refused before a start', async () => {
    const { browser } = await anAdmin();
    expect(refusal(await new Browser(gateway.url).post(factor, { password }))).toEqual([
      401,
      'session_required',
    ]);
    expect(refusal(await browser.post(factor, { password: 'another passphrase' }))).toEqual([
      401,
      'invalid_credentials',
    ]);
    expect(refusal(await browser.post(factor))).toEqual([400, 'invalid_request']);
    const confirm = async (body: object) => refusal(await browser.post(`${factor}/confirm`, body));
    expect(await confirm({ password, code: '123456' })).toEqual([409, 'conflict']);
    const begun = await browser.post(factor, { password });
    const code = codeOf(String(begun.data['secret']));
    expect(await confirm({ code })).toEqual([400, 'invalid_request']);
    expect(await confirm({ password: 'another passphrase', code })).toEqual([401, 'invalid_credentials']);
    expect((await browser.go(factor)).data).toEqual({ state: 'none' });
    expect((await browser.post(`${factor}/confirm`, { password, code })).status).toBe(200);
  });

  it('ends the other sessions of the user, which had no second factor', async () => {
    const { email, browser } = await anAdmin();
    const other = new Browser(gateway.url);
    await other.post(login, { email, password });
    const begun = await browser.post(factor, { password });
    await browser.post(`${factor}/confirm`, { password, code: codeOf(String(begun.data['secret'])) });
    expect((await other.session()).status).toBe(401);
    expect((await browser.session()).status).toBe(200);
  });

  it('a second time is a conflict until the first factor is removed, which requires a code', async () => {
    const { browser, secret } = await enrolled();
    expect(refusal(await browser.post(factor, { password }))).toEqual([409, 'conflict']);
    await at(start + step);
    expect(refusal(await browser.post(factor, { password, code: '000000' }, 'DELETE'))).toEqual([
      401,
      'invalid_credentials',
    ]);
    const removed = await browser.post(factor, { password, code: codeOf(secret) }, 'DELETE');
    expect(removed.data).toEqual({ removed: true });
    expect((await browser.post(factor, { password })).status).toBe(200);
    expect(refusal(await browser.post(factor, { password, code: codeOf(secret) }, 'DELETE'))).toEqual([
      404,
      'not_found',
    ]);
  });
});

describe('logging in with a second factor', () => {
  it('requires a code and the password, and without a code fails with `second_factor_required`', async () => {
    const { secret, tries } = await enrolled();
    await at(start + step);
    expect(refusal(await tries({}))).toEqual([401, 'second_factor_required']);
    expect(refusal(await tries({ password: 'another passphrase' }))).toEqual([401, 'invalid_credentials']);
    expect((await tries({ code: codeOf(secret) })).status).toBe(200);
  });

  it('accepts each code once, also for two logins at the same time', async () => {
    const { secret, tries } = await enrolled();
    expect(refusal(await tries({ code: codeOf(secret) }))).toEqual([401, 'invalid_credentials']);
    await at(start + step);
    const both = await Promise.all(
      ['203.0.113.2', '203.0.113.3'].map((from) => tries({ code: codeOf(secret) }, from)),
    );
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
    expect((await tries({ code: codeOf(secret) })).status).toBe(401);
  });

  it.each([
    [-2, 401],
    [-1, 200],
    [0, 200],
    [1, 200],
    [2, 401],
  ])('with the code of %i steps from now is answered with %i', async (steps, status) => {
    const { secret, tries } = await enrolled();
    await at(start + 10 * step);
    expect((await tries({ code: codeOf(secret, now + steps * step) })).status).toBe(status);
  });

  it('refuses the code of a step before one that was used', async () => {
    const { secret, tries } = await enrolled();
    await at(start + 10 * step);
    expect((await tries({ code: codeOf(secret, now + step) })).status).toBe(200);
    for (const earlier of [-step, 0])
      expect((await tries({ code: codeOf(secret, now + earlier) })).status).toBe(401);
  });

  it('accepts each recovery code once, also in upper case, without hyphens and with blanks around it', async () => {
    const { recovery, tries } = await enrolled();
    const otherwise = (code: string): string => ` ${code.replaceAll('-', '').toUpperCase()} `;
    for (const [index, code] of recovery.entries()) {
      const [typed, again] = index % 2 === 0 ? [code, otherwise(code)] : [otherwise(code), code];
      expect((await tries({ code: typed })).status).toBe(200);
      if (index < 4) expect(refusal(await tries({ code: again }))).toEqual([401, 'invalid_credentials']);
    }
    expect((await tries({ code: 'aaaa-aaaa-aaaa-aaaa' })).status).toBe(401);
  });

  it('counts wrong codes by account, from all addresses, and then refuses a right one for some minutes', async () => {
    const { secret, tries } = await enrolled();
    await at(start + step);
    for (let each = 0; each < 10; each += 1)
      expect(refusal(await tries({ code: '000000' }, `198.51.100.${each}`))).toEqual([
        401,
        'invalid_credentials',
      ]);
    const refused = await tries({ code: codeOf(secret) }, '198.51.100.200');
    expect(refusal(refused)).toEqual([429, 'too_many_attempts']);
    await at(start + 16 * minute);
    expect((await tries({ code: codeOf(secret) }, '198.51.100.200')).status).toBe(200);
  });

  it('counts a wrong code as a failed login', async () => {
    const { tries } = await enrolled();
    for (let each = 0; each < 10; each += 1) await tries({ code: '000000' });
    expect(refusal(await tries({ password: 'another passphrase' }))).toEqual([429, 'too_many_attempts']);
  });

  it('requires no code after `admin create`, which also deletes the recovery codes', async () => {
    const { email, tries } = await enrolled();
    await setPassword(email);
    expect((await tries({})).status).toBe(200);
    expect(
      await query('select 1 from user_recovery_codes c join users u using (user_id) where u.email = $1', [
        email,
      ]),
    ).toEqual([]);
  });
});

describe('if a second factor is required', () => {
  it('a session without one can enrol, and use nothing else', async () => {
    const { browser } = await anAdmin(demanding);
    for (const path of [reports, '/api/v1/auth/session'])
      expect(refusal(await browser.go(path))).toEqual([403, 'enrolment_required']);
    const change = { current_password: password, new_password: `${password} anew` };
    expect(refusal(await browser.post('/api/v1/auth/password', change))).toEqual([403, 'enrolment_required']);
    expect((await browser.go(factor)).data).toEqual({ state: 'must_enrol' });

    const begun = await browser.post(factor, { password });
    const code = codeOf(String(begun.data['secret']));
    expect((await browser.post(`${factor}/confirm`, { password, code })).status).toBe(200);
    expect((await browser.go(reports)).status).toBe(200);
  });

  it('a session of a user who removes it can only enrol again', async () => {
    const { browser, recovery } = await enrolled(demanding);
    await browser.post(factor, { password, code: recovery[0] ?? '' }, 'DELETE');
    expect(refusal(await browser.go(reports))).toEqual([403, 'enrolment_required']);
  });

  it('a session without one can log out', async () => {
    const { browser } = await anAdmin(demanding);
    expect((await browser.post('/api/v1/auth/logout')).data).toEqual({ logged_out: true });
  });
});

describe('a change of one’s own password', () => {
  const path = '/api/v1/auth/password';
  const anew = 'a canary in another mine';

  it('requires the current one, ends the other sessions, and records an event without a password', async () => {
    const { email, browser } = await anAdmin();
    const other = new Browser(gateway.url);
    await other.post(login, { email, password });
    const wrong = await browser.post(path, { current_password: 'another passphrase', new_password: anew });
    expect([...refusal(wrong), wrong.error['param']]).toEqual([
      401,
      'invalid_credentials',
      'current_password',
    ]);
    expect((await browser.post(path, { current_password: password, new_password: anew })).data).toEqual({
      changed: true,
    });
    expect([(await browser.session()).status, (await other.session()).status]).toEqual([200, 401]);
    expect((await other.post(login, { email, password })).status).toBe(401);
    expect((await other.post(login, { email, password: anew })).status).toBe(200);
    const events = await query(
      `select e.before_json, e.after_json from admin_events e join users u on u.user_id::text = e.target_id
       where u.email = $1 and e.action = 'password.change'`,
      [email],
    );
    expect(events).toEqual([{ before_json: null, after_json: null }]);
  });

  it('keeps the second factor, which then works with the new password', async () => {
    const { browser, secret, recovery, tries } = await enrolled();
    await browser.post(path, { current_password: password, new_password: anew });
    await at(start + step);
    expect((await tries({ password: anew, code: codeOf(secret) })).status).toBe(200);
    expect((await tries({ password: anew, code: recovery[0] ?? '' })).status).toBe(200);
  });

  it.each([
    ['short', 'eleven char'],
    ['common', 'Password1234!'],
    ['repeated', 'abcabcabcabcabc'],
  ])('to a %s one is refused', async (_, given) => {
    const { browser } = await anAdmin();
    const answer = await browser.post(path, { current_password: password, new_password: given });
    expect([...refusal(answer), answer.error['param']]).toEqual([400, 'invalid_request', 'new_password']);
  });
});

describe('if passwords are disabled', () => {
  it('no user can log in with one, and sessions opened with one are refused until they are enabled again', async () => {
    const off = {
      password_login: false,
      oidc: { issuer: 'http://127.0.0.1:1', client_id: 'x', client_secret: 'y' },
    };
    const { email, browser } = await anAdmin();
    await gateway.take(signInConfig(off));
    expect(refusal(await browser.post(login, { email, password }))).toEqual([404, 'not_supported']);
    expect(refusal(await browser.session())).toEqual([401, 'session_required']);
    expect((await browser.go('/api/v1/auth/methods')).data['password']).toBe(false);
    await gateway.take(signInConfig({}));
    expect((await browser.session()).status).toBe(200);
  });
});
