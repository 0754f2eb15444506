import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import { createFirstAdmin } from '../application/admin/create-admin.ts';
import { type Database, migrationsFolder, openDatabase } from './database.ts';
import { type LiveConfig, liveConfig } from '../infrastructure/config/live-config.ts';
import { environment } from '../infrastructure/config/environment.ts';
import { type LoadedConfig, loadLastingConfig } from '../infrastructure/config/load.ts';
import type { processVariables } from '../infrastructure/config/process-variables.ts';
import { privateFolder } from '../infrastructure/embedded-postgres/private-folder.ts';
import type { ConfigProblem } from '../infrastructure/config/problem.ts';
import { seedOf } from '../infrastructure/config/seed.ts';
import { servedOf } from '../infrastructure/config/served-config.ts';
import { maxWorkers, type ServerConfig } from '../infrastructure/config/server-config.ts';
import { folderFault } from '../infrastructure/embedded-postgres/folder-fault.ts';
import { journalFolder } from '../infrastructure/journal/journal.ts';
import { causeOf, type Log, openLog } from '../infrastructure/logging.ts';
import { openFilesLimit } from '../infrastructure/open-files.ts';
import { argon2Passwords } from '../infrastructure/passwords.ts';
import { brokenConstraint, wayOutOf } from '../infrastructure/postgres/database-fault.ts';
import { migrate, newerMigrations, pendingMigrations } from '../infrastructure/postgres/migrate.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { seedStore } from '../infrastructure/postgres/seed-store.ts';
import { adminsStore } from '../infrastructure/postgres/session-store.ts';
import { bundledCatalogue } from '../infrastructure/pricing/bundled.ts';
import { placedLine } from '../interfaces/cli/check-config.ts';
import { flags, type Terminal, wholeNumber } from '../interfaces/cli/command.ts';
import { tryListening } from '../interfaces/http/listener.ts';
import { fitConfig } from './fit-config.ts';
import { endMs, type ProcessControl } from './process-control.ts';
import { refuseEmpty, reportSeed, type StartJudge } from './reload.ts';
import { type Service, startService } from './serve.ts';

/** What the quick start adds to a plain `serve`. */
export interface ServeHooks {
  /** Called at startup, unless `--allow-shrink` says that everything that ends is meant to. */
  readonly judge: StartJudge;
  readonly onReady: (urls: Pick<Service, 'url' | 'adminUrl'>, databaseUrl: string) => Promise<void>;
}

/** The flags of `serve`. */
const serveFlags = {
  workers: { type: 'string' },
  'no-migrate': { type: 'boolean' },
  'no-seed': { type: 'boolean' },
  'allow-shrink': { type: 'boolean' },
} as const;

/** `gateway serve [--workers N] [--no-migrate] [--no-seed] [--allow-shrink]`. */
export async function serveCommand(
  control: ProcessControl,
  configFile: () => string,
  variables: ReturnType<typeof processVariables>,
  args: readonly string[],
  { err }: Terminal,
  hooks?: ServeHooks,
): Promise<number> {
  const { values } = flags(args, serveFlags);
  const workersAsked = wholeNumber('workers', values.workers, 1, maxWorkers);
  const file = configFile();
  const loaded = await fitConfig(await loadLastingConfig(file, variables));
  if (E.isLeft(loaded)) {
    for (const problem of loaded.left) err(`error ${placedLine(file, problem)}`);
    return 1;
  }
  if (control.first) await tryAddresses(loaded.right.config.server);
  const log = openLog();
  const config = liveConfig(file, variables, servedOf(loaded.right), bundledCatalogue());
  const serving: Serving = {
    control,
    config,
    log,
    hooks,
    workers: workersAsked ?? loaded.right.config.server.workers,
    seeds: values['no-seed'] !== true,
    allowShrink: values['allow-shrink'] === true,
    onHangup: hangups(control, log),
  };
  const life = { graceMs: 0 };
  void endInTime(control, life, log);
  await privateFolder(loaded.right.config.dataDir).catch((error: Error) =>
    log.warn({ reason: error.message }, 'the data folder could not be created, or made private'),
  );
  const database = await openDatabase(loaded.right.config.database, (line) => log.info({}, line), true);
  try {
    if (control.first && values['no-migrate'] === true) await tellPending(database, log);
    else if (control.first)
      tellMigrated(await migrate(database.url, migrationsFolder, database.distribution), log);
    if (control.first) await tellNewer(database, log);
    if (control.first) await prepare(serving, loaded.right, variables, database.url);
    return await serveHere(serving, database, life);
  } finally {
    await log.flush();
    await database.stop();
  }
}

/**
 * A start that cannot listen changes nothing in the database: another gateway may serve from it, often the one that
 * listens there (rule 31.433).
 */
