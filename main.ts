import cluster, { type Worker } from 'node:cluster';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import { createAdmin } from './application/admin/create-admin.ts';
import { type PurgeOrder, purgeRequestLogs } from './application/retention/purge-request-logs.ts';
import { verifyLedger } from './application/verify-ledger.ts';
import { openDatabase } from './database.ts';
import { priceCatalogue } from './domain/money/price-catalogue.ts';
import { systemClock } from './infrastructure/clock.ts';
import { lintConfig } from './infrastructure/config/lint.ts';
import {
  environment,
  type LoadedConfig,
  loadConfig,
  processVariables,
} from './infrastructure/config/load.ts';
import { seedOf } from './infrastructure/config/seed.ts';
import { newKey, secretDigest } from './infrastructure/key-secrets.ts';
import { argon2Passwords } from './infrastructure/passwords.ts';
import { brokenConstraint } from './infrastructure/postgres/database-fault.ts';
import { keysStore } from './infrastructure/postgres/keys-store.ts';
import { ledgerAuditStore } from './infrastructure/postgres/ledger-audit-store.ts';
import { migrate, pendingMigrations } from './infrastructure/postgres/migrate.ts';
import { openPool } from './infrastructure/postgres/pool.ts';
import { purgeStore } from './infrastructure/postgres/purge-store.ts';
import { seedStore } from './infrastructure/postgres/seed-store.ts';
import { adminsStore } from './infrastructure/postgres/session-store.ts';
import { isUnderTls } from './infrastructure/postgres/tls.ts';
import { bundledCatalogue } from './infrastructure/pricing/bundled.ts';
import { importPrices } from './infrastructure/pricing/import.ts';
import { formatOverrides } from './infrastructure/pricing/overrides.ts';
import { implementations } from './infrastructure/providers/registry.ts';
import { untilStopped } from './infrastructure/stop-requests.ts';
import { adminCommand } from './interfaces/cli/admin.ts';
import { checkConfigCommand, placedLine } from './interfaces/cli/check-config.ts';
import { flags, terminal, UsageError } from './interfaces/cli/command.ts';
import { keysCommand } from './interfaces/cli/keys.ts';
import { ledgerCommand } from './interfaces/cli/ledger.ts';
import { pricingCommand } from './interfaces/cli/pricing.ts';
import { purgeCommand } from './interfaces/cli/purge.ts';
import { simulateUpstreamCommand } from './interfaces/cli/simulate-upstream.ts';
import { takeOrders } from './orders.ts';
import { ensureQuickstart, quickstartCommand, quickstartConfig } from './quickstart.ts';
import { refuseEmpty } from './reload.ts';
import { serveCommand } from './serve-command.ts';

type Command = (args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  quickstart: () => quickstartCommand(takeOrders(), terminal),
  serve: async (args) => serveCommand(takeOrders(), configPath(), processVariables(), args, terminal),
  migrate: (args) => withDatabaseUrl((url, migrations) => migrateCommand(url, migrations, args)),
  'check-config': (args) =>
    checkConfigCommand(
      checkConfig,
      environment(processVariables()).configPath ?? 'gateway.yaml',
      terminal,
    )(args),
  seed: (args) => seedCommand(args),
  keys: (args) =>
    withPool((pool) => keysCommand({ keys: keysStore(pool), newKey, digest: secretDigest }, terminal)(args)),
  admin: (args) => withPool((pool) => adminCommand(adminPorts(pool), terminal)(args)),
  'purge-request-logs': (args) => purgeCommand(purgeNow, terminal)(args),
  ledger: (args) => withPool((pool) => ledgerCommand(verifyLedger(ledgerAuditStore(pool)), terminal)(args)),
  pricing: (args) => pricingCommand({ importPrices, formatOverrides, now: Date.now }, terminal)(args),
  'simulate-upstream': (args) => simulateUpstreamCommand(terminal, untilStopped)(args),
};

const adminPorts = (pool: DatabasePool) => ({
  createAdmin: createAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() }),
  password: environment(processVariables()).adminPassword,
  keyboard: process.stdin.isTTY ? process.stdin : undefined,
});

/** The command line: `gateway COMMAND …`. */
export async function main([name = '', ...args]: readonly string[]): Promise<void> {
  const command = commands[name];
  try {
    if (command === undefined) throw new UsageError(`gateway ${Object.keys(commands).join(' | ')}`);
    process.exitCode = await command(args);
  } catch (error) {
    const usage = error instanceof UsageError;
    const broken = brokenConstraint(error);
    terminal.err(
      `${usage ? 'usage: ' : ''}${error instanceof Error ? error.message : String(error)}` +
        (broken === undefined ? '' : ` (${broken})`),
    );
    process.exitCode = usage ? 2 : 1;
  } finally {
    if (cluster.worker !== undefined) endWorker(cluster.worker);
  }
}

