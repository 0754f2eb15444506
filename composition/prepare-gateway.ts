import * as E from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import { createFirstAdmin } from '../application/admin/create-admin.ts';
import { type Environment, environment } from '../infrastructure/config/environment.ts';
import type { LoadedConfig } from '../infrastructure/config/load.ts';
import type { processVariables } from '../infrastructure/config/process-variables.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import type { ServerConfig } from '../infrastructure/config/server-config.ts';
import { folderFault } from '../infrastructure/embedded-postgres/folder-fault.ts';
import { journalFolder } from '../infrastructure/journal/journal.ts';
import type { Log } from '../infrastructure/logging.ts';
import { openFilesLimit } from '../infrastructure/open-files.ts';
import { argon2Passwords } from '../infrastructure/passwords.ts';
import { migrate, newerMigrations, pendingMigrations } from '../infrastructure/postgres/migrate.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { seedStore } from '../infrastructure/postgres/seed-store.ts';
import { adminsStore } from '../infrastructure/postgres/session-store.ts';
import { type Database, migrationsFolder } from './database.ts';
import { reportSeed, type StartJudge } from './reload.ts';

/** What a start changes in the database. */
interface Preparation {
  readonly migrates: boolean;
  /** Reconciles the file into the database, and creates the first admin. */
  readonly seeds: boolean;
  /** `undefined` if everything that the file ends is meant to end. */
  readonly judge: StartJudge | undefined;
}

/** Work that is done once for all processes of a gateway, before the first one serves. */
export async function prepareGateway(
  database: Database,
  loaded: LoadedConfig,
  variables: ReturnType<typeof processVariables>,
  log: Log,
  { migrates, seeds, judge }: Preparation,
): Promise<void> {
  if (migrates && seeds && judge !== undefined) await judgeUnmigrated(database, loaded, judge);
  await (migrates ? applyPending(database, log) : tellPending(database, log));
  await tellNewer(database, log);
  if (seeds) {
    const pool = await openPool(database.url, 1);
    try {
      await seed(pool, loaded, judge, log);
      await ensureFirstAdmin(pool, environment(variables), log);
    } finally {
      await pool.end();
    }
  }
  await tellJournal(loaded.config.dataDir, log);
  await tellFewFiles(loaded.config.server, log);
}

/**
 * A start that must not apply the file does not migrate the database either: it may belong to a gateway of an earlier
 * release (rule 31.28). What a file ends is in the tables of the first two migrations; without them there is nothing to end.
 */
async function judgeUnmigrated(
  { url, distribution }: Database,
  loaded: LoadedConfig,
  judge: StartJudge,
): Promise<void> {
  const pending = await pendingMigrations(url, migrationsFolder, distribution);
  if (pending.length === 0 || pending.some((name) => name.startsWith('0002_'))) return;
  const pool = await openPool(url, 1);
  try {
    await judge(loaded, seedStore(pool));
  } finally {
    await pool.end();
  }
}

/** Logged in one line, in which functions are only counted: a first start applies some ninety files. */
async function applyPending({ url, distribution }: Database, log: Log): Promise<void> {
  const files = await migrate(url, migrationsFolder, distribution);
  const applied = files.filter((name) => !name.startsWith('functions/'));
  if (files.length > 0)
    log.info({ applied, functions: files.length - applied.length }, 'the database was migrated');
}

/**
 * Startup fails without a schema. With an older one the process starts, and is not ready until the schema is migrated.
 */
async function tellPending({ url, distribution }: Database, log: Log): Promise<void> {
  const pending = await pendingMigrations(url, migrationsFolder, distribution);
  if (pending.some((name) => name.startsWith('0001_')))
    throw new Error('The database has no schema. Run `npx gateway migrate`, which makes it.');
  if (pending.length > 0)
    log.warn({ pending }, 'the database is older than this release: run `npx gateway migrate`');
}

/** During a rolling update, a replica of the previous release works on the newer schema. */
async function tellNewer({ url }: Database, log: Log): Promise<void> {
  const newer = await newerMigrations(url, migrationsFolder);
  if (newer.length > 0) log.warn({ newer }, 'the database is newer than this release');
}

async function seed(
  pool: DatabasePool,
  loaded: LoadedConfig,
  judge: StartJudge | undefined,
  log: Log,
): Promise<void> {
  const store = seedStore(pool);
  await judge?.(loaded, store);
  reportSeed(log, await store.reconcile(seedOf(loaded)));
}

/**
 * Creates a platform admin from `GATEWAY_ADMIN_EMAIL` and `GATEWAY_ADMIN_PASSWORD` when none with a password exists.
 */
async function ensureFirstAdmin(
  pool: DatabasePool,
  { adminEmail: email, adminPassword: password }: Environment,
  log: Log,
): Promise<void> {
  if (email === undefined || password === undefined) {
    if (email !== undefined || password !== undefined)
      log.warn(
        {},
        'GATEWAY_ADMIN_EMAIL and GATEWAY_ADMIN_PASSWORD must be set together: no admin was created',
      );
    return;
  }
  const create = createFirstAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() });
  const made = await create({ email, password });
  if (E.isLeft(made)) throw new Error(`GATEWAY_ADMIN_EMAIL, GATEWAY_ADMIN_PASSWORD: ${made.left}`);
  if (made.right) log.info({ email }, 'the first platform admin was created');
}

async function tellJournal(dataDir: string, log: Log): Promise<void> {
  const journal = journalFolder(dataDir);
  log.info(
    { journal },
    'settlements that the database cannot take are kept in the journal, which needs a durable disk',
  );
  const fault = await folderFault(journal);
  if (fault !== undefined) log.error({ journal, fault }, 'the journal cannot be written');
}

/**
 * A process out of file descriptors accepts no connections and cannot reach its database: its limits must apply first.
 */
async function tellFewFiles({ maxConnections, maxInFlight }: ServerConfig, log: Log): Promise<void> {
  const openFiles = await openFilesLimit();
  // A request in flight has a connection of its own upstream.
  if (openFiles === undefined || openFiles > maxConnections + maxInFlight) return;
  log.warn(
    { open_files: openFiles, max_connections: maxConnections, max_in_flight: maxInFlight },
    'the limit on open files is too low for server.max_connections and server.max_in_flight: raise it (ulimit -n, LimitNOFILE), or lower server.max_connections',
  );
}
