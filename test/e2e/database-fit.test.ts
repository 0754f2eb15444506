import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { pendingMigrations } from '../../infrastructure/postgres/migrate.ts';
import { createDatabase, type TestDatabase, withDatabase } from '../support/database.ts';
import { aKey, basicConfig, runGateway } from '../support/gateway.ts';
import { connected } from '../support/test-server.ts';

const database = withDatabase();
let empty: TestDatabase;
let folder: string;

beforeAll(async () => {
  empty = await createDatabase({ empty: true });
  folder = await mkdtemp(path.join(tmpdir(), 'gateway-fit-'));
});
afterAll(async () => {
  await empty.drop();
  await rm(folder, { recursive: true });
});

async function check(url: string | undefined, distribution: 'none' | 'citus') {
  const file = path.join(folder, 'gateway.yaml');
  const config = basicConfig('http://127.0.0.1:9', aKey());
  await writeFile(file, stringify({ ...config, database: { distribution } }));
  return runGateway(['check-config', file, '--database'], {
    ...(url === undefined ? {} : { DATABASE_URL: url }),
    GATEWAY_DATA_DIR: folder,
  });
}

describe('gateway check-config --database', () => {
  it('accepts a database with all migrations', async () => {
    const { code, out, err } = await check(database.url(), 'none');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^the database: fits the file$/m);
  });

  it('says that nothing was asked where no URL is given', async () => {
    const { code, out, err } = await check(undefined, 'none');
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^the database: no URL is given, so it is the embedded one$/m);
  });

  it('names the first migration that a database lacks', async () => {
    const { code, err } = await check(empty.url, 'none');
    expect(code).toBe(1);
    expect(err).toContain('error the database: gateway migrate has to be run: it lacks 0001_identity.sql');
  });

  it('says why a database cannot be reached', async () => {
    const nowhere = new URL(database.url());
    nowhere.pathname = '/no_such_database';
    const { code, err } = await check(nowhere.href, 'none');
    expect(code).toBe(1);
    expect(err).toContain('The database cannot be reached: database "no_such_database" does not exist');
  });

  /** Calls `run` with the environment of commands for a new database of this encoding. */
  async function inDatabaseOf<A>(
    encoding: string,
    run: (env: { readonly GATEWAY_CONFIG: string; readonly DATABASE_URL: string }) => Promise<A>,
  ): Promise<A> {
    const name = `gateway_encoded_${randomBytes(8).toString('hex')}`;
    const ask = (text: string) => connected(database.url(), (client) => client.query(text));
    await ask(
      `create database ${name} encoding '${encoding}' locale_provider libc locale 'C' template template0`,
    );
    const url = new URL(database.url());
    url.pathname = `/${name}`;
    const given = await run({
      GATEWAY_CONFIG: path.join(folder, 'gateway.yaml'),
      DATABASE_URL: url.href,
    });
    await ask(`drop database ${name} with (force)`);
    return given;
  }

  it('SQL_ASCII, which keeps bytes unchanged, is accepted by migrate', async () => {
    const { code, err } = await inDatabaseOf('SQL_ASCII', (env) => runGateway(['migrate'], env));
    expect([code, err]).toEqual([0, '']);
  });

  it('refuses an encoding that cannot store every text, and so do migrate and serve', async () => {
    const refused = await inDatabaseOf('LATIN1', async (env) => [
      await check(env.DATABASE_URL, 'none'),
      await runGateway(['migrate'], env),
      await runGateway(['serve'], env),
    ]);
    for (const { code, err } of refused) {
      expect(code).toBe(1);
      expect(err).toContain('the database has the encoding LATIN1, and texts of callers need UTF8');
    }
  });

  it('refuses a database with a schema_migrations table of another program', async () => {
    const shared = await createDatabase({ empty: true });
    await connected(shared.url, (client) =>
      client.query('create table schema_migrations (version text primary key)'),
    );
    const { code, err } = await check(shared.url, 'none');
    await shared.drop();
    expect(code).toBe(1);
    expect(err).toContain('a table schema_migrations of another program');
  });

  it('refuses a single server if distribution is citus', async () => {
    const { code, err } = await check(database.url(), 'citus');
    expect(code).toBe(1);
    expect(err).toContain('error the database: ');
    expect(err).toContain('lacks');
  });
});

describe('gateway migrate with distribution: citus', () => {
  it('fails without the citus extension and applies nothing', async () => {
    const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
    await expect(pendingMigrations(database.url(), migrations, 'citus')).rejects.toThrow(
      'create extension citus',
    );
    const { out, err, code } = await migrateTo('citus');
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain('create extension citus');
    expect(await pendingMigrations(database.url(), migrations, 'none')).toEqual([]);
  });
});

async function migrateTo(distribution: string) {
  const file = path.join(folder, 'gateway.yaml');
  await writeFile(
    file,
    stringify({ ...basicConfig('http://127.0.0.1:9', aKey()), database: { distribution } }),
  );
  return runGateway(['migrate'], {
    GATEWAY_CONFIG: file,
    DATABASE_URL: database.url(),
    GATEWAY_DATA_DIR: folder,
  });
}
