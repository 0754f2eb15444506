import { describe, expect, it } from '@jest/globals';
import {
  adminSessionScene,
  call,
  codeOf,
  email,
  hour,
  key,
  logIn,
  logOut,
  minute,
  password,
  session,
  start,
} from './admin-session-scene.ts';

const { query, clock, replicas, plain, gateways, setPassword, aSession } = adminSessionScene();

describe('a session', () => {
  it('is required: without a valid cookie a call is 401 session_required', async () => {
    const nobody = [
      undefined,
      '',
      'gateway_session=',
      `gateway_session=${'A'.repeat(43)}`,
      'gateway_session=x',
    ];
    for (const cookie of nobody) {
      const answer = await session(plain(), cookie);
      expect([answer.status, codeOf(answer), answer.headers['cache-control']]).toEqual([
        401,
        'session_required',
        'no-store',
      ]);
    }
  });

  it('cannot be replaced by an API key', async () => {
    const answer = await call(plain().url, '/api/v1/auth/session', { headers: { 'x-api-key': key } });
    expect(codeOf(answer)).toBe('session_required');
  });

  it('lasts 12 hours from its last call', async () => {
    const cookie = await aSession();
    await clock.standAt(new Date(start + 12 * hour - 1));
    const seen = await session(replicas()[1]!, cookie);
    expect(seen.json['data']?.['expires_at']).toBe(new Date(start + 24 * hour - 1).toISOString());
    await clock.standAt(new Date(start + 24 * hour - 2));
    expect((await session(replicas()[0]!, cookie)).status).toBe(200);
    await clock.standAt(new Date(start + 36 * hour));
    expect(codeOf(await session(replicas()[0]!, cookie))).toBe('session_required');
  });

  it('ends 7 days after the login, however often it is used', async () => {
    const cookie = await aSession();
    for (let at = 11; at < 7 * 24; at += 11) {
      await clock.standAt(new Date(start + at * hour));
      expect((await session(replicas()[0]!, cookie)).status).toBe(200);
    }
    await clock.standAt(new Date(start + 7 * 24 * hour - 1));
    const last = await session(replicas()[0]!, cookie);
    expect(last.json['data']?.['expires_at']).toBe(new Date(start + 7 * 24 * hour).toISOString());
    await clock.standAt(new Date(start + 7 * 24 * hour));
    expect(codeOf(await session(replicas()[0]!, cookie))).toBe('session_required');
  });

  it('has its last_seen_at written at most once a minute', async () => {
    await query('delete from admin_sessions');
    const cookie = await aSession();
    const lastSeen = async () =>
      (await query<{ at: Date }>('select max(last_seen_at) as at from admin_sessions'))[0]?.at.getTime();
    await clock.standAt(new Date(start + minute - 1));
    await session(replicas()[0]!, cookie);
    expect(await lastSeen()).toBe(start);
    await clock.standAt(new Date(start + minute));
    await session(replicas()[0]!, cookie);
    expect(await lastSeen()).toBe(start + minute);
  });

  it('ends at once on every replica with a logout, which ends no other session', async () => {
    const [cookie, other] = [await aSession(replicas()[0]), await aSession(replicas()[0])];
    expect((await session(replicas()[1]!, cookie)).status).toBe(200);
    const out = await logOut(replicas()[0]!, cookie);
    expect([out.status, out.json['data']]).toEqual([200, { logged_out: true }]);
    expect(out.headers['set-cookie']).toBe(
      'gateway_session=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0',
    );
    for (const gateway of gateways()) {
      expect(codeOf(await session(gateway, cookie))).toBe('session_required');
      expect((await session(gateway, other)).status).toBe(200);
    }
    expect((await logOut(replicas()[1]!, cookie)).json['data']).toEqual({ logged_out: false });
  });

  it('ends on every replica when a new password is set', async () => {
    const cookie = await aSession();
    await setPassword(email);
    for (const gateway of gateways()) expect(codeOf(await session(gateway, cookie))).toBe('session_required');
    expect((await session(plain(), await aSession())).status).toBe(200);
  });

  it('returns the user’s current role and name, and ends when the user is deactivated', async () => {
    const cookie = await aSession();
    const person = (over: string) =>
      query(`update users set ${over} where email = $1`, [email.toLowerCase()]);
    await person("role = 'user', name = 'Somebody'");
    expect((await session(plain(), cookie)).json).toMatchObject({ data: { role: 'user', name: 'Somebody' } });
    await person('active = false');
    expect(codeOf(await session(plain(), cookie))).toBe('session_required');
    await person(`active = true, role = 'platform_admin', name = email`);
    expect((await session(plain(), cookie)).json).toMatchObject({ data: { role: 'platform_admin' } });
  });
});

describe('a path of the admin API', () => {
  it('is 404 if unknown and 405 with another method, in the OpenAI envelope', async () => {
    const headers = { 'anthropic-version': '2023-06-01' };
    const unknown = await call(plain().url, '/api/v1/auth/nothing', { headers });
    expect([unknown.status, codeOf(unknown)]).toEqual([404, 'not_found']);
    const get = await call(plain().url, '/api/v1/auth/login', { headers });
    expect([get.status, codeOf(get), get.headers['allow']]).toEqual([405, 'method_not_allowed', 'POST']);
    const put = await call(plain().url, '/api/v1/auth/session', { method: 'DELETE', headers });
    expect([put.status, codeOf(put), put.headers['allow']]).toEqual([405, 'method_not_allowed', 'HEAD, GET']);
  });
});

describe('tables and logs', () => {
  it('contain no password and no session token', async () => {
    const cookie = await aSession();
    const token = cookie.replace('gateway_session=', '');
    await logIn(plain(), { password: `${password}-wrong` });
    await logIn(plain(), { email: `${password}-as-email`, password: 'x' });
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
