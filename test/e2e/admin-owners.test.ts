import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { argon2Passwords } from '../../infrastructure/passwords.ts';
import { timed } from '../support/undisturbed.ts';
import { adminObjectsScene, dataOf, instant, itemsOf, uuid } from './admin-objects-scene.ts';

const { admin, aKeyOf, aUser, soon, statuses, eventsOf, query, replicas, config } = adminObjectsScene();
const root = '/api/v1/admin';
const userPath = (user: Readonly<Record<string, unknown>>): string =>
  `${root}/users/${String(user['user_id'])}`;
const anId = (): string => `t-${randomUUID()}`;

describe('a user', () => {
  it('is created, is found by its id, and has an event; a second one with the same e-mail is 409', async () => {
    const email = `Ada.${randomUUID()}@Example.com`;
    const made = dataOf(await admin('POST', `${root}/users`, { email, name: 'Ada' }));
    expect(made).toEqual({
      user_id: uuid,
      email: email.toLowerCase(),
      name: 'Ada',
      role: 'user',
      request_logging_enabled: true,
      teams: [],
      active: true,
      from_config: false,
      created_at: instant,
      version: 1,
    });
    expect(dataOf(await admin('GET', userPath(made)))).toEqual(made);
    expect(await eventsOf(made['user_id'])).toMatchObject([
      { action: 'user.create', target_kind: 'user', before_json: null, after_json: { name: 'Ada' } },
    ]);
    const again = await admin('POST', `${root}/users`, { email: email.toUpperCase() });
    expect(again).toMatchObject({ status: 409, error: { code: 'conflict', param: 'email' }, data: made });
  });

  it('is named by the first 128 characters of its address if it has no name', async () => {
    const email = `${randomUUID()}@${'long.'.repeat(30)}example.com`;
    expect(dataOf(await admin('POST', `${root}/users`, { email }))).toMatchObject({
      email,
      name: email.slice(0, 128),
    });
    const emoji = `${randomUUID()}@${'\u{1f600}'.repeat(100)}.example.com`;
    expect(dataOf(await admin('POST', `${root}/users`, { email: emoji }))).toMatchObject({
      name: Array.from(emoji).slice(0, 128).join(''),
    });
  });

  it('loses keys and sessions on every replica when deactivated, and the answer says so in `effects`', async () => {
    const user = await aUser({ role: 'platform_admin' });
    const key = await aKeyOf({ owner_kind: 'user', owner_id: user['user_id'] });
    const revoked = await aKeyOf({ owner_kind: 'user', owner_id: user['user_id'] });
    await admin('DELETE', `${root}/api-keys/${String(revoked['api_key_id'])}`);
    await admin('PUT', `${root}/spend/budgets/users/${String(user['user_id'])}`, {
      cadence: 'daily',
      amount_10000: 1000,
      hard_limit: false,
    });
    await query(`insert into user_passwords (user_id, password_hash, set_at) values ($1, $2, now())`, [
      user['user_id'],
      await argon2Passwords().hash('correct horse battery'),
    ]);
    const login = await fetch(`${replicas[1]!.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: user['email'], password: 'correct horse battery' }),
    });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    const session = () => fetch(`${replicas[1]!.url}/api/v1/auth/session`, { headers: { cookie } });
    expect((await session()).status).toBe(200);
    await soon(key.api_key, 200);

    const ended = dataOf(await admin('PATCH', userPath(user), { active: false }));
    expect(ended).toMatchObject({
      active: false,
      version: 2,
      effects: { keys_refused: 1, sessions_ended: 1, tokens_revoked: 0, budget: 'kept' },
    });
    expect((await session()).status).toBe(401);
    await soon(key.api_key, 401);
    // A session of a login that was in progress when the user was deactivated.
    await query(
      `insert into admin_sessions (token_sha256, user_id, created_at, last_seen_at, expires_at, signed_in_by)
       select sha256('late'), $1, t, t, t + interval '1 hour', 'password' from now() t`,
      [user['user_id']],
    );
    const back = dataOf(await admin('PATCH', userPath(user), { active: true }));
    expect(await query('select from admin_sessions where user_id = $1', [user['user_id']])).toEqual([]);
    expect(back).toMatchObject({ active: true, effects: null });
    await soon(key.api_key, 200);
    expect((await session()).status).toBe(401);
  });

  it('gets no further request logs on any replica within 5 seconds after request_logging_enabled is set to false', async () => {
    const user = await aUser();
    const key = await aKeyOf({ owner_kind: 'user', owner_id: user['user_id'] });
    /** The rows of one more request to each replica. */
    const rowsOfBoth = async (): Promise<number> => {
      await query('delete from request_logs where user_id = $1', [user['user_id']]);
      expect(await statuses(key.api_key)).toEqual([200, 200]);
      return (await query('select from request_logs where user_id = $1', [user['user_id']])).length;
    };
    await soon(key.api_key, 200);
    expect(await rowsOfBoth()).toBe(2);
    const changed = dataOf(await admin('PATCH', userPath(user), { request_logging_enabled: false }));
    expect(changed).toMatchObject({ request_logging_enabled: false, effects: null });
    await timed(async (soFarMs) => {
      while ((await rowsOfBoth()) > 0) expect(soFarMs()).toBeLessThan(5000);
    });
  });

  it('of concurrent changes to the same version exactly one wins, and the others are 409', async () => {
    const user = await aUser();
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        admin('PATCH', userPath(user), { name: `n${n}` }, { 'if-match': '"1"' }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([
      200,
      ...Array(7).fill(409),
    ]);
  });
});

describe('the last platform admin', () => {
  it('cannot lose the role or be deactivated: 409 conflict', async () => {
    const [last] = itemsOf(await admin('GET', `${root}/users?role=platform_admin&active=true`)).filter(
      ({ email }) => email === 'root@example.com',
    );
    await query(
      `update users set active = false where role = 'platform_admin' and email <> 'root@example.com'`,
    );
    for (const change of [{ role: 'user' }, { active: false }, { role: 'user', active: false }])
      expect(await admin('PATCH', userPath(last ?? {}), change)).toMatchObject({
        status: 409,
        error: { code: 'conflict', message: expect.stringContaining('last active platform admin') },
        data: { email: 'root@example.com', active: true, role: 'platform_admin' },
      });
    expect(dataOf(await admin('PATCH', userPath(last ?? {}), { name: 'Root' }))['name']).toBe('Root');
  });
});

describe('a team', () => {
  it('is created and deactivated; its keys and those of its service accounts are then refused', async () => {
    const id = anId();
    const made = dataOf(await admin('POST', `${root}/teams`, { team_id: id, name: 'Team' }));
    expect(made).toEqual({
      team_id: id,
      name: 'Team',
      member_count: 0,
      active: true,
      from_config: false,
      created_at: instant,
      version: 1,
    });
    expect(await admin('POST', `${root}/teams`, { team_id: id })).toMatchObject({ status: 409, data: made });
    const account = { service_account_id: `${id}:bot`, team_id: id };
    await admin('POST', `${root}/service-accounts`, account);
    const keys = [
      await aKeyOf({ owner_kind: 'team', owner_id: id }),
      await aKeyOf({ owner_kind: 'service_account', owner_id: account.service_account_id }),
    ];
    const path = `${root}/teams/${id}`;
    expect(dataOf(await admin('PATCH', path, { active: false }, { 'if-match': '"1"' }))).toMatchObject({
      version: 2,
      effects: { keys_refused: 2, sessions_ended: 0, tokens_revoked: 0, budget: 'none' },
    });
    for (const { api_key: secret } of keys) await soon(secret, 401);
    expect(
      await admin('POST', `${root}/api-keys`, { name: 'x', owner_kind: 'team', owner_id: id }),
    ).toMatchObject({
      status: 400,
      error: { param: 'owner_id', message: expect.stringContaining('not active') },
    });
    expect(await admin('PATCH', path, { active: true }, { 'if-match': '"1"' })).toMatchObject({
      status: 409,
      data: { version: 2, active: false },
    });
  });

  it('gets members with roles, loses them, and each change writes an event', async () => {
    const id = `${anId()}/x:y@z`;
    await admin('POST', `${root}/teams`, { team_id: id });
    const user = await aUser();
    const path = `${root}/teams/${encodeURIComponent(id)}/members/${String(user['user_id'])}`;
    const member = {
      team_id: id,
      user_id: user['user_id'],
      role: 'owner',
      from_config: false,
      created_at: instant,
    };
    expect(dataOf(await admin('PUT', path, { role: 'owner' }))).toEqual(member);
    expect(dataOf(await admin('PUT', path, { role: 'owner' }))).toEqual(member);
    expect(dataOf(await admin('GET', userPath(user)))['teams']).toEqual([{ team_id: id, role: 'owner' }]);
    expect(dataOf(await admin('GET', `${root}/teams/${encodeURIComponent(id)}`))['member_count']).toBe(1);
    const listed = itemsOf(await admin('GET', `${root}/users?team_id=${encodeURIComponent(id)}`));
    expect(listed.map(({ user_id: userId }) => userId)).toEqual([user['user_id']]);
    const shouted = `${root}/teams/${encodeURIComponent(id)}/members/${String(user['user_id']).toUpperCase()}`;
    expect(dataOf(await admin('PUT', shouted, { role: 'member' }))['role']).toBe('member');
    expect(dataOf(await admin('DELETE', shouted))).toEqual({
      team_id: id,
      user_id: user['user_id'],
      removed: true,
    });
    expect(dataOf(await admin('DELETE', path))).toMatchObject({ removed: false });
    expect((await eventsOf(id)).map(({ action }) => action)).toEqual([
      'team_member.delete',
      'team_member.set',
      'team_member.set',
      'team.create',
    ]);
    expect(
      await admin('PUT', `${root}/teams/none/members/${String(user['user_id'])}`, { role: 'member' }),
    ).toMatchObject({ status: 404, error: { param: 'team_id' } });
    expect(await admin('PUT', `${root}/teams/platform/members/x`, { role: 'member' })).toMatchObject({
      status: 404,
      error: { param: 'user_id' },
    });
    expect(await admin('PUT', path, { role: 'boss' })).toMatchObject({
      status: 400,
      error: { param: 'role' },
    });
  });
});

describe('a service account', () => {
  it('is created for a team, moves to another one, whose budget then applies to it, and is deactivated', async () => {
    const [id, other] = [anId(), anId()];
    await admin('POST', `${root}/teams`, { team_id: other, name: 'Other' });
    const nothing = { cadence: 'daily', amount_10000: 0, hard_limit: true };
    dataOf(await admin('PUT', `${root}/spend/budgets/teams/${other}`, nothing));
    const body = { service_account_id: id, name: 'Bot', team_id: 'platform' };
    const made = dataOf(await admin('POST', `${root}/service-accounts`, body));
    expect(made).toEqual({
      ...body,
      team_name: 'Platform',
      active: true,
      from_config: false,
      created_at: instant,
      version: 1,
    });
    const path = `${root}/service-accounts/${id}`;
    expect(dataOf(await admin('GET', path))).toEqual(made);
    const key = await aKeyOf({ owner_kind: 'service_account', owner_id: id });
    await soon(key.api_key, 200);
    expect(dataOf(await admin('PATCH', path, { team_id: other }))).toMatchObject({
      team_name: 'Other',
      version: 2,
    });
    await soon(key.api_key, 429);
    expect(
      await query('select distinct team_id, status_code from request_logs where api_key_id = $1 order by 2', [
        key['api_key_id'],
      ]),
    ).toEqual([
      { team_id: 'platform', status_code: 200 },
      { team_id: other, status_code: 429 },
    ]);
    expect(dataOf(await admin('PATCH', path, { active: false }))).toMatchObject({
      effects: { keys_refused: 1, sessions_ended: 0, tokens_revoked: 0, budget: 'none' },
    });
    await soon(key.api_key, 401);
    const listed = itemsOf(await admin('GET', `${root}/service-accounts?team_id=${other}&active=false`));
    expect(listed.map((each) => each['service_account_id'])).toEqual([id]);
    expect(await admin('PATCH', path, { team_id: 'none' })).toMatchObject({
      status: 400,
      error: { param: 'team_id' },
    });
    expect(await admin('POST', `${root}/service-accounts`, body)).toMatchObject({ status: 409 });
  });
});

describe('the lists of owners', () => {
  it('filter by part of a name or e-mail, by activity and by role, newest first', async () => {
    const mark = randomUUID();
    const [first, second] = [
      await aUser({ name: `One ${mark}` }),
      await aUser({ name: `Two ${mark}`, role: 'platform_admin' }),
    ];
    await admin('PATCH', userPath(first), { active: false });
    const ids = async (filter: string) =>
      itemsOf(await admin('GET', `${root}/users?name=${mark.toUpperCase()}${filter}`)).map(
        ({ user_id: id }) => id,
      );
    const [one, two] = [first['user_id'], second['user_id']];
    expect(await ids('')).toEqual([two, one]);
    expect(await ids('&active=false')).toEqual([one]);
    expect(await ids('&active=true')).toEqual([two]);
    expect(await ids('&role=platform_admin')).toEqual([two]);
    expect(await ids('&role=user')).toEqual([one]);
    expect(await ids(`&email=${String(second['email']).slice(0, 20)}`)).toEqual([two]);
    expect(await admin('GET', `${root}/users?active=yes`)).toMatchObject({
      status: 400,
      error: { param: 'active' },
    });
    expect(itemsOf(await admin('GET', `${root}/teams?name=PLATF`))).toMatchObject([{ team_id: 'platform' }]);
    await admin('PATCH', userPath(second), { role: 'user' });
  });
});

describe('invalid input for an owner', () => {
  it.each([
    ['POST', '/users', { email: 'nobody' }, 'email'],
    ['POST', '/users', { email: 'a@b.c', role: 'root' }, 'role'],
    ['POST', '/users', { email: 'a@b.c', name: '\u0007' }, 'name'],
    ['POST', '/users', { email: 'a@b.c', request_logging_enabled: 1 }, 'request_logging_enabled'],
    ['POST', '/users', {}, 'email'],
    ['POST', '/teams', { team_id: '-a' }, 'team_id'],
    ['POST', '/teams', { team_id: 'a'.repeat(129) }, 'team_id'],
    ['POST', '/teams', { team_id: 'a', active: true }, 'active'],
    ['PATCH', '/teams/platform', { name: '' }, 'name'],
    ['PATCH', '/teams/platform', { team_id: 'other' }, 'team_id'],
    ['POST', '/service-accounts', { service_account_id: 'x', team_id: 'none' }, 'team_id'],
    ['POST', '/service-accounts', { service_account_id: ' ', team_id: 'platform' }, 'service_account_id'],
    ['PATCH', '/service-accounts/ci', { active: 'no' }, 'active'],
  ])('%s %s with %j is refused with 400 and names the field %s', async (method, path, body, param) => {
    expect(await admin(method, `${root}${path}`, body)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it.each([
    ['/users/00000000-0000-4000-8000-000000000000', 'user_id'],
    ['/users/x', 'user_id'],
    ['/teams/none', 'team_id'],
    ['/service-accounts/none', 'service_account_id'],
  ])('%s is 404 if there is no such owner', async (path, param) => {
    for (const [method, body] of [
      ['GET', undefined],
      ['PATCH', {}],
    ] as const)
      expect(await admin(method, `${root}${path}`, body)).toMatchObject({
        status: 404,
        error: { code: 'not_found', param },
      });
  });
});

describe('an owner from the file', () => {
  it('is marked from_config; a changed name holds until the file is applied again, a deactivation stays', async () => {
    const at = async (path: string) => dataOf(await admin('GET', `${root}${path}`));
    const [user] = itemsOf(await admin('GET', `${root}/users?email=a@example.com`)).filter(
      ({ email }) => email === 'a@example.com',
    );
    expect(user).toMatchObject({ from_config: true, teams: [{ team_id: 'platform', role: 'owner' }] });
    for (const path of ['/teams/platform', '/service-accounts/ci', `/users/${String(user?.['user_id'])}`]) {
      const before = await at(path);
      expect(before['from_config']).toBe(true);
      const changed = dataOf(await admin('PATCH', `${root}${path}`, { name: 'Changed', active: false }));
      expect(changed).toMatchObject({ name: 'Changed', active: false, from_config: true });
      await replicas[0]!.take(config());
      expect(await at(path)).toMatchObject({ name: before['name'], active: false, from_config: true });
      expect(Number((await at(path))['version'])).toBeGreaterThan(Number(changed['version']));
      await admin('PATCH', `${root}${path}`, { active: true });
    }
    await replicas[0]!.take(config({ service_accounts: [], users: [], api_keys: [] }));
    expect(await at('/service-accounts/ci')).toMatchObject({ active: true, from_config: false });
    expect(await at(`/users/${String(user?.['user_id'])}`)).toMatchObject({
      active: true,
      from_config: false,
    });
  });
});
