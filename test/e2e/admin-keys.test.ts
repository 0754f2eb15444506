import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { aKey } from '../support/gateway.ts';
import { adminObjectsScene, dataOf, instant, itemsOf, uuid } from './admin-objects-scene.ts';

const { admin, aKeyOf, aUser, statuses, soon, eventsOf, query, replicas, config, key } = adminObjectsScene();
const root = '/api/v1/admin/api-keys';
const inSecs = (secs: number): string => new Date(Date.now() + secs * 1000).toISOString();

/** Runs work that must finish within the given seconds, and again with more seconds if it took too long on a slow machine. */
async function inTime<A>(work: (secs: number) => Promise<A>): Promise<A> {
  for (const secs of [3, 8]) {
    const beganAt = performance.now();
    try {
      return await work(secs);
    } catch (error) {
      if (performance.now() - beganAt < secs * 1000) throw error;
    }
  }
  return work(20);
}

describe('a key created over the API', () => {
  it('is shown in full once, works on every replica, and names its owner and creator', async () => {
    const user = await aUser({ name: 'Ada' });
    const made = await aKeyOf({
      owner_kind: 'user',
      owner_id: user['user_id'],
      name: 'laptop',
      allowed_models: ['fast'],
    });
    const [root_] = await query<{ user_id: string }>(
      `select user_id from users where email = 'root@example.com'`,
    );
    expect(made).toEqual({
      api_key_id: uuid,
      public_id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'laptop',
      owner_kind: 'user',
      owner_id: user['user_id'],
      owner_name: 'Ada',
      allowed_models: ['fast'],
      expires_at: null,
      previous_expires_at: null,
      revoked_at: null,
      revoked_by: null,
      last_used_on: null,
      from_config: false,
      created_at: instant,
      created_by: { user_id: root_?.user_id, name: 'root@example.com' },
      version: 1,
      active: true,
      api_key: `gwk_${String(made['public_id'])}.${made.api_key.split('.')[1]}`,
    });
    await soon(made.api_key, 200);
    const { api_key: _secret, ...shown } = made;
    expect(dataOf(await admin('GET', `${root}/${String(made['api_key_id'])}`))).toMatchObject({
      ...shown,
      last_used_on: null,
    });
    const rows = await query('select * from api_keys where api_key_id = $1', [made['api_key_id']]);
    expect(JSON.stringify(rows)).not.toContain(made.api_key.split('.')[1]);
  });

  it.each([
    ['team', 'platform'],
    ['service_account', 'ci'],
  ])('can belong to a %s', async (owner_kind, owner_id) => {
    const made = await aKeyOf({ owner_kind, owner_id });
    expect(made).toMatchObject({ owner_kind, owner_id, active: true });
    await soon(made.api_key, 200);
  });

  it('has the day of its last request as last_used_on soon after that request', async () => {
    const made = await aKeyOf();
    await soon(made.api_key, 200);
    const today = new Date().toISOString().slice(0, 10);
    for (let tries = 0; ; tries += 1) {
      const { last_used_on: day } = dataOf(await admin('GET', `${root}/${String(made['api_key_id'])}`));
      if (day === today) break;
      if (tries > 80) throw new Error(`last used on ${String(day)}`);
      await sleep(100);
    }
    expect(dataOf(await admin('GET', `${root}/${String(made['api_key_id'])}`))['version']).toBe(1);
  });
});

describe('a key that expires', () => {
  it('is refused on every replica once it has expired, and works again without the expiry', async () => {
    const made = await inTime(async (secs) => {
      const key = await aKeyOf({ expires_at: inSecs(secs) });
      await soon(key.api_key, 200);
      return key;
    });
    await sleep(Date.parse(String(made['expires_at'])) - Date.now() + 50);
    expect(await statuses(made.api_key)).toEqual([401, 401]);
    const path = `${root}/${String(made['api_key_id'])}`;
    expect(dataOf(await admin('GET', path))).toMatchObject({ active: false, revoked_at: null });
    const ids = itemsOf(await admin('GET', `${root}?status=expired`)).map(({ api_key_id: id }) => id);
    expect(ids).toContain(made['api_key_id']);
    expect(dataOf(await admin('PATCH', path, { expires_at: null }))).toMatchObject({ active: true });
    await soon(made.api_key, 200);
  });
});

