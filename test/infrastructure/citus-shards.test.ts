import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { nodeUrl, withKeptPlans } from '../../infrastructure/postgres/citus/node-url.ts';
import {
  copiesFor,
  functionsOfShards,
  touchingFunctions,
} from '../../infrastructure/postgres/citus/shard-functions.ts';
import { type Shard, shardOf } from '../../infrastructure/postgres/citus/shard-map.ts';
import { stepwise } from '../../infrastructure/postgres/citus/stepwise.ts';
import { distributedTables, referenceTables } from '../../infrastructure/postgres/citus/tables.ts';
import { textHash } from '../../infrastructure/postgres/citus/text-hash.ts';
import {
  readCitusFunctions,
  readFunctions,
  type SqlFile,
  withStandIns,
} from '../../infrastructure/postgres/migration-files.ts';

const tables = [...referenceTables, ...distributedTables];
const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
const aFile = (name: string, text: string): SqlFile => ({
  name: `functions/${name}.sql`,
  text,
  checksum: '',
});

describe('the shard of a scope', () => {
  const shards: readonly Shard[] = [
    { id: '1', from: -2147483648, to: -1, node: { host: 'a', port: 1 } },
    { id: '2', from: 0, to: 2147483647, node: 'coordinator' },
  ];

  it('is the one whose range contains the hash of the scope', () => {
    expect([textHash(''), textHash('a')]).toEqual([-1477818771, 1075015857]);
    expect([shardOf(shards, '').id, shardOf(shards, 'a').id]).toEqual(['1', '2']);
  });

  it('throws if no shard has the scope', () => {
    expect(() => shardOf(shards.slice(1), '')).toThrow('no shard has this scope');
  });
});

describe('the tables of a cluster', () => {
  it('are distributed exactly if they have a scope, which is in their primary key, and have no triggers', async () => {
    const schema = await readFile(path.join(migrations, 'schema.sql'), 'utf8');
    const made = [...schema.matchAll(/^create (?:unlogged )?table (\w+) \(\n([^]*?)\n\)/gm)];
    const scoped = made.filter(([, , columns = '']) => /^ *.*\bownership_scope_key text\b/m.test(columns));
    expect(scoped.map(([, name = '']) => name).toSorted()).toEqual([...distributedTables].toSorted());
    for (const [, name = '', columns = ''] of scoped) {
      expect(columns).toMatch(new RegExp(`${name}_pkey PRIMARY KEY \\([^)]*ownership_scope_key`));
      expect(schema).not.toMatch(new RegExp(`CREATE TRIGGER .* ON ${name} `));
    }
    for (const name of referenceTables)
      expect(schema).not.toMatch(new RegExp(`CREATE TRIGGER .* ON ${name} `));
  });
});

