import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { migrate, newerMigrations, pendingMigrations } from '../../infrastructure/postgres/migrate.ts';
import { type TestDatabase, createDatabase, withDatabase } from '../support/database.ts';
import { connected, makeTestFolder } from '../support/test-server.ts';

const projectRoot = path.join(import.meta.dirname, '..', '..');

let database: TestDatabase;
let dir: string;

const write = (name: string, text: string): Promise<void> => writeFile(path.join(dir, name), text);

const query = async (url: string, sql: string): Promise<readonly unknown[]> =>
  connected(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows);

const migrateFrom = (folder: string, lockTimeoutMs?: number): Promise<readonly string[]> =>
  migrate(database.url, folder, 'none', lockTimeoutMs);

const pendingIn = (folder: string): Promise<readonly string[]> =>
  pendingMigrations(database.url, folder, 'none');

const migrateInNewProcess = async (url: string): Promise<readonly string[]> => {
  const module = pathToFileURL(path.join(projectRoot, 'infrastructure/postgres/migrate.ts')).href;
  const script = `const { migrate } = await import(${JSON.stringify(module)});
    console.log(JSON.stringify(await migrate(${JSON.stringify(url)}, ${JSON.stringify(dir)}, 'none')));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (data: Buffer) => {
    printed += data.toString();
  });
  await once(child, 'close');
  return JSON.parse(printed) as readonly string[];
};

beforeEach(async () => {
  database = await createDatabase({ empty: true });
  dir = await makeTestFolder('migrations');
});

afterEach(() => database.drop());

describe('migrate', () => {
  it('applies the files in the order of their numbers, once, and returns their names', async () => {
    await write('0002_add.sql', 'ALTER TABLE a ADD COLUMN n integer;');
    await write('0001_first.sql', 'CREATE TABLE a (id integer); CREATE TABLE b (id integer);');

    expect(await migrateFrom(dir)).toEqual(['0001_first.sql', '0002_add.sql']);
    expect(await migrateFrom(dir)).toEqual([]);
    expect(await query(database.url, 'SELECT n FROM a')).toEqual([]);
    expect(await query(database.url, 'SELECT version, name FROM schema_migrations ORDER BY 1')).toEqual([
      { version: 1, name: '0001_first.sql' },
      { version: 2, name: '0002_add.sql' },
    ]);
  });

  it('does nothing for a folder without migrations that has other files', async () => {
    await write('schema.sql', 'not a migration');
    await write('README.md', 'not a migration either');
    expect(await migrateFrom(dir)).toEqual([]);
    expect(await pendingIn(dir)).toEqual([]);
  });

  it('applies the files in one of four processes at the same time while the others wait', async () => {
    await write('0001_slow.sql', 'CREATE TABLE a (id integer); SELECT pg_sleep(1);');
    await write('0002_next.sql', 'CREATE TABLE b (id integer);');
    const applied = await Promise.all([1, 2, 3, 4].map(() => migrateInNewProcess(database.url)));
    expect(applied.toSorted((a, b) => b.length - a.length)).toEqual([
      ['0001_slow.sql', '0002_next.sql'],
      [],
      [],
      [],
    ]);
  });

  it('fails with a clear error if another process holds the lock too long', async () => {
    await query(database.url, 'CREATE TABLE held (id integer)');
    await write('0001_slow.sql', 'SELECT FROM held;');
    await connected(database.url, async (holder) => {
      await holder.query('BEGIN; LOCK TABLE held');
      const slow = migrateFrom(dir);
      const began = Date.now();
      const locks = `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE l.locktype = 'advisory' AND d.datname = current_database()`;
      while ((await query(database.url, locks)).length === 0) {
        expect(Date.now() - began).toBeLessThan(30_000);
      }
      await expect(migrateFrom(dir, 200)).rejects.toThrow(
        'Another process has been migrating the database for 0.2 s',
      );
      await holder.query('ROLLBACK');
      expect(await slow).toEqual(['0001_slow.sql']);
    });
  });

  it('applies a file completely or not at all, and names the file and the line of an error', async () => {
    await write('0001_good.sql', 'CREATE TABLE a (id integer);');
    await write('0002_bad.sql', 'CREATE TABLE b (id integer);\n\nINSERT INTO nowhere VALUES (1);\n');

    await expect(migrateFrom(dir)).rejects.toThrow(
      'Migration 0002_bad.sql failed in line 3: error: relation "nowhere" does not exist',
    );
    expect(
      await query(database.url, `SELECT to_regclass('a') IS NULL AS a, to_regclass('b') IS NULL AS b`),
    ).toEqual([{ a: false, b: true }]);
    expect(await pendingIn(dir)).toEqual(['0002_bad.sql']);
  });

  it('does not carry a setting of one file into the next', async () => {
    await write('0001_dump.sql', `SELECT pg_catalog.set_config('search_path', '', false);`);
    await write('0002_next.sql', 'CREATE TABLE a (id integer);');
    expect(await migrateFrom(dir)).toHaveLength(2);
  });

  it('runs a file marked -- no-transaction outside of a transaction', async () => {
    await write('0001_table.sql', 'CREATE TABLE a (id integer);');
    await write('0002_index.sql', 'CREATE INDEX CONCURRENTLY IF NOT EXISTS a_id ON a (id);');
    await expect(migrateFrom(dir)).rejects.toThrow(/0002_index.sql failed.*transaction block/);

    await write(
      '0002_index.sql',
      '-- no-transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS a_id ON a (id);',
    );
    expect(await Promise.all([migrateFrom(dir), migrateFrom(dir)])).toContainEqual(['0002_index.sql']);
    expect(
      await query(database.url, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'a_id'::regclass"),
    ).toEqual([{ indisvalid: true }]);
  });

  it('refuses a file that was changed after it was applied', async () => {
    await write('0001_first.sql', 'CREATE TABLE a (id integer);\n');
    await migrateFrom(dir);
    await write('0001_first.sql', 'CREATE TABLE a (id bigint);\n');
    const error = 'Migration 0001_first.sql was changed after it was applied (as 0001_first.sql)';
    await expect(migrateFrom(dir)).rejects.toThrow(error);
    await expect(pendingIn(dir)).rejects.toThrow(error);
  });

  it('accepts an applied file with other line ends', async () => {
    await write('0001_first.sql', 'CREATE TABLE a (\n  id integer\n);\n');
    await migrateFrom(dir);
    await write('0001_first.sql', 'CREATE TABLE a (\r\n  id integer\r\n);\r\n');
    expect(await migrateFrom(dir)).toEqual([]);
  });

  it('does not change a database that is newer than the files, nor its functions, and names its newer migrations', async () => {
    const functionSaying = (word: string): string =>
      `create or replace function word() returns text language sql as 'select ''${word}''';`;
    await write('0001_first.sql', 'SELECT 1;');
    await write('0002_second.sql', 'SELECT 2;');
    await mkdir(path.join(dir, 'functions'));
    await write('functions/word.sql', functionSaying('newer'));
    await migrateFrom(dir);
    expect(await newerMigrations(database.url, dir)).toEqual([]);
    dir = await makeTestFolder('migrations');
    await write('0001_first.sql', 'SELECT 1;');
    await mkdir(path.join(dir, 'functions'));
    await write('functions/word.sql', functionSaying('older'));
    expect(await pendingIn(dir)).toEqual([]);
    expect(await migrateFrom(dir)).toEqual([]);
    expect(await newerMigrations(database.url, dir)).toEqual(['0002_second.sql']);
    expect(await query(database.url, 'select word()')).toEqual([{ word: 'newer' }]);
  });

  it('refuses a database that lacks a migration before one it has', async () => {
    await write('0001_first.sql', 'SELECT 1;');
    await write('0002_second.sql', 'SELECT 2;');
    await migrateFrom(dir);
    await query(database.url, 'DELETE FROM schema_migrations WHERE version = 1');
    await expect(migrateFrom(dir)).rejects.toThrow(
      'The database lacks migration 0001, but has 0002_second.sql applied after it',
    );
  });

  it.each([
    [['0001_a.sql', '0003_c.sql'], 'Migration 0003_c.sql should have the number 0002'],
    [['0001_a.sql', '0001_b.sql'], 'Migration 0001_b.sql should have the number 0002'],
    [['0002_b.sql'], 'Migration 0002_b.sql should have the number 0001'],
    [['1_short.sql'], 'Migration 1_short.sql is not named like 0001_what_it_does.sql'],
    [['add_index.sql'], 'Migration add_index.sql is not named like 0001_what_it_does.sql'],
  ])('refuses the files %p', async (names, error) => {
    for (const name of names) await write(name, 'SELECT 1;');
    await expect(migrateFrom(dir)).rejects.toThrow(error);
    await expect(pendingIn(dir)).rejects.toThrow(error);
  });
});

describe('the functions', () => {
  const made = (name: string, body: string): string =>
    `create or replace function ${name}() returns integer language sql as $$ ${body} $$;`;
  const release = async (folder: string, functions: Readonly<Record<string, string>>): Promise<string> => {
    const own = await makeTestFolder(folder);
    await mkdir(path.join(own, 'functions'));
    await writeFile(path.join(own, '0001_table.sql'), 'create table a (n integer);');
    for (const [name, body] of Object.entries(functions))
      await writeFile(path.join(own, 'functions', `${name}.sql`), made(name, body));
    return own;
  };
  const answer = async (name: string) =>
    (await query(database.url, `select ${name}() as answer`)) as readonly { readonly answer: unknown }[];

  it('are created after the tables, in any order among themselves, and again if their text has changed', async () => {
    const first = await release('first', { one: 'select two() + count(*)::integer from a', two: 'select 2' });
    expect(await pendingIn(first)).toEqual(['0001_table.sql', 'functions/one.sql', 'functions/two.sql']);
    expect(await migrateFrom(first)).toEqual(['0001_table.sql', 'functions/one.sql', 'functions/two.sql']);
    expect(await answer('one')).toEqual([{ answer: 2 }]);
    expect(await migrateFrom(first)).toEqual([]);

    const second = await release('second', {
      one: 'select two() + count(*)::integer from a',
      two: 'select 3',
    });
    expect(await pendingIn(second)).toEqual(['functions/two.sql']);
    expect(await migrateFrom(second)).toEqual(['functions/two.sql']);
    expect(await answer('one')).toEqual([{ answer: 3 }]);
  });

  it('of an older release are not applied again when it restarts during a roll-out', async () => {
    const [older, newer] = [
      await release('older', { f: 'select 1' }),
      await release('newer', { f: 'select 2' }),
    ];
    await migrateFrom(older);
    await migrateFrom(newer);
    expect(await pendingIn(older)).toEqual([]);
    expect(await migrateFrom(older)).toEqual([]);
    expect(await answer('f')).toEqual([{ answer: 2 }]);
  });

  it('are applied completely or not at all, and the file and the line of an error are named', async () => {
    await migrateFrom(await release('good', { a: 'select 1', b: 'select 1' }));
    const bad = await release('bad', { a: 'select 2', b: 'select 1\n from nowhere' });
    await expect(migrateFrom(bad)).rejects.toThrow(
      'functions/b.sql failed in line 2: error: relation "nowhere" does not exist',
    );
    expect(await answer('a')).toEqual([{ answer: 1 }]);
    expect(await pendingIn(bad)).toEqual(['functions/a.sql', 'functions/b.sql']);
  });

  it('with a changed return type are refused under the same name, and created under another one', async () => {
    await migrateFrom(await release('before', { f: 'select 1' }));
    const withText = async (name: string): Promise<string> => {
      const after = await release('after', {});
      const text = `create or replace function ${name}() returns text language sql as $$ select '2' $$;`;
      await writeFile(path.join(after, 'functions', `${name}.sql`), text);
      return after;
    };
    await expect(migrateFrom(await withText('f'))).rejects.toThrow(
      'functions/f.sql failed: error: cannot change return type of existing function',
    );
    expect(await migrateFrom(await withText('g'))).toEqual(['functions/g.sql']);
    expect([await answer('f'), await answer('g')]).toEqual([[{ answer: 1 }], [{ answer: '2' }]]);
  });

  it.each([
    ['two in one file', `${made('f', 'select 1')}\n${made('g', 'select 1')}`],
    ['another name', made('g', 'select 1')],
    ['a table', 'create table f (n integer);'],
    ['no `or replace`', made('f', 'select 1').replace('or replace ', '')],
  ])('are one per file, with its name, and replace the previous one: %s is refused', async (_, text) => {
    const folder = await release('odd', {});
    await writeFile(path.join(folder, 'functions', 'f.sql'), text);
    await expect(migrateFrom(folder)).rejects.toThrow('functions/f.sql should hold one statement');
  });
});

describe('pendingMigrations', () => {
  it('names what migrate would apply and changes nothing', async () => {
    await write('0001_first.sql', 'CREATE TABLE a (id integer);');
    await write('0002_second.sql', 'CREATE TABLE b (id integer);');
    expect(await pendingIn(dir)).toEqual(['0001_first.sql', '0002_second.sql']);
    expect(await query(database.url, `SELECT to_regclass('schema_migrations') AS t`)).toEqual([{ t: null }]);
    await migrateFrom(dir);
    expect(await pendingIn(dir)).toEqual([]);
  });
});

describe('the database of a suite', () => {
  const own = withDatabase();

  it('has every migration of the project applied', async () => {
    const names = await readdir(path.join(projectRoot, 'migrations'));
    expect(await pendingMigrations(own.url(), path.join(projectRoot, 'migrations'), 'none')).toEqual([]);
    const rows = await query(own.url(), 'SELECT name FROM schema_migrations ORDER BY version');
    expect(rows).toEqual(names.filter((name) => /^\d/.test(name)).map((name) => ({ name })));
  });

  it('can be created six times at the same time, and dropped', async () => {
    const made = await Promise.all(Array.from({ length: 6 }, () => createDatabase()));
    expect(new Set(made.map(({ url }) => url)).size).toBe(6);
    await connected(own.url(), async (client) => {
      await Promise.all(made.map(({ drop }) => drop()));
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = ANY ($1)', [
        made.map(({ url }) => new URL(url).pathname.slice(1)),
      ]);
      expect(rowCount).toBe(0);
    });
  });
});