describe('a change of a key', () => {
  it('sets name, models and expiry, and writes an event without secrets', async () => {
    const made = await aKeyOf();
    const path = `${root}/${String(made['api_key_id'])}`;
    await soon(made.api_key, 200);
    const expiry = inSecs(3600);
    const changed = dataOf(
      await admin('PATCH', path, { name: 'new', allowed_models: ['fast'], expires_at: expiry }),
    );
    expect(changed).toMatchObject({ name: 'new', allowed_models: ['fast'], expires_at: expiry, version: 2 });
    expect(dataOf(await admin('PATCH', path, { name: 'new' }))['version']).toBe(2);
    const [event, created] = await eventsOf(made['api_key_id']);
    expect(created).toMatchObject({ action: 'api_key.create', before_json: null });
    expect(event).toMatchObject({
      action: 'api_key.update',
      admin_token_id: null,
      before_json: { name: 'K', allowed_models: [], expires_at: null },
      after_json: { name: 'new', allowed_models: ['fast'], expires_at: expiry },
    });
    expect(JSON.stringify([event, created])).not.toContain(made.api_key.split('.')[1]);
  });

  it('of concurrent changes to the same version exactly one wins; the others get 409 with the current state', async () => {
    const made = await aKeyOf();
    const path = `${root}/${String(made['api_key_id'])}`;
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => admin('PATCH', path, { name: `n${n}` }, { 'if-match': '"1"' })),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      200,
      ...Array(11).fill(409),
    ]);
    const winner = answers.find(({ status }) => status === 200)?.data;
    for (const loser of answers.filter(({ status }) => status === 409))
      expect(loser).toMatchObject({ error: { code: 'conflict' }, data: winner });
    expect(dataOf(await admin('GET', path))).toEqual(winner);
    expect(await eventsOf(made['api_key_id'])).toHaveLength(2);
  });
});

describe('a rotation', () => {
  it('gives the key a new secret; the previous one stays valid for overlap_secs', async () => {
    const { made, path, rotated, fresh } = await inTime(async (secs) => {
      const key = await aKeyOf();
      await soon(key.api_key, 200);
      const at = `${root}/${String(key['api_key_id'])}`;
      const after = dataOf(await admin('POST', `${at}/rotate`, { overlap_secs: secs + 2 }));
      await soon(String(after['api_key']), 200);
      expect(await statuses(key.api_key)).toEqual([200, 200]);
      return { made: key, path: at, rotated: after, fresh: String(after['api_key']) };
    });
    expect(rotated).toMatchObject({ public_id: made['public_id'], version: 2, previous_expires_at: instant });
    expect(fresh).not.toBe(made.api_key);
    await sleep(Date.parse(String(rotated['previous_expires_at'])) - Date.now() + 50);
    expect(await statuses(made.api_key)).toEqual([401, 401]);
    expect(await statuses(fresh)).toEqual([200, 200]);
    expect(dataOf(await admin('GET', path))['previous_expires_at']).toBeNull();
  });

  it('without an overlap ends the old secret on every replica within 5 seconds', async () => {
    const made = await aKeyOf();
    await soon(made.api_key, 200);
    const path = `${root}/${String(made['api_key_id'])}`;
    const fresh = String(dataOf(await admin('POST', `${path}/rotate`, {}))['api_key']);
    await soon(made.api_key, 401);
    await soon(fresh, 200);
    await admin('DELETE', path);
    expect(await admin('POST', `${path}/rotate`, {})).toMatchObject({
      status: 409,
      error: { code: 'conflict' },
    });
  });

  it('of concurrent rotations of the same version one returns a secret, the others are 409 without one', async () => {
    const made = await aKeyOf();
    const path = `${root}/${String(made['api_key_id'])}/rotate`;
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => admin('POST', path, {}, { 'if-match': '"1"' })),
    );
    expect(answers.filter(({ text }) => text.includes('"api_key":'))).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(5);
  });
});

describe('a revocation', () => {
  it('is permanent, happens once when repeated, and takes effect on every replica within 5 seconds', async () => {
    const made = await aKeyOf();
    await soon(made.api_key, 200);
    const path = `${root}/${String(made['api_key_id'])}`;
    const revoked = dataOf(await admin('DELETE', path));
    expect(revoked).toMatchObject({ revoked_at: instant, revoked_by: 'admin', active: false, version: 2 });
    // The day of its request above is written a moment after it.
    const { last_used_on: _, ...same } = revoked;
    expect(dataOf(await admin('DELETE', path))).toMatchObject(same);
    await soon(made.api_key, 401);
    expect(await eventsOf(made['api_key_id'])).toHaveLength(2);
    await query(`update api_keys set revoked_by = 'config' where api_key_id = $1`, [made['api_key_id']]);
    expect(dataOf(await admin('GET', path))).toMatchObject({ revoked_by: 'config' });
  });
});

