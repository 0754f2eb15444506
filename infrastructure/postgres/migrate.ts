import { type Client, DatabaseError } from 'pg';
import { withAdvisoryLock } from './advisory-lock.ts';
import { withClient } from './client.ts';
import type { Distribution } from './distribution.ts';
import {
  type CitusFunctions,
  citusFunctions,
  distribute,
  undistributed,
  whyDistributed,
  whyNotDistributable,
} from './citus/distribute.ts';
import {
  type Migration,
  padded,
  readCitusFunctions,
  readFunctions,
  readMigrations,
  type SqlFile,
} from './migration-files.ts';
import { setTimeLimits } from './long-transaction.ts';

/** Number of the advisory lock that lets one process at a time migrate a database. */
const migrationLock = 4_071_771_003;

/** How long to wait for another process that migrates; orchestrators give a start about as long. */
const defaultLockTimeoutMs = 60_000;

interface FunctionText {
  readonly name: string;
  readonly checksum: string;
}

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/**
 * Applies the migrations of the folder `dir` that the database lacks, in the order of their numbers, then every
 * function whose text the database has never had. Returns the names of the files that this call applied.
 *
 * Any number of processes may call it at once: one migrates, the others wait for it, at most 60 s.
 *
 * Each file is one transaction. A file whose first line is `-- no-transaction` holds a single statement that PostgreSQL
 * refuses inside one (`create index concurrently`), and that may be run again. All functions are one transaction.
 *
 * A database that is newer than the folder (`newerMigrations`) stays as it is: its functions are the newer release's.
 *
 * Throws an error that names the file when a file was changed after it was applied, when a number is missing, or when a
 * file fails; the files before it stay applied.
 */
export async function migrate(
  url: string,
  dir: string,
  distribution: Distribution,
  lockTimeoutMs = defaultLockTimeoutMs,
): Promise<readonly string[]> {
  const migrations = await readMigrations(dir);
  const functions = await functionsOf(dir, distribution);
  const applied = await withAdvisoryLock(
    url,
    migrationLock,
    // A migration takes as long as the rows require, and ends with the lock.
    (lost) =>
      withClient(url, (client) => Promise.race([applyAll(client, migrations, functions), lost]), {
        query_timeout: 0,
      }),
    lockTimeoutMs,
  );
  if (applied === undefined)
    throw new Error(`Another process has been migrating the database for ${lockTimeoutMs / 1000} s`);
  return applied;
}

async function applyAll(
  client: Client,
  migrations: readonly Migration[],
  functions: readonly SqlFile[] | CitusFunctions,
): Promise<readonly string[]> {
  // Checked first, because the functions of one kind would break a database of the other.
  await refuseUnfit(client, functions);
  await client.query(`create table if not exists schema_migrations (
    version integer constraint schema_migrations_pkey primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
  )`);
  const known = await readApplied(client);
  const pending = pendingOf(migrations, known);
  if (newerOf(migrations, known).length > 0) return [];
  for (const migration of pending) await apply(client, migration);
  await client.query(`create table if not exists schema_functions (
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now(),
    constraint schema_functions_pkey primary key (name, checksum)
  )`);
  const changed = unknownOf(appliedOf(functions), await readTexts(client));
  await applyFunctions(client, changed);
  const steps = 'applied' in functions ? await distribute(client, functions) : [];
  return [...[...pending, ...changed].map(({ name }) => name), ...steps];
}

/** The functions of the folder, for a single database or for a cluster. */
async function functionsOf(
  dir: string,
  distribution: Distribution,
): Promise<readonly SqlFile[] | CitusFunctions> {
  const usual = await readFunctions(dir);
  return distribution === 'citus' ? citusFunctions(usual, await readCitusFunctions(dir)) : usual;
}

/** The database has another encoding or is of another kind than configured. The message holds no secret. */
export class UnfitDatabase extends Error {}

/** `SQL_ASCII` keeps bytes as they come; clusters created without a locale have it. */
const holdsEveryText: ReadonlySet<string> = new Set(['UTF8', 'SQL_ASCII']);

/** Throws if the database cannot hold every text, which would lose rows, or does not fit the kind of the functions. */
async function refuseUnfit(client: Client, functions: readonly SqlFile[] | CitusFunctions): Promise<void> {
  const { rows } = await client.query<{ server_encoding: string }>('show server_encoding');
  const encoding = rows[0]?.server_encoding ?? 'none';
  if (!holdsEveryText.has(encoding))
    throw new UnfitDatabase(
      `the database has the encoding ${encoding}, and texts of callers need UTF8: ` +
        "make one with `create database … encoding 'UTF8' template template0`",
    );
  if (await isOfAnother(client))
    throw new UnfitDatabase(
      'the database has a table schema_migrations of another program: give the gateway one of its own',
    );
  const why = 'applied' in functions ? await whyNotDistributable(client) : await whyDistributed(client);
  if (why !== undefined) throw new UnfitDatabase(`the database does not fit the configuration: ${why}`);
}

/** Whether the table belongs to another program: others keep their migrations under the same name. */
async function isOfAnother(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ other: boolean }>(`
    select count(*) > 0 and count(*) filter (where attname = 'checksum') = 0 as other
    from pg_attribute where attrelid = to_regclass('schema_migrations') and attnum > 0`);
  return rows[0]?.other === true;
}

const appliedOf = (functions: readonly SqlFile[] | CitusFunctions): readonly SqlFile[] =>
  'applied' in functions ? functions.applied : functions;

/**
 * The names of the files in `dir` that `migrate` would apply now, in order. Changes nothing in the database and needs
 * no right to change it; throws for the same disagreements as `migrate`.
 */
