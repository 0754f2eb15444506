import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { account, makeAdmin } from '../support/admin.ts';
import { undisturbed } from '../support/undisturbed.ts';
import { adminObjectsScene, dataOf, instant, itemsOf, uuid } from './admin-objects-scene.ts';

const { admin, config, database, replicas, aUser, eventsOf, query } = adminObjectsScene();
const root = '/api/v1/admin';
const tokens = `${root}/tokens`;

/** A call with a token, without cookie and origin, as a script makes it. */
async function withToken(token: string, method: string, path: string, body?: unknown) {
  const answer = await fetch(`${replicas[1]!.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  const json = JSON.parse(text) as { data?: Readonly<Record<string, unknown>>; error?: { code: string } };
  return { status: answer.status, code: json.error?.code, data: json.data, text };
}

async function aToken(scope: 'read' | 'write', over: object = {}) {
  const made = dataOf(await admin('POST', tokens, { name: 'ci', scope, ...over }));
  return { ...made, token: String(made['token']), path: `${tokens}/${String(made['admin_token_id'])}` };
}

describe('an API token', () => {
  it('is shown in full once, and afterwards without its secret', async () => {
    const { path: _path, ...made } = await aToken('read');
    const [root_] = await query<{ user_id: string }>(
      `select user_id from users where email = 'root@example.com'`,
    );
    const { token, ...shown } = made;
    expect(shown).toEqual({
      admin_token_id: uuid,
      public_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'ci',
      scope: 'read',
      created_by: { user_id: root_?.user_id, name: 'root@example.com' },
      created_at: instant,
      expires_at: null,
      last_used_on: null,
      revoked_at: null,
      active: true,
    });
    expect(token).toMatch(/^gwa_[0-9a-f]{32}\.[0-9a-f]{64}$/);
    const id = (made as Readonly<Record<string, unknown>>)['admin_token_id'];
    const listed = itemsOf(await admin('GET', tokens)).find((each) => each['admin_token_id'] === id);
    expect(listed).toEqual(shown);
    const secret = token.split('.')[1];
    expect(JSON.stringify(await query('select * from admin_tokens'))).not.toContain(secret);
    expect(JSON.stringify(await eventsOf(id))).not.toContain(secret);
    expect(await eventsOf(id)).toMatchObject([{ action: 'admin_token.create', target_kind: 'admin_token' }]);
  });

  it('changes nothing if it is revoked while the body of its call arrives', async () => {
    const { token, path } = await aToken('write');
    const used = 'select from admin_tokens where admin_token_id = $1 and last_used_on is not null';
    const isUsed = async () => (await query(used, [path.split('/').at(-1)])).length === 1;
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.from('{"email":');
      // It was valid when the call began.
      while (!(await isUsed())) await sleep(10);
      expect((await admin('DELETE', path)).status).toBe(200);
      yield Buffer.from('"too-late@example.com"}');
    }
    const answer = await fetch(`${replicas[1]!.url}${root}/users`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body(),
      duplex: 'half',
    });
    expect(answer.status).toBe(401);
    await answer.body?.cancel();
    expect(await query(`select from users where email = 'too-late@example.com'`)).toEqual([]);
  });

  it('can read with either scope and change things only with `write`; events name the token', async () => {
    const [read, write] = [await aToken('read'), await aToken('write')];
    const body = { email: 'made-by-token@example.com' };
    expect((await withToken(read.token, 'GET', `${root}/users`)).status).toBe(200);
    expect((await withToken(write.token, 'GET', `${root}/users`)).status).toBe(200);
    expect(await withToken(read.token, 'POST', `${root}/users`, body)).toMatchObject({
      status: 403,
      code: 'admin_required',
    });
    const made = await withToken(write.token, 'POST', `${root}/users`, body);
    expect(made.status).toBe(200);
    const id = (write as Readonly<Record<string, unknown>>)['admin_token_id'];
    expect(await eventsOf(made.data?.['user_id'])).toMatchObject([
      { action: 'user.create', admin_token_id: id, actor_user_id: uuid },
    ]);
    const budget = `${root}/spend/budgets/users/${String(made.data?.['user_id'])}`;
    const terms = { cadence: 'daily', amount_10000: 5, hard_limit: false };
    expect((await withToken(write.token, 'PUT', budget, terms)).status).toBe(200);
    const asked = { cadence: 'daily', amount_10000: 5 };
    expect((await withToken(read.token, 'POST', `${budget}/dry-run`, asked)).status).toBe(200);
    expect((await withToken(read.token, 'PUT', budget, terms)).status).toBe(403);
    const limit = `${root}/rate-limits/users/${String(made.data?.['user_id'])}`;
    expect((await withToken(write.token, 'PUT', limit, { requests_per_minute: 5 })).status).toBe(200);
    expect(await eventsOf(made.data?.['user_id'])).toMatchObject([
      { action: 'rate_limit.set', admin_token_id: id },
      { action: 'budget.set', admin_token_id: id },
      { action: 'user.create' },
    ]);
  });

  it('shows the UTC day of its last call', async () => {
    const token = await aToken('read');
    await withToken(token.token, 'GET', `${root}/teams`);
    const id = (token as Readonly<Record<string, unknown>>)['admin_token_id'];
    const listed = itemsOf(await admin('GET', tokens)).find((each) => each['admin_token_id'] === id);
    expect(listed?.['last_used_on']).toBe(new Date().toISOString().slice(0, 10));
  });

  it('is refused on another replica at once when it is revoked or has expired', async () => {
    const token = await aToken('read');
    expect((await withToken(token.token, 'GET', `${root}/teams`)).status).toBe(200);
    const revoked = dataOf(await admin('DELETE', token.path));
    expect(revoked).toMatchObject({ revoked_at: instant, active: false });
    expect(dataOf(await admin('DELETE', token.path))).toEqual(revoked);
    let expiresAt = 0;
    const short = await undisturbed(200, async () => {
      expiresAt = Date.now() + 2000;
      const until = { expires_at: new Date(expiresAt).toISOString() };
      const made = await aToken('read', until);
      expect(made).toMatchObject({ ...until, revoked_at: null });
      expect((await withToken(made.token, 'GET', `${root}/teams`)).status).toBe(200);
      return made;
    });
    await sleep(expiresAt - Date.now() + 100);
    for (const each of [token, short])
      expect(await withToken(each.token, 'GET', `${root}/teams`)).toMatchObject({
        status: 401,
        code: 'invalid_credentials',
      });
  });

  it('is refused once its creator is no active platform admin', async () => {
    const person = await aUser({ role: 'platform_admin' });
    const token = await aToken('write');
    const id = (token as Readonly<Record<string, unknown>>)['admin_token_id'];
    await query('update admin_tokens set user_id = $1 where admin_token_id = $2', [person['user_id'], id]);
    const answer = async () => (await withToken(token.token, 'GET', `${root}/teams`)).code;
    expect(await answer()).toBeUndefined();
    await query(`update users set role = 'user' where user_id = $1`, [person['user_id']]);
    expect(await answer()).toBe('admin_required');
    await query('update users set active = false where user_id = $1', [person['user_id']]);
    expect(await answer()).toBe('invalid_credentials');
  });

  it.each<[string, object, object]>([
    ['is made inactive', { active: false }, { active: true }],
    ['loses the role of an admin', { role: 'user' }, { role: 'platform_admin' }],
  ])(
    'ends for good when its creator %s, with an event; it stays revoked if that is undone',
    async (_, end, back) => {
      const person = await aUser({ role: 'platform_admin' });
      const path = `${root}/users/${String(person['user_id'])}`;
      const [token, late] = [await aToken('write'), await aToken('read')];
      const [id, lateId] = [token, late].map(
        (each) => (each as Readonly<Record<string, unknown>>)['admin_token_id'],
      );
      const give = (which: unknown) =>
        query('update admin_tokens set user_id = $1 where admin_token_id = $2', [person['user_id'], which]);
      const answer = async (of: string) => (await withToken(of, 'GET', `${root}/teams`)).code;
      await give(id);
      expect(await answer(token.token)).toBeUndefined();
      const ended = dataOf(await admin('PATCH', path, end));
      if ('active' in end) expect(ended['effects']).toMatchObject({ tokens_revoked: 1 });
      expect(await eventsOf(id)).toMatchObject([
        {
          action: 'admin_token.revoke',
          actor_user_id: uuid,
          before_json: { revoked_at: null },
          after_json: { revoked_at: instant },
        },
        { action: 'admin_token.create' },
      ]);
      // A token of a call that was in progress at the end.
      await give(lateId);
      await admin('PATCH', path, back);
      expect([await answer(token.token), await answer(late.token)]).toEqual([
        'invalid_credentials',
        'invalid_credentials',
      ]);
    },
  );

  it('ends for good when the file removes the admin role of its creator', async () => {
    const [person] = await query<{ user_id: string }>(
      `update users set role = 'platform_admin' where email = 'a@example.com' returning user_id`,
    );
    const token = await aToken('write');
    await query('update admin_tokens set user_id = $1 where public_id = $2', [
      person?.user_id,
      (token as Readonly<Record<string, unknown>>)['public_id'],
    ]);
    await replicas[0]!.take(config());
    await query(`update users set role = 'platform_admin' where email = 'a@example.com'`);
    expect((await withToken(token.token, 'GET', `${root}/teams`)).code).toBe('invalid_credentials');
  });

  it('ends for good when its creator gets a new password on the command line', async () => {
    const person = await aUser({ role: 'platform_admin' });
    const token = await aToken('write');
    await query('update admin_tokens set user_id = $1 where public_id = $2', [
      person['user_id'],
      (token as Readonly<Record<string, unknown>>)['public_id'],
    ]);
    await makeAdmin(database.url(), { ...account, email: String(person['email']) });
    expect((await withToken(token.token, 'GET', `${root}/teams`)).code).toBe('invalid_credentials');
  });

  it('cannot list, create or revoke tokens, and takes precedence over a cookie', async () => {
    const token = await aToken('write');
    for (const [method, path, body] of [
      ['GET', tokens, undefined],
      ['POST', tokens, { name: 'x', scope: 'read' }],
      ['DELETE', token.path, undefined],
    ] as const) {
      expect(await withToken(token.token, method, path, body)).toMatchObject({
        status: 403,
        code: 'admin_required',
      });
      const both = await admin(method, path, body, { authorization: `Bearer ${token.token}` });
      expect(both).toMatchObject({ status: 403, error: { code: 'admin_required' } });
    }
  });

  it.each(['gwa_', 'gwa_x.y', `gwa_${'0'.repeat(32)}.${'0'.repeat(64)}`])(
    '%s is refused with 401 invalid_credentials',
    async (token) => {
      expect(await withToken(token, 'GET', `${root}/teams`)).toMatchObject({
        status: 401,
        code: 'invalid_credentials',
      });
    },
  );

  it('with a wrong secret is refused, and another authorization scheme is ignored', async () => {
    const { token } = await aToken('read');
    const wrong = `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`;
    expect((await withToken(wrong, 'GET', `${root}/teams`)).status).toBe(401);
    const basic = await admin('GET', `${root}/teams`, undefined, { authorization: 'Basic YTpi' });
    expect(basic.status).toBe(200);
    const none = await fetch(`${replicas[0]!.url}${root}/teams`, {
      headers: { authorization: 'Basic YTpi' },
    });
    expect(none.status).toBe(401);
  });

  it.each([
    [{ scope: 'read' }, 'name'],
    [{ name: 'x', scope: 'all' }, 'scope'],
    [{ name: 'x', scope: 'read', expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ name: 'x', scope: 'read', expires_at: 5 }, 'expires_at'],
  ])('%j is refused with 400 and names the field %s', async (body, param) => {
    expect(await admin('POST', tokens, body)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it('that does not exist is 404', async () => {
    for (const id of ['x', '00000000-0000-4000-8000-000000000000'])
      expect(await admin('DELETE', `${tokens}/${id}`)).toMatchObject({
        status: 404,
        error: { param: 'admin_token_id' },
      });
  });
});
