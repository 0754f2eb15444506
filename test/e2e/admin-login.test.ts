import { describe, expect, it } from '@jest/globals';
import { type TestGateway } from '../support/gateway.ts';
import {
  adminSessionScene,
  call,
  codeOf,
  cookieOf,
  email,
  hour,
  key,
  logIn,
  logOut,
  password,
  session,
  start,
} from './admin-session-scene.ts';
import { type RawAnswer } from './raw-http.ts';

const { query, replicas, plain, setPassword, aSession } = adminSessionScene();

describe('logging in', () => {
  it('returns the session and sets a cookie that is HttpOnly, SameSite=Lax and Secure', async () => {
    const answer = await logIn(replicas()[0]!, { email: 'root@example.COM' });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      data: {
        user_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        email: email.toLowerCase(),
        name: email,
        role: 'platform_admin',
        expires_at: new Date(start + 12 * hour).toISOString(),
        has_password: true,
        token_max_secs: null,
      },
      meta: { generated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) },
    });
    expect(answer.headers['set-cookie']).toMatch(
      /^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    expect(answer.headers['cache-control']).toBe('no-store');
    expect((await session(replicas()[1]!, cookieOf(answer))).json).toMatchObject({
      data: answer.json['data'],
    });
  });

  it('sets a cookie without Secure under plain http', async () => {
    const answer = await logIn(plain());
    expect(answer.headers['set-cookie']).toMatch(
      /^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect((await logOut(plain(), cookieOf(answer))).headers['set-cookie']).toBe(
      'gateway_session=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
    );
  });

  it('gives each login its own token, and all of them stay valid', async () => {
    const cookies = [await aSession(), await aSession()];
    expect(new Set(cookies).size).toBe(2);
    for (const cookie of cookies) expect((await session(plain(), cookie)).status).toBe(200);
  });

  it('gives the same 401 for an unknown account, no password, an inactive account and a wrong password', async () => {
    await query("insert into users (email, name, active) values ('gone@example.com', 'G', true)");
    await setPassword('gone@example.com');
    await query("update users set active = false where email = 'gone@example.com'");
    const answers = [
      await logIn(plain(), { password: `${password}!` }),
      await logIn(plain(), { email: 'nobody@example.com' }),
      await logIn(plain(), { email: 'a@example.com' }),
      await logIn(plain(), { email: 'gone@example.com' }),
      await logIn(plain(), { email: 'no address at all' }),
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

  it('takes about as long for an unknown account as for a wrong password', async () => {
    const time = async (as: string): Promise<number> => {
      await query('delete from login_attempts');
      const startedAt = performance.now();
      expect((await logIn(plain(), { email: as, password: 'wrong' })).status).toBe(401);
      return performance.now() - startedAt;
    };
    const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[4]!;
    const ratio = async (): Promise<number> => {
      const [known, unknown]: [number[], number[]] = [[], []];
      for (let n = 0; n < 9; n += 1) {
        known.push(await time(email));
        unknown.push(await time(`nobody-${n}@example.com`));
      }
      return median(unknown) / median(known);
    };
    const isAlike = (found: number): boolean => found > 0.5 && found < 2;
    let found = await ratio();
    // Other load on the machine may slow one of the two; a difference in the code would show in every try.
    for (let tries = 1; tries < 3 && !isAlike(found); tries += 1) found = await ratio();
    expect(found).toBeGreaterThan(0.5);
    expect(found).toBeLessThan(2);
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
  ])(
    '%s is refused, names the parameter, and is not counted as an attempt',
    async (_what, body, param, status) => {
      const answer = await call(plain().url, '/api/v1/auth/login', { method: 'POST', body: body as object });
      expect({ status: answer.status, param: answer.json['error']?.['param'] }).toEqual({ status, param });
      expect(answer.body).not.toContain('canary');
      expect(await query('select from login_attempts')).toEqual([]);
    },
  );

  it('the error for an empty password says what a password must be', async () => {
    const body = { email, password: '' };
    const { json } = await call(plain().url, '/api/v1/auth/login', { method: 'POST', body });
    expect(json['error']?.['message']).toBe('`password` must be text of 1 to 1024 bytes.');
  });

  it('a request without a body is 400 for `email`, and one with a form is 400 for `content-type`', async () => {
    const empty = await call(plain().url, '/api/v1/auth/login', { method: 'POST' });
    expect(empty.json).toMatchObject({ error: { code: 'invalid_request', param: 'email' } });
    const form = await call(plain().url, '/api/v1/auth/login', {
      method: 'POST',
      body: `email=${email}&password=x`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form.json).toMatchObject({ error: { code: 'invalid_request', param: 'content-type' } });
  });
});

describe('the log of logins and sessions', () => {
  const lineOf = async (gateway: TestGateway, answer: RawAnswer) => {
    const found = () =>
      gateway.log.lines.filter(({ fields }) => fields['request_id'] === answer.headers['x-request-id']);
    while (found().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    const [line, ...more] = found();
    expect(more).toEqual([]);
    expect(JSON.stringify(gateway.log.lines)).not.toMatch(/canary|hunter2/);
    return { message: line?.message, ...line?.fields } as Record<string, unknown>;
  };

  it('has one line for each outcome, with address, e-mail and status, and never the password', async () => {
    const shared = { message: 'login', method: 'POST', route: '/api/v1/auth/login', address: '203.0.113.9' };
    const from = { 'x-forwarded-for': '203.0.113.9' };
    const [gateway] = replicas();
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

  it('truncates and escapes the e-mail, and omits one that is no address or is the password', async () => {
    const odd = `\u001b[2J\u202e\n${'x'.repeat(200)}@example.com`;
    for (const [typed, said] of [
      [odd, undefined],
      [`\u009b\u202e\n@example.com`, '\\u{9b}\\u{202e}\\u{a}@example.com'],
      ['correct horse battery canary', undefined],
      ['hunter2@example.com', undefined],
    ] as const) {
      const answer = await logIn(plain(), { email: typed, password: 'hunter2@example.com' });
      const { email: logged } = await lineOf(plain(), answer);
      if (typed !== odd) expect(logged).toBe(said);
      else expect(logged).toMatch(/^\\u\{1b\}\[2J\\u\{202e\}\\u\{a\}x{120,128}$/);
    }
  });

  it('names the user of the session for other calls', async () => {
    const cookie = await aSession(plain());
    const seen = await session(plain(), cookie);
    const out = await logOut(plain(), cookie);
    const after = await session(plain(), cookie);
    const by = { user_id: seen.json['data']?.['user_id'], address: '127.0.0.1' };
    expect(await lineOf(plain(), seen)).toMatchObject({
      message: 'admin call',
      method: 'GET',
      route: '/api/v1/auth/session',
      status: 200,
      ...by,
    });
    expect(await lineOf(plain(), out)).toMatchObject({ route: '/api/v1/auth/logout', status: 200, ...by });
    expect(await lineOf(plain(), after)).toMatchObject({ status: 401, user_id: undefined });
  });

  it('has the marker in place of a key that was sent as the request id or as the e-mail', async () => {
    const before = plain().log.lines.length;
    const headers = { 'x-request-id': `id-${key}` };
    const seen = await call(plain().url, '/api/v1/auth/session', { headers });
    await logIn(plain(), { email: `${key}@example.com` }, headers);
    expect(seen.headers['x-request-id']).toBe(headers['x-request-id']);
    const lines = () => plain().log.lines.slice(before);
    while (lines().length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(lines().map(({ message, fields }) => [message, fields['request_id'], fields['email']])).toEqual([
      ['admin call', 'id-[REDACTED]', undefined],
      ['login', 'id-[REDACTED]', '[REDACTED]@example.com'],
    ]);
  });
});

describe('the origin of a login', () => {
  it('must be that of Host without public_base_url', async () => {
    const { host } = new URL(plain().url);
    const from = (headers: Record<string, string>) => logIn(plain(), {}, headers);
    // The test's client sends `host: 127.0.0.1`, without the port.
    expect((await from({ origin: 'http://127.0.0.1' })).status).toBe(200);
    for (const origin of [`http://${host}`, 'https://127.0.0.1', 'http://localhost', 'null'])
      expect(codeOf(await from({ origin }))).toBe('cross_origin');
    expect(codeOf(await from({ 'sec-fetch-site': 'cross-site' }))).toBe('cross_origin');
    expect(await query('select from login_attempts')).toEqual([]);
  });

  it('must be that of public_base_url where one is configured', async () => {
    expect((await logIn(replicas()[0]!, {}, { origin: 'https://gateway.example.com' })).status).toBe(200);
    expect(codeOf(await logIn(replicas()[0]!, {}, { origin: 'http://127.0.0.1' }))).toBe('cross_origin');
  });
});
