// Database operations of the commands, loaded only by those that open the database.
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import { createAdmin, type Credentials } from '../application/admin/create-admin.ts';
import type { KeyPorts } from '../application/admin/manage-keys.ts';
import type { ExportedDay } from '../application/export/export-range.ts';
import type { AgedRows } from '../application/ports/aged-rows.ts';
import { type PurgeOrder, purgeRows } from '../application/retention/purge-rows.ts';
import { verifyLedger } from '../application/verify-ledger.ts';
import { systemClock } from '../infrastructure/clock.ts';
import type { DatabaseConfig } from '../infrastructure/config/database-config.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import { hasDatabase } from '../infrastructure/embedded-postgres/data-dir.ts';
import { secrets } from '../infrastructure/key-secrets.ts';
import { argon2Passwords } from '../infrastructure/passwords.ts';
import { purgeShards } from '../infrastructure/postgres/citus/aged-shards.ts';
import { inWords } from '../infrastructure/postgres/database-fault.ts';
import { keysStore } from '../infrastructure/postgres/keys-store.ts';
import { ledgerAuditStore } from '../infrastructure/postgres/ledger-audit-store.ts';
import {
  allMigrations,
  migrate,
  newerMigrations,
  pendingMigrations,
} from '../infrastructure/postgres/migrate.ts';
import { agedRequestLogs } from '../infrastructure/postgres/purge-store.ts';
import { seedStore } from '../infrastructure/postgres/seed-store.ts';
import { adminsStore } from '../infrastructure/postgres/session-store.ts';
import { untilStopped } from '../infrastructure/stop-requests.ts';
import { flags, terminal } from '../interfaces/cli/command.ts';
import type { ExportCall } from '../interfaces/cli/export.ts';
import { migrationsFolder, openDatabase } from './database.ts';
import {
  configPath,
  databaseConfig,
  valid,
  withDatabaseOf,
  withOwnDatabase,
  withPool,
  withPoolOf,
} from './own-config.ts';
import { refuseEmpty } from './reload.ts';

export const withKeys = <A>(run: (ports: KeyPorts) => Promise<A>): Promise<A> =>
  withPool((pool) => run({ keys: keysStore(pool), secrets, clock: systemClock() }));

export const makeAdmin = (credentials: Credentials) =>
  withPool((pool) => createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() })(credentials));

export const verifyOwnLedger = () => withPool((pool) => verifyLedger(ledgerAuditStore(pool))());

/** Exports the days of a range to the storage of the call. */
export const exportOwnDays = (call: ExportCall, report: (day: ExportedDay) => void) =>
  withOwnDatabase(async ({ config }, url) => {
    const { exportNow } = await import('./export.ts');
    return exportNow(config.export, url, call, report);
  });

/** When asked to stop, it finishes its batch and reports what it deleted. */
export const purgeNow = (wanted: Pick<PurgeOrder, 'retention' | 'dryRun'>) =>
  withOwnDatabase(async ({ config }, url) => {
    let stopped = false;
    void untilStopped().then(() => (stopped = true));
    const purge = (rows: AgedRows) =>
      purgeRows({ rows, clock: systemClock(), pause: async (ms) => sleep(ms) })({
        ...wanted,
        shouldContinue: () => !stopped,
      });
    return config.database.distribution === 'citus'
      ? purgeShards(url, purge)
      : withPoolOf(url, (pool) => purge(agedRequestLogs(pool)));
  });

/** `gateway migrate [--check]`. */
export async function migrateCommand(args: readonly string[]): Promise<number> {
  const check = flags(args, { check: { type: 'boolean' } }).values.check === true;
  const loaded = await databaseConfig();
  const { database } = loaded.config;
  // A check changes nothing, so it creates no database either.
  if (check && database.kind === 'embedded' && !(await hasDatabase(database.dataDir)))
    return tellMigrations('pending', await allMigrations(migrationsFolder), []);
  const { distribution } = database;
  const work = async (url: string): Promise<number> => {
    const files = check
      ? await pendingMigrations(url, migrationsFolder, distribution)
      : await migrate(url, migrationsFolder, distribution);
    return tellMigrations(check ? 'pending' : 'applied', files, await newerMigrations(url, migrationsFolder));
  };
  return withDatabaseOf(loaded, work, !check);
}

function tellMigrations(
  state: 'pending' | 'applied',
  files: readonly string[],
  newer: readonly string[],
): number {
  for (const file of files) terminal.out(`${state} ${file}`);
  if (newer.length > 0) terminal.out(`The database is newer than this release: it has ${newer.join(', ')}.`);
  else if (files.length === 0) terminal.out('The database is up to date.');
  return state === 'pending' && files.length > 0 ? 1 : 0;
}

/** `gateway seed [--allow-shrink]`. */
export async function seedCommand(args: readonly string[]): Promise<number> {
  const { values } = flags(args, { 'allow-shrink': { type: 'boolean' } });
  const file = configPath();
  const loaded = await valid(file);
  const work = async (pool: DatabasePool): Promise<number> => {
    const store = seedStore(pool);
    if (values['allow-shrink'] !== true) await refuseEmpty(loaded, store);
    const { keptRevoked, keptInactive } = await store.reconcile(seedOf(loaded));
    for (const name of keptRevoked)
      terminal.err(`The key ${name} stays revoked, because an admin revoked it.`);
    for (const owner of keptInactive)
      terminal.err(`The owner ${owner} stays inactive, because an admin deactivated it.`);
    terminal.out(`The database matches ${path.relative('.', file)}.`);
    return 0;
  };
  return withDatabaseOf(loaded, (url) => withPoolOf(url, work));
}

/** Whether the database of a configuration can be used as configured, in words. An embedded one always can. */
export async function databaseFit(config: DatabaseConfig): Promise<Either<string, string>> {
  if (config.kind === 'embedded') return E.right('no URL is given, so it is the embedded one');
  const { url, distribution } = await openDatabase(config, terminal.err);
  try {
    const pending = await pendingMigrations(url, migrationsFolder, distribution);
    return pending.length === 0
      ? E.right('fits the file')
      : E.left(`gateway migrate has to be run: it lacks ${pending.join(', ')}`);
  } catch (error) {
    return E.left(inWords(error));
  }
}