describe('the list of keys', () => {
  it('filters by owner, name and status, newest first', async () => {
    const user = await aUser();
    const of = { owner_kind: 'user', owner_id: user['user_id'] };
    const first = await aKeyOf({ ...of, name: 'First one' });
    const second = await aKeyOf({ ...of, name: 'Second 100%_' });
    await admin('DELETE', `${root}/${String(first['api_key_id'])}`);
    const ids = async (more: string) =>
      itemsOf(await admin('GET', `${root}?owner_kind=user&owner_id=${String(user['user_id'])}${more}`)).map(
        ({ api_key_id: id }) => id,
      );
    const [one, two] = [first['api_key_id'], second['api_key_id']];
    expect(await ids('')).toEqual([two, one]);
    expect(await ids('&page_size=1&page=2')).toEqual([one]);
    expect(await ids('&name=FIRST')).toEqual([one]);
    expect(await ids('&name=%25_')).toEqual([two]);
    expect(await ids('&status=active')).toEqual([two]);
    expect(await ids('&status=revoked')).toEqual([one]);
    expect(await ids('&status=expired')).toEqual([]);
    const kinds = itemsOf(await admin('GET', `${root}?owner_kind=team`)).map(({ owner_kind: kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['team']));
  });
});

describe('invalid input for a key', () => {
  const good = { name: 'x', owner_kind: 'team', owner_id: 'platform' };
  it.each([
    [{ ...good, name: '' }, 'name'],
    [{ ...good, name: 'a\nb' }, 'name'],
    [{ ...good, owner_kind: 'person' }, 'owner_kind'],
    [{ ...good, owner_id: 'nobody' }, 'owner_id'],
    [{ ...good, owner_kind: 'user' }, 'owner_id'],
    [{ ...good, allowed_models: ['fast', 'nothing'] }, 'allowed_models'],
    [{ ...good, allowed_models: 'fast' }, 'allowed_models'],
    [{ ...good, expires_at: 'soon' }, 'expires_at'],
    [{ ...good, expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ ...good, secret: 'x' }, 'secret'],
    [{ owner_kind: 'team', owner_id: 'platform' }, 'name'],
  ])('%j is refused with 400 and names the field %s', async (body, param) => {
    expect(await admin('POST', root, body)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });

  it('the error for an unknown model names it', async () => {
    const { error } = await admin('POST', root, { ...good, allowed_models: ['fast', 'nothing'] });
    expect(error?.message).toContain('nothing');
  });

  it('an unknown key is 404; a malformed version, or an owner id without its kind, is 400', async () => {
    const path = `${root}/00000000-0000-4000-8000-000000000000`;
    for (const [method, at] of [
      ['GET', path],
      ['PATCH', path],
      ['DELETE', path],
      ['GET', `${root}/x`],
      ['DELETE', `${root}/x`],
    ] as const)
      expect(await admin(method, at, method === 'PATCH' ? {} : undefined)).toMatchObject({
        status: 404,
        error: { code: 'not_found', param: 'api_key_id' },
      });
    expect(await admin('PATCH', path, {}, { 'if-match': '"x"' })).toMatchObject({
      status: 400,
      error: { param: 'if-match' },
    });
    const body = { name: 'new', owner_kind: 'team', owner_id: 'platform' };
    expect(await admin('POST', root, body, { 'if-match': '"1"' })).toMatchObject({
      status: 400,
      error: { param: 'if-match', message: 'What is at this path has no versions to match.' },
    });
    expect(await admin('GET', `${root}?owner_id=platform`)).toMatchObject({
      status: 400,
      error: { param: 'owner_kind' },
    });
  });
});

describe('a key from the file', () => {
  it('keeps a change over the API until the file is applied again; a revocation by an admin stays', async () => {
    const [listed] = itemsOf(await admin('GET', `${root}?name=dev&owner_kind=user`));
    expect(listed).toMatchObject({ name: 'dev', from_config: true, created_by: null });
    const path = `${root}/${String(listed?.['api_key_id'])}`;
    expect(dataOf(await admin('PATCH', path, { name: 'mine' }))).toMatchObject({
      name: 'mine',
      from_config: true,
    });
    const rotated = String(dataOf(await admin('POST', `${path}/rotate`, {}))['api_key']);
    await soon(rotated, 200);
    await replicas[0]!.take(config());
    await soon(key, 200);
    await soon(rotated, 401);
    expect(dataOf(await admin('GET', path))).toMatchObject({ name: 'dev', from_config: true });
    await admin('DELETE', path);
    await replicas[0]!.take(config({ api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: key }] }));
    await soon(key, 401);
    expect(await statuses(aKey())).toEqual([401, 401]);
  });
});
