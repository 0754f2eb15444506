import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { schemaDump } from '../support/schema-dump.ts';
import { connected } from '../support/test-server.ts';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
const database = withDatabase();

describe('migrations/schema.sql', () => {
  const committed = (): Promise<string> => readFile(path.join(migrations, 'schema.sql'), 'utf8');

  it('is what the migrations come to (else: npm run schema:dump)', async () => {
    expect(await connected(database.url(), schemaDump)).toBe(await committed());
  });

  it('names every file of functions, and where the functions are that stand in numbered files', async () => {
    const lines = (await committed()).split('\n').filter((line) => line.startsWith('-- function '));
    for (const file of await readdir(path.join(migrations, 'functions')))
      expect(
        lines.filter((line) => line.startsWith(`-- function ${file.slice(0, -'.sql'.length)}(`)),
      ).toHaveLength(1);
  });

  it('has a comment on every table', async () => {
    const text = await committed();
    for (const [, table] of text.matchAll(/^create (?:unlogged )?table (\w+) \(/gm))
      expect(text).toContain(`comment on table ${table} is '`);
  });
});
