import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import { createAdmin, type Credentials } from '../application/admin/create-admin.ts';
import type { AgedRows } from '../application/ports/aged-rows.ts';
import { type PurgeOrder, purgeRows } from '../application/retention/purge-rows.ts';
import { verifyLedger } from '../application/verify-ledger.ts';
import { priceCatalogue } from '../domain/money/price-catalogue.ts';
import { systemClock } from '../infrastructure/clock.ts';
import { lintConfig } from '../infrastructure/config/lint.ts';
import { environment, loadConfig } from '../infrastructure/config/load.ts';
import { processVariables } from '../infrastructure/config/process-variables.ts';
import type { DatabaseConfig } from '../infrastructure/config/database-config.ts';
import { sorted } from '../infrastructure/config/problem.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import { tlsNotes } from '../infrastructure/config/tls-files.ts';
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
import { plainHosts } from '../infrastructure/postgres/hosts.ts';
import { bundledCatalogue } from '../infrastructure/pricing/bundled.ts';
import { importPrices } from '../infrastructure/pricing/import.ts';
import { formatOverrides } from '../infrastructure/pricing/overrides.ts';
import { implementations } from '../infrastructure/providers/registry.ts';
import { releaseVersion } from '../infrastructure/release-version.ts';
import { untilStopped } from '../infrastructure/stop-requests.ts';
import { adminCommand } from '../interfaces/cli/admin.ts';
import { checkConfigCommand } from '../interfaces/cli/check-config.ts';
import { flags, terminal } from '../interfaces/cli/command.ts';
import { exportCommand } from '../interfaces/cli/export.ts';
import { keysCommand } from '../interfaces/cli/keys.ts';
import { ledgerCommand } from '../interfaces/cli/ledger.ts';
import { pricingCommand } from '../interfaces/cli/pricing.ts';
import { purgeCommand } from '../interfaces/cli/purge.ts';
import type { CommandName } from '../interfaces/cli/usage.ts';
import { takeOrders } from './orders.ts';
import { migrationsFolder, openDatabase } from './database.ts';
import { configPath, databaseConfig, valid, withOwnDatabase, withPool, withPoolOf } from './own-config.ts';
import { refuseEmpty } from './reload.ts';
import { fitConfig } from './fit-config.ts';

/** Runs with the words behind its name, and resolves with the exit code. */
export type Command = (args: readonly string[]) => Promise<number>;

/** What each name after `gateway` does. What serves is loaded where it serves: the others start in half the time. */
export const commands: Readonly<Record<CommandName, Command>> = {
  quickstart: async (args) => {
    const { quickstartCommand } = await import('./quickstart.ts');
    return quickstartCommand(takeOrders(), args, terminal);
  },
  serve: async (args) => {
    const { serveCommand } = await import('./serve-command.ts');
    return serveCommand(takeOrders(), configPath, processVariables(), args, terminal);
  },
  migrate: (args) => migrateCommand(args),
  'check-config': (args) =>
    checkConfigCommand(
      checkConfig,
      environment(processVariables()).configPath ?? 'gateway.yaml',
      terminal,
    )(args),
  seed: (args) => seedCommand(args),
  keys: (args) =>
    keysCommand(
      (run) => withPool((pool) => run({ keys: keysStore(pool), secrets, clock: systemClock() })),
      terminal,
    )(args),
  admin: (args) => adminCommand(adminPorts(), terminal)(args),
  'purge-request-logs': (args) => purgeCommand(purgeNow, terminal)(args),
  ledger: (args) =>
    ledgerCommand(() => withPool((pool) => verifyLedger(ledgerAuditStore(pool))()), terminal)(args),
  export: (args) =>
    exportCommand(
      (call, tell) =>
        withOwnDatabase(async ({ config }, url) => {
          const { exportNow } = await import('./export.ts');
          return exportNow(config.export, url, call, tell);
        }),
      terminal,
    )(args),
  pricing: (args) => pricingCommand({ importPrices, formatOverrides, now: Date.now }, terminal)(args),
  'simulate-upstream': async (args) => {
    const { simulateUpstreamCommand } = await import('../interfaces/cli/simulate-upstream.ts');
    return simulateUpstreamCommand(terminal, untilStopped)(args);
  },
  '--version': async (args) => {
    flags(args, {});
    terminal.out(releaseVersion());
    return 0;
  },
};

