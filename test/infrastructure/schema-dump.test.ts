import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { schemaDump } from '../support/schema-dump.ts';
import { connected } from '../support/test-server.ts';

const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
const database = withDatabase();

describe('migrations/schema.sql', () => {
  const committed = (): Promise<string> => readFile(path.join(migrations, 'schema.sql'), 'utf8');

  it('is the schema that the migrations create (else: npm run schema:dump)', async () => {
    expect(await connected(database.url(), schemaDump)).toBe(await committed());
  });

  it('lists the function of each file in migrations/functions exactly once', async () => {
    const lines = (await committed()).split('\n').filter((line) => line.startsWith('-- function '));
    for (const file of await readdir(path.join(migrations, 'functions')))
      expect(
        lines.filter((line) => line.startsWith(`-- function ${file.slice(0, -'.sql'.length)}(`)),
      ).toHaveLength(1);
  });

  it('has every function of the previous release, whose replicas call it during a rollout, and no overloads', async () => {
    const released = await readFile(path.join(import.meta.dirname, 'released-functions.txt'), 'utf8');
    const lines = new Set((await committed()).split('\n'));
    expect(released).toContain('-- function gateway_settle(');
    expect(released.split('\n').filter((line) => line !== '' && !lines.has(line))).toEqual([]);
    // Statements that refer to a function by its name alone could not distinguish two signatures.
    const names = [...lines].flatMap((line) => /^-- function (\w+)\(/.exec(line)?.[1] ?? []);
    expect(names).toEqual([...new Set(names)]);
  });

  it('has a comment on every table', async () => {
    const text = await committed();
    for (const [, table] of text.matchAll(/^create (?:unlogged )?table (\w+) \(/gm))
      expect(text).toContain(`\n-- ${table}: `);
  });
});

describe('the database schema', () => {
  const query = queries(database.url);
  const names = async (text: string): Promise<readonly string[]> =>
    (await query<{ name: string }>(text)).map(({ name }) => name);
  const scoped = `select attrelid from pg_attribute join pg_class c on c.oid = attrelid and c.relkind in ('r', 'p')
                  where attname = 'ownership_scope_key'`;
  const columnsOf = (key: string): string =>
    `(select array_agg(attname::text) from pg_attribute where attrelid = k.conrelid and attnum = any (k.${key}))`;

  it('has the ownership scope in every primary and unique key of the tables that requests write', async () => {
    const written = [
      'blocked_answers',
      'budget_alert_deliveries',
      'budget_alerts',
      'budget_window_closures',
      'harness_rollups',
      'request_claims',
      'request_log_attempts',
      'request_log_payloads',
      'request_log_tags',
      'request_logs',
      'tool_cardinality_rollups',
      'usage_cost_events',
      'usage_daily_totals',
      'usage_rollups',
    ];
    expect(
      await names(
        `select relname as name from pg_class
         where oid in (${scoped}) and not relispartition order by relname collate "C"`,
      ),
    ).toEqual(written);
    expect(
      await names(
        `select indexrelid::regclass::text as name from pg_index i
         where indrelid in (${scoped}) and indisunique
           and not exists (select from pg_attribute a where a.attrelid = i.indexrelid and a.attname = 'ownership_scope_key')`,
      ),
    ).toEqual([]);
    expect(
      await names(
        `select c.relname as name from pg_class c where c.oid in (${scoped})
         and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`,
      ),
    ).toEqual([]);
  });

  it('has no foreign key from one ownership scope to another', async () => {
    expect(
      await names(
        `select conname as name from pg_constraint k
         where contype = 'f' and (conrelid in (${scoped}) or confrelid in (${scoped}))
           and not (${columnsOf('conkey')} @> array['ownership_scope_key'])`,
      ),
    ).toEqual([]);
  });

  it('has a replica identity without generated columns in every table, which logical replication needs', async () => {
    const lacking = await names(
      `select relname as name from pg_class c
       where relkind in ('r', 'p') and relpersistence = 'p' and relnamespace = current_schema()::regnamespace
         and not exists (
           select from pg_index i where i.indrelid = c.oid
             and case relreplident when 'd' then i.indisprimary when 'i' then i.indisreplident end
             and not exists (select from pg_attribute a
                             where a.attrelid = c.oid and a.attnum = any (i.indkey) and a.attgenerated <> ''))`,
    );
    expect(lacking).toEqual([]);
  });

  it('has no trigger but the one that makes admin events append-only', async () => {
    expect(await names('select tgname as name from pg_trigger where not tgisinternal')).toEqual([
      'admin_events_append_only_trigger',
    ]);
  });

  it('turns off JIT in exactly those functions that forbid some kinds of plans', async () => {
    const forbids = (what: string): string =>
      `select proname as name from pg_proc where array_to_string(proconfig, ' ') ~ '${what}' order by 1`;
    const withoutChoice = await names(forbids('enable_\\w+=off'));
    expect(withoutChoice).toContain('gateway_settle');
    expect(await names(forbids('jit=off'))).toEqual(withoutChoice);
  });

  it('has a function `log_id_floor` that returns the lowest log id of an instant', async () => {
    expect(await query(`select log_id_floor('2026-11-01T00:00:00Z') as id`)).toEqual([
      { id: '01a19467-e800-0000-0000-000000000000' },
    ]);
  });
});