async function tryAddresses({ bind, adminBind }: ServerConfig): Promise<void> {
  for (const address of adminBind === undefined ? [bind] : [bind, adminBind]) await tryListening(address);
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

/** One line, in which functions are only counted: a first start applies some ninety files. */
function tellMigrated(files: readonly string[], log: Log): void {
  const applied = files.filter((name) => !name.startsWith('functions/'));
  if (files.length > 0)
    log.info({ applied, functions: files.length - applied.length }, 'the database was migrated');
}

/** During a rolling update, a replica of the previous release works on the newer schema. */
async function tellNewer({ url }: Database, log: Log): Promise<void> {
  const newer = await newerMigrations(url, migrationsFolder);
  if (newer.length > 0) log.warn({ newer }, 'the database is newer than this release');
}

interface Serving {
  readonly control: ProcessControl;
  readonly config: LiveConfig;
  readonly log: Log;
  readonly hooks: ServeHooks | undefined;
  readonly workers: number;
  readonly seeds: boolean;
  readonly allowShrink: boolean;
  readonly onHangup: (reload: Reload) => void;
}

/**
 * Ends the process `endMs` after its grace, or after a second signal, whatever it still waits for, startup included.
 */
async function endInTime(
  { stopped, forced }: ProcessControl,
  life: { graceMs: number },
  log: Log,
): Promise<void> {
  const out = async (): Promise<never> => {
    await sleep(endMs, undefined, { ref: false });
    log.error({}, 'the shutdown deadline has passed, and not everything could be closed');
    await Promise.race([log.flush(), sleep(200)]);
    process.exit(1);
  };
  void forced.then(out);
  await stopped;
  await sleep(life.graceMs, undefined, { ref: false });
  await out();
}

/** Work that is done once for all processes of a gateway, before the first one serves. */
async function prepare(
  { log, hooks, seeds, allowShrink }: Serving,
  loaded: LoadedConfig,
  variables: ReturnType<typeof processVariables>,
  url: string,
): Promise<void> {
  if (seeds) {
    const pool = await openPool(url, 1);
    try {
      const store = seedStore(pool);
      if (!allowShrink) await (hooks?.judge ?? refuseEmpty)(loaded, store);
      reportSeed(log, await store.reconcile(seedOf(loaded)));
    } finally {
      await pool.end();
    }
    await ensureFirstAdmin(variables, url, log);
  }
  const journal = journalFolder(loaded.config.dataDir);
  log.info(
    { journal },
    'settlements that the database cannot take are kept in the journal, which needs a durable disk',
  );
  const fault = await folderFault(journal);
  if (fault !== undefined) log.error({ journal, fault }, 'the journal cannot be written');
  await tellFewFiles(loaded.config.server, log);
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

/**
 * Creates a platform admin from `GATEWAY_ADMIN_EMAIL` and `GATEWAY_ADMIN_PASSWORD` when none with a password exists.
 */
async function ensureFirstAdmin(
  variables: ReturnType<typeof processVariables>,
  url: string,
  log: Log,
): Promise<void> {
  const { adminEmail: email, adminPassword: password } = environment(variables);
  if (email === undefined || password === undefined) {
    if (email !== undefined || password !== undefined)
      log.warn(
        {},
        'GATEWAY_ADMIN_EMAIL and GATEWAY_ADMIN_PASSWORD must be set together: no admin was created',
      );
    return;
  }
  const pool = await openPool(url, 1);
  try {
    const create = createFirstAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() });
    const made = await create({ email, password });
    if (E.isLeft(made)) throw new Error(`GATEWAY_ADMIN_EMAIL, GATEWAY_ADMIN_PASSWORD: ${made.left}`);
    if (made.right) log.info({ email }, 'the first platform admin was created');
  } finally {
    await pool.end();
  }
}

async function serveHere(
  { control, config, log, hooks, workers, seeds, allowShrink, onHangup }: Serving,
  database: Database,
  life: { graceMs: number },
): Promise<number> {
  const service = await startService({ config, database, log, seeds, allowShrink, alone: workers === 1 });
  const report = (): void => {
    life.graceMs = config.loaded().config.server.shutdownGraceSecs * 1000;
    control.serving({ workers, graceMs: life.graceMs });
  };
  const { url, adminUrl } = service;
  log.info({ url, ...(adminUrl === url ? {} : { admin_url: adminUrl }), pid: process.pid }, 'listening');
  report();
  if (control.first) await hooks?.onReady(service, database.url);
  onHangup(() => service.reload().finally(report));
  let forced = false;
  void control.forced.then(() => {
    forced = true;
  });
  await control.stopped;
  const unsettled = await service.stop(control.forced);
  return forced || unsettled > 0 ? 1 : 0;
}

type Reload = () => Promise<readonly ConfigProblem[]>;

/**
 * SIGHUP reloads the file. One that arrives during startup does not end the process; it is handled when startup is
 * done.
 */
function hangups(control: ProcessControl, log: Log): (reload: Reload) => void {
  let reload: Reload | undefined;
  let early = false;
  const take = (): void => {
    early = reload === undefined;
    reload?.().then(
      (problems) => reportReload(log, problems),
      (error: unknown) =>
        log.error(
          { error: causeOf(error), broken: brokenConstraint(error), advice: wayOutOf(error) },
          'the configuration could not be applied',
        ),
    );
  };
  control.onReload(take);
  return (how) => {
    reload = how;
    if (early) take();
  };
}

/** A bad file is refused with an error for each problem, and the old state stays. */
function reportReload(log: Log, problems: readonly ConfigProblem[]): void {
  if (problems.length === 0) log.info({}, 'the configuration was applied');
  for (const { path: at, line, message } of problems)
    log.error({ path: at, line, problem: message }, 'the configuration was refused, and the old one stays');
}