const adminPorts = () => ({
  createAdmin: (credentials: Credentials) =>
    withPool((pool) => createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() })(credentials)),
  password: environment(processVariables()).adminPassword,
  keyboard: process.stdin.isTTY ? process.stdin : undefined,
});

/** Told to stop, it ends after its batch and says what it deleted. */
const purgeNow = (wanted: Pick<PurgeOrder, 'retention' | 'dryRun'>) =>
  withOwnDatabase(async ({ config }, url) => {
    let stopped = false;
    void untilStopped().then(() => (stopped = true));
    const purge = (rows: AgedRows) =>
      purgeRows({ rows, clock: systemClock(), pause: async (ms) => sleep(ms) })({
        ...wanted,
        goOn: () => !stopped,
      });
    return config.database.distribution === 'citus'
      ? purgeShards(url, purge)
      : withPoolOf(url, (pool) => purge(agedRequestLogs(pool)));
  });

async function migrateCommand(args: readonly string[]): Promise<number> {
  const check = flags(args, { check: { type: 'boolean' } }).values.check === true;
  const { database } = (await databaseConfig()).config;
  // A check changes nothing: it makes no database either.
  if (check && database.kind === 'embedded' && !(await hasDatabase(database.dataDir)))
    return tellMigrations('pending', await allMigrations(migrationsFolder), []);
  return withOwnDatabase(async (_, url) => {
    const { distribution } = database;
    const files = check
      ? await pendingMigrations(url, migrationsFolder, distribution)
      : await migrate(url, migrationsFolder, { distribution });
    return tellMigrations(check ? 'pending' : 'applied', files, await newerMigrations(url, migrationsFolder));
  }, !check);
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

async function seedCommand(args: readonly string[]): Promise<number> {
  const { values } = flags(args, { 'allow-shrink': { type: 'boolean' } });
  const file = configPath();
  const loaded = await valid(file);
  return withPool(async (pool) => {
    const store = seedStore(pool);
    if (values['allow-shrink'] !== true) await refuseEmpty(loaded, store);
    const { keptRevoked, keptInactive } = await store.reconcile(seedOf(loaded));
    for (const name of keptRevoked)
      terminal.err(`The key ${name} stays revoked, because an admin revoked it.`);
    for (const owner of keptInactive)
      terminal.err(`The owner ${owner} stays inactive, because an admin has ended its activity.`);
    terminal.out(`The database matches ${path.relative('.', file)}.`);
    return 0;
  });
}

/** Why the database of a configuration cannot be used as it says. One that is embedded always can. */
async function databaseProblem(config: DatabaseConfig): Promise<string | undefined> {
  if (config.kind === 'embedded') return undefined;
  const { url, distribution } = await openDatabase(config, terminal.err);
  try {
    const pending = await pendingMigrations(url, migrationsFolder, distribution);
    return pending.length === 0 ? undefined : `gateway migrate has to be run: it lacks ${pending.join(', ')}`;
  } catch (error) {
    return inWords(error);
  }
}

async function checkConfig(file: string) {
  const loaded = await fitConfig(await loadConfig(file, processVariables()));
  if (E.isLeft(loaded)) return { problems: loaded.left, warnings: [] };
  const catalogue = priceCatalogue(bundledCatalogue(), []);
  const linted = lintConfig(loaded.right, {
    hasPrice: (provider, model) => catalogue.priceOf(provider, model, Date.now()) !== undefined,
    canServe: (kind, route, capability) => implementations[kind].supports(route)[capability],
    plainHosts,
  });
  const warnings = sorted([...linted, ...(await tlsNotes(loaded.right, Date.now()))]);
  return {
    problems: [],
    warnings,
    database: () => databaseProblem(loaded.right.config.database),
    mcpServers: async () => {
      const { checkMcpServers } = await import('./mcp-check.ts');
      return checkMcpServers(loaded.right.config);
    },
  };
}
