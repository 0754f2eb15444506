import { createHash } from 'node:crypto';
import type { Client } from 'pg';
import { type SqlFile, withStandIns } from '../migration-files.ts';
import { setTimeLimits } from '../long-transaction.ts';
import {
  copiesFor,
  functionName,
  functionsOfShards,
  shardSchema,
  type ShardNames,
  touchingFunctions,
} from './shard-functions.ts';
import { stepwise } from './stepwise.ts';
import { distributedTables, distributionColumn, leadingTable, referenceTables } from './tables.ts';

const tables = [...referenceTables, ...distributedTables];

/** The functions of a release. */
export interface CitusFunctions {
  /** For a single database. */
  readonly usual: readonly SqlFile[];
  /** For a cluster. */
  readonly applied: readonly SqlFile[];
}

/** A step of the distribution that a database still lacks. */
interface Step {
  /** For people. */
  readonly name: string;
  readonly take: (client: Client) => Promise<void>;
}

/**
 * Distributes the tables of a migrated database over the nodes of its cluster and gives each shard its functions.
 * Whatever is already there stays. Each step is one transaction, so the next call continues where a broken-off one
 * stopped. Returns the names of the steps that this call took.
 */
export async function distribute(client: Client, functions: CitusFunctions): Promise<readonly string[]> {
  const taken: string[] = [];
  for (const stage of stages)
    for (const { name, take } of await stage(client, functions)) {
      try {
        await take(client);
      } catch (cause) {
        // The session ends with this error, and so does its transaction.
        throw new Error(`The distribution failed at ${name}: ${String(cause)}`, { cause });
      }
      taken.push(name);
    }
  return taken;
}

/** The names of the steps that `distribute` would take now. Changes nothing. */
export async function undistributed(client: Client, functions: CitusFunctions): Promise<readonly string[]> {
  for (const stage of stages) {
    const steps = await stage(client, functions);
    if (steps.length > 0) return steps.map(({ name }) => name);
  }
  return [];
}

/** Why a database does not fit `database.distribution: none`, or `undefined` if it does. */
export async function whyDistributed(client: Client): Promise<string | undefined> {
  if (!(await hasCitus(client))) return undefined;
  const placed = await placedTables(client);
  return tables.some((table) => placed.has(table))
    ? 'its tables are distributed by Citus, and database.distribution is none'
    : undefined;
}

/** The functions of a cluster: some have stand-ins, and those that touch its tables are in a form that Citus plans. */
export function citusFunctions(usual: readonly SqlFile[], standIns: readonly SqlFile[]): CitusFunctions {
  const touching = new Set(touchingFunctions(usual, tables));
  const planned = usual.map((file) => (touching.has(file) ? stepwise(file) : file));
  return { usual, applied: withStandIns(planned, standIns) };
}

/** Why a database cannot be distributed, or `undefined` if it can. */
export async function whyNotDistributable(client: Client): Promise<string | undefined> {
  if (!(await hasCitus(client)))
    return 'database.distribution is citus, and it lacks the extension (create extension citus)';
  const { rows } = await client.query<{ group_id: number; has_coordinator: boolean }>(
    `select groupid as group_id, exists (select from pg_dist_node where groupid = 0) as has_coordinator
     from pg_dist_local_group`,
  );
  if (rows[0]?.group_id !== 0)
    return 'database.url leads to a worker of the cluster that does not know its coordinator (select citus_set_coordinator_host(…))';
  return rows[0].has_coordinator
    ? undefined
    : 'its coordinator is not a node of the cluster (select citus_set_coordinator_host(…))';
}

/** Whether the database has the Citus extension. */
export async function hasCitus(client: Client): Promise<boolean> {
  const { rowCount } = await client.query(`select from pg_extension where extname = 'citus'`);
  return rowCount === 1;
}

/** The names of the tables that Citus manages. */
async function placedTables(client: Client): Promise<ReadonlySet<string>> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
     where p.partmethod in ('n', 'h') and p.repmodel in ('t', 's')
       and (p.partmethod = 'h' or p.repmodel = 't')`,
  );
  return new Set(rows.map(({ name }) => name));
}

type Stage = (client: Client, functions: CitusFunctions) => Promise<readonly Step[]>;

const tablesStage: Stage = async (client) => {
  const placed = await placedTables(client);
  return tables
    .filter((table) => !placed.has(table) && table !== 'budget_alert_deliveries')
    .map((table) => ({ name: `table ${table}`, take: (session) => inTransaction(session, placing(table)) }));
};

/** The statements that place a table. A table that refers to another distributed table is placed together with it. */
function placing(table: string): readonly string[] {
  if ((referenceTables as readonly string[]).includes(table))
    return [`select create_reference_table('${table}')`];
  const placed = (name: string) =>
    `select create_distributed_table('${name}', '${distributionColumn}', colocate_with => '${
      name === leadingTable ? 'none' : leadingTable
    }')`;
  if (table !== 'budget_alerts') return [placed(table)];
  return [
    'alter table budget_alert_deliveries drop constraint budget_alert_deliveries_alert_fkey',
    placed('budget_alerts'),
    placed('budget_alert_deliveries'),
    `alter table budget_alert_deliveries add constraint budget_alert_deliveries_alert_fkey
       foreign key (budget_alert_id, ownership_scope_key) references budget_alerts`,
  ];
}