export async function pendingMigrations(
  url: string,
  dir: string,
  distribution: Distribution,
): Promise<readonly string[]> {
  const migrations = await readMigrations(dir);
  const functions = await functionsOf(dir, distribution);
  return withClient(url, async (client) => {
    await refuseUnfit(client, functions);
    const applied = (await has(client, 'schema_migrations')) ? await readApplied(client) : [];
    const texts = (await has(client, 'schema_functions')) ? await readTexts(client) : [];
    const pending = pendingOf(migrations, applied);
    if (newerOf(migrations, applied).length > 0) return [];
    const files = [...pending, ...unknownOf(appliedOf(functions), texts)].map(({ name }) => name);
    return files.length === 0 && 'applied' in functions ? undistributed(client, functions) : files;
  });
}

/** The same for a database that does not exist yet: an embedded one, which is not a cluster. */
export const allMigrations = async (dir: string): Promise<readonly string[]> =>
  [...(await readMigrations(dir)), ...(await readFunctions(dir))].map(({ name }) => name);

/**
 * The names of migrations that the database has and the folder lacks: a newer release has migrated it. During a rollout
 * the older one keeps working and must be able to start again; docs/operations.md says what keeps it working.
 */
export async function newerMigrations(url: string, dir: string): Promise<readonly string[]> {
  const migrations = await readMigrations(dir);
  return withClient(url, async (client) =>
    (await has(client, 'schema_migrations')) ? newerOf(migrations, await readApplied(client)) : [],
  );
}

const newerOf = (migrations: readonly Migration[], applied: readonly Applied[]): readonly string[] =>
  applied.slice(migrations.length).map(({ name }) => name);

async function has(client: Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>('select to_regclass($1) is not null as present', [
    table,
  ]);
  return rows[0]?.present === true;
}

/** Every function text that the database has ever had. */
const readTexts = async (client: Client): Promise<readonly FunctionText[]> =>
  (await client.query<FunctionText>('select name, checksum from schema_functions')).rows;

/**
 * The functions whose text the database has never had. A text that it had once and has no longer belongs to an older
 * release: a replica of that release, restarted in the middle of a rollout, must not bring it back.
 */
function unknownOf(functions: readonly SqlFile[], texts: readonly FunctionText[]): readonly SqlFile[] {
  const known = new Set(texts.map(({ name, checksum }) => `${name} ${checksum}`));
  return functions.filter(({ name, checksum }) => !known.has(`${name} ${checksum}`));
}

const readApplied = async (client: Client): Promise<readonly Applied[]> =>
  (await client.query<Applied>('select version, name, checksum from schema_migrations order by version'))
    .rows;

/** The migrations after the applied ones, once both lists have been found to agree as far as both go. */
function pendingOf(migrations: readonly Migration[], applied: readonly Applied[]): readonly Migration[] {
  for (const [index, row] of applied.entries()) {
    if (row.version !== index + 1) {
      throw new Error(
        `The database lacks migration ${padded(index + 1)}, but has ${row.name} applied after it`,
      );
    }
    const migration = migrations[index];
    if (migration !== undefined && migration.checksum !== row.checksum) {
      throw new Error(
        `Migration ${migration.name} was changed after it was applied (as ${row.name}). ` +
          'Restore the file and put the change into a new migration.',
      );
    }
  }
  return migrations.slice(applied.length);
}

/** A migration has no time limit, even where the role's statements have one, as behind a pooler. */
async function begin(client: Client): Promise<void> {
  await client.query('begin');
  await client.query(setTimeLimits(0).sql);
}

async function apply(client: Client, migration: Migration): Promise<void> {
  const inTransaction = !/^-- no-transaction[ \t]*(\n|$)/.test(migration.text);
  try {
    if (inTransaction) await begin(client);
    await client.query(migration.text);
    // A setting made by the file (a search_path, as dumps do) must not affect the next file.
    await client.query('reset all');
    await client.query('insert into schema_migrations (version, name, checksum) values ($1, $2, $3)', [
      migration.version,
      migration.name,
      migration.checksum,
    ]);
    if (inTransaction) await client.query('commit');
  } catch (cause) {
    // The session ends with this error, and so does its transaction.
    throw new Error(`Migration ${migration.name} failed${lineOf(migration, cause)}: ${String(cause)}`, {
      cause,
    });
  }
}

/**
 * Creates each function twice in one transaction: first with `check_function_bodies` off, because a function may call
 * one that is created after it, then with it on, so that a mistake in a body fails here and not at its first call.
 */
async function applyFunctions(client: Client, functions: readonly SqlFile[]): Promise<void> {
  if (functions.length === 0) return;
  await begin(client);
  for (const bodies of ['off', 'on']) {
    await client.query(`set local check_function_bodies = ${bodies}`);
    for (const file of functions) await runFunction(client, file);
  }
  for (const { name, checksum } of functions)
    await client.query('insert into schema_functions (name, checksum) values ($1, $2)', [name, checksum]);
  await client.query('commit');
}

async function runFunction(client: Client, file: SqlFile): Promise<void> {
  try {
    await client.query(file.text);
  } catch (cause) {
    // The session ends with this error, and so does its transaction.
    throw new Error(`${file.name} failed${lineOf(file, cause)}: ${String(cause)}`, { cause });
  }
}

function lineOf(file: SqlFile, error: unknown): string {
  if (!(error instanceof DatabaseError) || error.position === undefined) return '';
  return ` in line ${file.text.slice(0, Number(error.position)).split('\n').length}`;
}