describe('the functions of a shard', () => {
  const settle = aFile(
    'gateway_settle',
    'create or replace function gateway_settle(records json) returns void\nlanguage plpgsql as $$\nbegin\n' +
      '  insert into usage_rollups as r values (1) on conflict on constraint usage_rollups_pkey do nothing;\n' +
      '  perform helps(1); perform counts_only(2); perform end_rate_limit_holds(items);\nend $$;\n' +
      `comment on function gateway_settle is 'x';\n`,
  );
  const helps = aFile('helps', 'create or replace function helps(n int) as $$ select from users $$;');
  const counts = aFile('counts_only', 'create or replace function counts_only(n int) as $$ select 1 $$;');
  const apart = aFile('report', 'create or replace function report() as $$ select from usage_rollups $$;');
  const all = [settle, helps, counts, apart];

  it('are those that are called there, and the functions they call that touch a table', () => {
    expect(functionsOfShards(all, tables)).toEqual([settle, helps]);
    expect(touchingFunctions(all, tables)).toEqual([settle, helps, apart]);
  });

  it('use its tables and constraints, call each other, and hold the shard first', () => {
    const numbers = new Map([
      ['usage_rollups', '17'],
      ['users', '4'],
    ]);
    expect(copiesFor({ id: '9', numbers }, [settle, helps])).toEqual([
      'create or replace function gateway_shard_9.gateway_settle(records json) returns void\nlanguage plpgsql as $$\n' +
        `begin\n  if not gateway_hold_shard(9) then raise exception 'shard % is on another node', 9 using errcode = '08G01'; end if;\n` +
        '  insert into usage_rollups_17 as r values (1) on conflict on constraint usage_rollups_pkey_17 do nothing;\n' +
        '  perform gateway_shard_9.helps(1); perform counts_only(2); perform gateway_holds_elsewhere(items);\nend $$;\n',
      'create or replace function gateway_shard_9.helps(n int) as $$ select from users_4 $$;',
    ]);
  });

  it('are all of the money path, and none contains a table name without a shard number', async () => {
    const functions = functionsOfShards(await readFunctions(migrations), tables);
    expect(functions.map(({ name }) => name.slice('functions/'.length, -'.sql'.length))).toEqual([
      'active_budget',
      'budget_alert_recipients',
      'budget_in_force',
      'budgets_in_force',
      'drop_counted_down_rollups',
      'gateway_admit',
      'gateway_admit_scopes',
      'gateway_keep_bodies',
      'gateway_keep_payloads',
      'gateway_log',
      'gateway_log_one',
      'gateway_purge_request_logs',
      'gateway_settle',
      'raise_budget_alert',
      'window_spend',
    ]);
    const numbers = new Map(tables.map((table, index) => [table, String(100 + index)]));
    const words = new Set(copiesFor({ id: '1', numbers }, functions).join('\n').match(/\w+/g));
    expect(tables.filter((table) => words.has(table))).toEqual([]);
  });
});

describe('functions for Citus', () => {
  it('are rewritten from SQL to PL/pgSQL with the same result, and kept if they are PL/pgSQL', () => {
    const head = 'create or replace function f(scope text) returns';
    const body = (kind: string) =>
      aFile('f', `${head} ${kind}\nlanguage sql stable as $$\n  select 1\n$$;\n`);
    expect(
      [body('numeric'), body('table (a int)'), body('setof text')].map(stepwise).map(({ text }) => text),
    ).toEqual(
      ['return (select 1);', 'return query select 1;', 'return query select 1;'].map((answer, index) =>
        expect.stringMatching(
          new RegExp(
            `${['numeric', 'table \\(a int\\)', 'setof text'][index]}\\nlanguage plpgsql stable\\n[^]*use_column\\nbegin\\n  ${answer.replaceAll(/[()]/g, '\\$&')}\\nend`,
          ),
        ),
      ),
    );
    const other = aFile('f', `${head} void language plpgsql as $$ begin end $$;`);
    expect(stepwise(other)).toBe(other);
  });

  it('replace the functions for a single database that have the same file name', async () => {
    const [usual, others] = [await readFunctions(migrations), await readCitusFunctions(migrations)];
    const names = withStandIns(usual, others).map(({ name }) => name);
    expect(names).toContain('citus/gateway_admit.sql');
    expect(names).not.toContain('functions/gateway_admit.sql');
    expect(new Set(names.map((name) => name.split('/')[1])).size).toBe(names.length);
  });
});

describe('the URL of a node', () => {
  it.each([
    [
      'postgres://u:p@one,two:5433/db?target_session_attrs=read-write&sslmode=require',
      'postgres://u:p@w1:5432/db?sslmode=require',
    ],
    ['postgresql://u@localhost/db?host=/run/x', 'postgresql://u@w1:5432/db'],
    ['postgres://one/db', 'postgres://w1:5432/db'],
  ])('of %s has the host and port of the node', (url, node) => {
    expect(nodeUrl(url, 'w1', 5432)).toBe(node);
  });

  it('has an IPv6 address in brackets', () => {
    expect(nodeUrl('postgres://one/db', '::1', 5432)).toBe('postgres://[::1]:5432/db');
  });

  it('forces generic plans, and keeps the options that the URL has', () => {
    const options = (url: string) => new URL(withKeptPlans(url)).searchParams.get('options');
    expect(options('postgres://one/db')).toBe('-c plan_cache_mode=force_generic_plan');
    expect(options('postgres://one/db?options=-c%20work_mem%3D8MB')).toBe(
      '-c work_mem=8MB -c plan_cache_mode=force_generic_plan',
    );
  });
});
