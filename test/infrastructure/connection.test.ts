import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as t from 'io-ts';
import { type Connection, openConnection } from '../../infrastructure/postgres/connection.ts';
import { oneDatabase } from '../../infrastructure/postgres/ledger-place.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import { prepared } from '../../infrastructure/postgres/prepared.ts';
import { withDatabase } from '../support/database.ts';

const database = withDatabase();

describe('a PostgreSQL connection', () => {
  let connection: Connection;
  beforeEach(async () => {
    connection = await openConnection({ connectionString: database.url() });
  });
  afterEach(() => connection.close());

  it('keeps a parsed statement by its name, even if its call failed', async () => {
    const statement = { text: 'select 6 / $1::integer as quotient', name: 'quotient' };
    await expect(connection.call(statement, ['0'])).rejects.toMatchObject({ code: '22012' });
    expect(await connection.call(statement, ['2'])).toEqual([['3']]);
  });

  it('does not keep a statement that the server could not parse', async () => {
    const text = 'select there.is from nowhere there';
    for (let time = 0; time < 2; time += 1)
      await expect(connection.call({ text, name: 'nowhere' }, [])).rejects.toMatchObject({ code: '42P01' });
    expect(await connection.call({ text: 'select 1', name: 'somewhere' }, [])).toEqual([['1']]);
    expect(await connection.call({ text: 'select 1', name: 'somewhere' }, [])).toEqual([['1']]);
  });

  it('returns no rows of a statement that fails after them', async () => {
    const text = 'select 6 / (3 - i) from generate_series(1, 5) i';
    await expect(connection.call({ text, name: '' }, [])).rejects.toMatchObject({ code: '22012' });
  });

  it('is closed when the server terminates it, and notifies its listener with the error', async () => {
    const told = new Promise<Error | undefined>((resolve) => void connection.whenClosed(resolve));
    await connection.query('select pg_terminate_backend(pg_backend_pid())', []).catch(() => undefined);
    expect(await told).toBeInstanceOf(Error);
    expect(connection.isOpen()).toBe(false);
    await expect(connection.call({ text: 'select 1', name: '' }, [])).rejects.toBeInstanceOf(Error);
  });
});

describe('a prepared statement', () => {
  let pool: ServicePool;
  beforeEach(async () => {
    pool = await openPool(database.url(), 1);
  });
  afterEach(() => pool.end());

  const textRow = t.type({ ord: t.number, value: t.union([t.string, t.null]) });
  const texts = prepared(
    textRow,
    { ord: 'int4', value: 'text' },
    () => 'select ord::integer, value from unnest($1::text[]) with ordinality u(value, ord)',
  );

  it('always sends each text of an array unchanged', async () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }).filter((each) => !each.includes('\u0000') && each.isWellFormed()),
      fc.constantFrom('', ' ', 'null', 'NULL', '{', '}', ',', '"', '\\', '\\"', '{"a","b"}', '\n', '\t'),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text), { maxLength: 8 }), async (given) => {
        const rows = await texts.rows(oneDatabase(pool)(''), [given]);
        expect(rows).toEqual(given.map((value, index) => ({ ord: index + 1, value })));
      }),
      { numRuns: 60 },
    );
  });

  it('parses each column by its type, and returns null for null', async () => {
    const row = prepared(
      t.type({ day: t.unknown, whole: t.unknown, many: t.unknown, json: t.unknown, none: t.unknown }),
      { day: 'timestamptz', whole: 'int4', many: 'int8', json: 'jsonb', none: 'int8' },
      () =>
        `select timestamptz '2026-11-26 04:05:06.789+02', $1::integer, 9007199254740993, '{"a":[1]}'::jsonb, null`,
    );
    expect(await row.row(oneDatabase(pool)(''), [7])).toEqual({
      day: new Date('2026-11-26T02:05:06.789Z'),
      whole: 7,
      many: '9007199254740993',
      json: { a: [1] },
      none: null,
    });
  });
});

describe('finished statements', () => {
  it('grow the old generation of the heap by less than 2 MB', () => {
    expect(keptBytes(database.url())).toBeLessThan(2_000_000);
  });
});

/**
 * Bytes by which the old generation of a process grew over 4,000 statements, half of them prepared and half queries,
 * after a warm-up in which statements in flight were moved into it.
 */
function keptBytes(url: string): number {
  const folder = path.join(import.meta.dirname, '../../infrastructure/postgres');
  const urlOf = (file: string): string => JSON.stringify(pathToFileURL(path.join(folder, file)).href);
  const program = `
    import v8 from 'node:v8';
    import { openPool } from ${urlOf('pool.ts')};
    const { connections, end } = await openPool(${JSON.stringify(url)}, 1);
    const text = 'select $1::text as a, $2::text as b';
    const old = () => v8.getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
    const values = () => ['a'.repeat(1000), String(Math.random())];
    const ask = async (times) => {
      for (let n = 0; n < times; n += 1) {
        await connections.use((connection) => connection.call({ text, name: 'asked' }, values()), 5000);
        await connections.use((connection) => connection.query(text, values()), 5000);
      }
    };
    await ask(2000);
    for (let time = 0; time < 8; time += 1) {
      setTimeout(gc, 0);
      await ask(50);
    }
    const before = old();
    await ask(2000);
    process.stdout.write(String(old() - before));
    await end();
  `;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--max-semi-space-size=4', '--expose-gc', '--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}