/** So long a worker that is done may take to close what is still open, such as a connection that is frozen. */
const closeMs = 1000;

/** The channel to its supervisor would keep a worker alive. */
function endWorker(worker: Worker): void {
  worker.disconnect();
  setTimeout(() => process.exit(), closeMs).unref();
}

/** The configuration that is named or lies here; none, and it is the quick start's. */
const ownConfigPath = (): string | undefined =>
  environment(processVariables()).configPath ?? (existsSync('gateway.yaml') ? 'gateway.yaml' : undefined);

function configPath(): string {
  const own = ownConfigPath();
  if (own !== undefined) return own;
  throw new Error('There is no configuration: set GATEWAY_CONFIG to its path, or write gateway.yaml here.');
}

/** Commands that only need the database also work on the one that the quick start made. */
async function databaseConfig(): Promise<LoadedConfig> {
  const own = ownConfigPath();
  if (own !== undefined) return valid(own, processVariables());
  const started = await ensureQuickstart(environment(processVariables()).dataDir);
  return valid(quickstartConfig, { ...processVariables(), ...started.variables });
}

async function valid(file: string, variables: ReturnType<typeof processVariables>): Promise<LoadedConfig> {
  const loaded = await loadConfig(file, variables);
  if (E.isRight(loaded)) return loaded.right;
  throw new Error(loaded.left.map((problem) => placedLine(file, problem)).join('\n'));
}

async function withDatabaseUrl<A>(run: (url: string, migrations: string) => Promise<A>): Promise<A> {
  const { config } = await databaseConfig();
  const database = await openDatabase(config.database, terminal.err);
  try {
    return await run(database.url, database.migrations);
  } finally {
    await database.stop();
  }
}

const withPool = <A>(run: (pool: DatabasePool) => Promise<A>): Promise<A> =>
  withDatabaseUrl(async (url) => {
    const pool = await openPool(url, 2);
    try {
      return await run(pool);
    } finally {
      await pool.end();
    }
  });

/** Told to stop, it ends after its batch and says what it deleted. */
const purgeNow = (wanted: Pick<PurgeOrder, 'retention' | 'dryRun'>) =>
  withPool((pool) => {
    let stopped = false;
    void untilStopped().then(() => (stopped = true));
    const purge = purgeRequestLogs({
      logs: purgeStore(pool),
      clock: systemClock(),
      pause: async (ms) => sleep(ms),
    });
    return purge({ ...wanted, goOn: () => !stopped });
  });

async function migrateCommand(url: string, migrations: string, args: readonly string[]): Promise<number> {
  const { values } = flags(args, { check: { type: 'boolean' } });
  const files =
    values.check === true ? await pendingMigrations(url, migrations) : await migrate(url, migrations);
  for (const file of files) terminal.out(`${values.check === true ? 'pending' : 'applied'} ${file}`);
  if (files.length === 0) terminal.out('The database is up to date.');
  return values.check === true && files.length > 0 ? 1 : 0;
}

async function seedCommand(args: readonly string[]): Promise<number> {
  const { values } = flags(args, { 'allow-shrink': { type: 'boolean' } });
  const file = configPath();
  const loaded = await valid(file, processVariables());
  return withPool(async (pool) => {
    const store = seedStore(pool);
    if (values['allow-shrink'] !== true) await refuseEmpty(loaded, store);
    const { keptRevoked } = await store.reconcile(seedOf(loaded));
    for (const name of keptRevoked)
      terminal.err(`The key ${name} stays revoked, because an admin revoked it.`);
    terminal.out(`The database matches ${path.relative('.', file)}.`);
    return 0;
  });
}

async function checkConfig(file: string) {
  const loaded = await loadConfig(file, processVariables());
  if (E.isLeft(loaded)) return { problems: loaded.left, warnings: [] };
  const catalogue = priceCatalogue(bundledCatalogue(), []);
  const warnings = lintConfig(loaded.right, {
    hasPrice: (provider, model) => catalogue.priceOf(provider, model, Date.now()) !== undefined,
    canServe: (kind, route, capability) => implementations[kind].supports(route)[capability],
    databaseTls: isUnderTls,
  });
  return { problems: [], warnings };
}
