import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  queries,
  runGateway,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { startCommand } from './processes.ts';

const database = withDatabase();
const query = queries(database.url);
const key = aKey();
const password = 'correct horse battery canary';
let folder = '';
let gateway: TestGateway;

const config = basicConfig('http://127.0.0.1:1/v1', key, {
  more: {
    users: [
      { email: 'a@example.com', name: 'A' },
      { email: 'listed@example.com', name: 'L', role: 'platform_admin' },
    ],
  },
});

beforeAll(async () => {
  folder = await makeTestFolder('admin-command');
  await writeFile(path.join(folder, 'gateway.yaml'), stringify(config));
  gateway = await startGateway(config, database.url());
});
afterAll(() => gateway?.stop());

const env = (over: Readonly<Record<string, string>> = {}) => ({
  GATEWAY_CONFIG: path.join(folder, 'gateway.yaml'),
  DATABASE_URL: database.url(),
  ...over,
});

async function logIn(email: string, password: string) {
  const answer = await fetch(`${gateway.url}/api/v1/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  await answer.arrayBuffer();
  return { status: answer.status, cookie: (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '' };
}

async function session(cookie: string): Promise<number> {
  const answer = await fetch(`${gateway.url}/api/v1/auth/session`, { headers: { cookie } });
  await answer.arrayBuffer();
  return answer.status;
}

const passwords = () =>
  query<{ email: string }>('select email from users join user_passwords using (user_id)');

describe('serve with GATEWAY_ADMIN_EMAIL and GATEWAY_ADMIN_PASSWORD', () => {
  async function serve(over: Readonly<Record<string, string>>): Promise<string> {
    const serving = startCommand(['serve'], env(over));
    await serving.says(/"url":"/);
    serving.child.kill('SIGTERM');
    expect(await serving.exited).toEqual({ code: 0, signal: null });
    return serving.out() + serving.err();
  }

  it('creates no admin if only one of the two is set, and says that both are needed', async () => {
    expect(await serve({ GATEWAY_ADMIN_EMAIL: 'first@example.com' })).toContain('must be set together');
    expect(await passwords()).toEqual([]);
  });

  it('fails to start if the password is too short', async () => {
    const over = { GATEWAY_ADMIN_EMAIL: 'first@example.com', GATEWAY_ADMIN_PASSWORD: 'short' };
    const { code, out, err } = await runGateway(['serve'], env(over));
    expect(code).toBe(1);
    expect(err).toContain('GATEWAY_ADMIN_PASSWORD: A password must have at least 12 characters');
    expect(out + err).not.toContain('short');
    expect(await passwords()).toEqual([]);
  });

  it('creates that admin only while no platform admin with a password exists', async () => {
    const first = { GATEWAY_ADMIN_EMAIL: 'first@example.com', GATEWAY_ADMIN_PASSWORD: password };
    expect(await serve(first)).not.toContain(password);
    expect((await logIn('first@example.com', password)).status).toBe(200);

    const second = { GATEWAY_ADMIN_EMAIL: 'second@example.com', GATEWAY_ADMIN_PASSWORD: 'x' };
    await serve(second);
    await serve({ ...first, GATEWAY_ADMIN_PASSWORD: `${password} two` });
    expect(await passwords()).toEqual([{ email: 'first@example.com' }]);
    expect((await logIn('first@example.com', password)).status).toBe(200);
  });
});

describe('gateway admin create', () => {
  const create = (email: string, password?: string) =>
    runGateway(
      ['admin', 'create', '--email', email],
      env(password === undefined ? {} : { GATEWAY_ADMIN_PASSWORD: password }),
    );

  it.each([
    [['admin'], 'usage: admin create --email E'],
    [['admin', 'remove', '--email', 'a@example.com'], 'usage: admin create --email E'],
    [['admin', 'create'], 'usage: admin create --email E'],
    [['admin', 'create', 'a@example.com'], "usage: Unexpected argument 'a@example.com'"],
    [['admin', 'create', '--email', 'a@example.com'], 'GATEWAY_ADMIN_PASSWORD'],
  ])('%j exits with code 2 and says what is missing or unexpected', async (args, says) => {
    const { code, out, err } = await runGateway(args, env());
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(says);
  });

  it.each([
    ['a@example.com', 'eleven char', 'at least 12 characters'],
    ['no address', password, '"no address" is not an e-mail address'],
  ])('%s with the password %j is refused with exit code 1', async (email, password, says) => {
    const { code, err } = await create(email, password);
    expect(code).toBe(1);
    expect(err).toContain(says);
  });

  it('makes a new person, and a user from the file, a platform admin who can log in', async () => {
    for (const email of ['New@example.com', 'a@example.com', 'listed@example.com']) {
      const made = await create(email, password);
      expect(made).toMatchObject({ code: 0, err: '' });
      expect(made.out).toContain(email);
      expect(made.out).not.toContain(password);
      expect((await logIn(email.toLowerCase(), password)).status).toBe(200);
    }
    expect(await query("select role from users where email = 'new@example.com'")).toEqual([
      { role: 'platform_admin' },
    ]);
  });

  it('gives a person whom it changes a new version, so that no change to the earlier one is made', async () => {
    await query("insert into users (email, name, active) values ('left@example.com', 'Left', false)");
    const version = async () =>
      (await query<{ version: number }>("select version from users where email = 'left@example.com'"))[0]
        ?.version;
    expect(await version()).toBe(1);
    expect((await create('left@example.com', password)).code).toBe(0);
    expect(await version()).toBe(2);
    // A new password alone changes nothing of the person.
    expect((await create('left@example.com', 'another passphrase')).code).toBe(0);
    expect(await version()).toBe(2);
  });

  it('sets a new password and ends the existing sessions', async () => {
    const { cookie } = await logIn('new@example.com', password);
    expect(await session(cookie)).toBe(200);
    expect((await create('new@example.com', 'another passphrase')).code).toBe(0);
    expect(await session(cookie)).toBe(401);
    expect((await logIn('new@example.com', password)).status).toBe(401);
    expect((await logIn('new@example.com', 'another passphrase')).status).toBe(200);
  });

  it('a role is that of the file again once the file is applied', async () => {
    const roles = async () =>
      query<{ email: string; role: string }>(
        "select email, role from users where email in ('a@example.com', 'listed@example.com') order by email",
      );
    await gateway.take(config);
    expect(await roles()).toEqual([
      { email: 'a@example.com', role: 'user' },
      { email: 'listed@example.com', role: 'platform_admin' },
    ]);
  });
});