/**
 * Re-creates functions that the workers lack because they were created before the extension: functions on workers call
 * others, and Citus may send any statement of a report there. Creating a function again creates it on every node.
 */
const functionsStage: Stage = async (client, { applied }) => {
  const { rows } = await client.query<{ name: string }>(
    `select distinct p.proname as name from pg_proc p
     where p.pronamespace = current_schema()::regnamespace and p.proname = any ($1)
       and not exists (select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid)`,
    [applied.map(functionName)],
  );
  const missing = new Set(rows.map(({ name }) => name));
  const texts = applied.filter((file) => missing.has(functionName(file))).map(({ text }) => text);
  const plain =
    texts.length === 0
      ? []
      : [
          {
            name: 'functions of every node',
            take: (session: Client) =>
              inTransaction(session, ['set local check_function_bodies = off', ...texts]),
          },
        ];
  const { rowCount } = await client.query(
    `select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.distribution_argument_index is not null
     and o.objid = $1::regprocedure`,
    [lockFunction],
  );
  if (rowCount === 1) return plain;
  const statement =
    'select create_distributed_function($1, $2, colocate_with => $3, force_delegation => true)';
  const take = async (session: Client): Promise<void> =>
    void (await session.query(statement, [lockFunction, 'scope', leadingTable]));
  return [...plain, { name: `function ${lockFunction}`, take }];
};

/** The one function that is called on the coordinator and runs on the node of its scope. */
const lockFunction = 'gateway_lock_scope(text)';

/** A node that does not answer is left to the next call; the other nodes are served. */
const nodesStage: Stage = async (client) => {
  const { rows } = await client.query<{ name: string }>(
    `select nodename || ':' || nodeport as name
     from run_command_on_workers('select count(to_regclass(name)) = 2 from unnest(array[''gateway_processes'', ''write_probes'']) name')
     where success and result <> 't'`,
  );
  return rows.length === 0
    ? []
    : [
        {
          name: `own tables of ${rows.map(({ name }) => name).join(', ')}`,
          take: async (session) => {
            const made = await session.query<{ success: boolean; result: string }>(
              `select success, result from run_command_on_workers('select gateway_make_node_tables()')`,
            );
            const failed = made.rows.find(({ success }) => !success);
            if (failed !== undefined) throw new Error(failed.result);
          },
        },
      ];
};

/** Shards that lack the current functions. As with other functions, a text once applied is not applied again. */
const shardsStage: Stage = async (client, { usual }) => {
  const copied = functionsOfShards(usual, tables);
  const shards = await shardNames(client);
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select name, checksum from schema_functions where starts_with(name, 'gateway_shard_')`,
  );
  const known = new Set(rows.map(({ name, checksum }) => `${name} ${checksum}`));
  return shards.flatMap((shard) => {
    const texts = copiesFor(shard, copied);
    const checksum = createHash('sha256').update(texts.join('\n')).digest('hex');
    const schema = shardSchema(shard.id);
    if (known.has(`${schema} ${checksum}`)) return [];
    return [
      {
        name: `functions of ${schema}`,
        take: (session) =>
          inTransaction(session, [
            'set local check_function_bodies = off',
            `create schema if not exists ${schema}`,
            ...texts,
            `insert into schema_functions (name, checksum) values ('${schema}', '${checksum}')`,
          ]),
      },
    ];
  });
};

async function shardNames(client: Client): Promise<readonly ShardNames[]> {
  const { rows } = await client.query<{ id: string; numbers: Record<string, string> }>(
    `select l.shardid::text as id,
            (select json_object_agg(c.relname, s.shardid::text)
             from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
             where c.relname = any ($2) and (s.shardminvalue is null or s.shardminvalue = l.shardminvalue)) as numbers
     from pg_dist_shard l where l.logicalrelid = $1::regclass order by l.shardid`,
    [leadingTable, tables],
  );
  return rows.map(({ id, numbers }) => ({ id, numbers: new Map(Object.entries(numbers)) }));
}

const stages: readonly Stage[] = [tablesStage, functionsStage, nodesStage, shardsStage];

async function inTransaction(client: Client, statements: readonly string[]): Promise<void> {
  await client.query('begin');
  await client.query(setTimeLimits(0).sql);
  for (const statement of statements) await client.query(statement);
  await client.query('commit');
}
