import cluster from 'node:cluster';
import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import { createFirstAdmin } from './application/admin/create-admin.ts';
import { openDatabase } from './database.ts';
import { type LiveConfig, liveConfig } from './infrastructure/config/live-config.ts';
import { environment, loadConfig, type processVariables } from './infrastructure/config/load.ts';
import { closedFolder } from './infrastructure/embedded-postgres/closed-folder.ts';
import type { ConfigProblem } from './infrastructure/config/problem.ts';
import { seedOf } from './infrastructure/config/seed.ts';
import { journalFolder } from './infrastructure/journal/journal.ts';
import { type Log, nameOf, openLog } from './infrastructure/logging.ts';
import { argon2Passwords } from './infrastructure/passwords.ts';
import { migrate } from './infrastructure/postgres/migrate.ts';
import { openPool } from './infrastructure/postgres/pool.ts';
import { seedStore } from './infrastructure/postgres/seed-store.ts';
import { adminsStore } from './infrastructure/postgres/session-store.ts';
import { bundledCatalogue } from './infrastructure/pricing/bundled.ts';
import { placedLine } from './interfaces/cli/check-config.ts';
import { flags, type Terminal, wholeNumber } from './interfaces/cli/command.ts';
import { reportSeed, startService } from './serve.ts';
import { superviseWorkers } from './supervise.ts';

const script = path.join(import.meta.dirname, 'interfaces', 'cli', 'gateway.mjs');

/** What the quick start adds to a plain `serve`. */
export interface ServeHooks {
  readonly onReady: (url: string) => void;
}

/** Resolves at the first SIGTERM or SIGINT; a second one ends the process at once. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    const stop = (): void => {
      resolve();
      for (const signal of ['SIGTERM', 'SIGINT'] as const) {
        process.off(signal, stop);
        process.once(signal, () => process.exit(1));
      }
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}

/** `gateway serve [--workers N] [--no-migrate] [--no-seed]`. */
export async function serveCommand(
  file: string,
  variables: ReturnType<typeof processVariables>,
  args: readonly string[],
  { err }: Terminal,
  hooks?: ServeHooks,
): Promise<number> {
  const { values } = flags(args, {
    workers: { type: 'string' },
    'no-migrate': { type: 'boolean' },
    'no-seed': { type: 'boolean' },
  });
  const loaded = await loadConfig(file, variables);
  if (E.isLeft(loaded)) {
    for (const problem of loaded.left) err(`error ${placedLine(file, problem)}`);
    return 1;
  }
  const stopped = untilStopped();
  const log = openLog();
  const onHangup = hangups(log);
  const config = liveConfig(file, variables, loaded.right, bundledCatalogue());
  const { server, database: databaseConfig } = loaded.right.config;
  const workers = wholeNumber('workers', values.workers, 1, 1024) ?? server.workers;
  await closedFolder(loaded.right.config.dataDir).catch((error: Error) =>
    log.warn({ reason: error.message }, 'the data folder could not be made, or closed to others'),
  );
  const database = await openDatabase(databaseConfig, (line) => log.info({}, line));
  const seeds = values['no-seed'] !== true;
  try {
    if (values['no-migrate'] !== true)
      for (const applied of await migrate(database.url, database.migrations))
        log.info({ applied }, 'migration');
    if (seeds) {
      await reconcile(config, database.url, log);
      await ensureFirstAdmin(variables, database.url, log);
    }
    if (cluster.isPrimary)
      log.info(
        { journal: journalFolder(loaded.right.config.dataDir) },
        'what the database cannot take waits in the journal, which wants a durable disk',
      );
    if (workers > 1 && cluster.isPrimary)
      return await supervise(config, database.url, workers, seeds, log, stopped, onHangup);
    await serveHere(config, database, seeds, log, stopped, onHangup, hooks);
  } finally {
    await log.flush();
    await database.stop();
  }
  return 0;
}

async function reconcile(config: LiveConfig, url: string, log: Log): Promise<void> {
  const pool = await openPool(url, 1);
  try {
    await reportSeed(log, await seedStore(pool).reconcile(seedOf(config.loaded())));
  } finally {
    await pool.end();
  }
}

/** `GATEWAY_ADMIN_EMAIL` and `GATEWAY_ADMIN_PASSWORD` make a platform admin when none with a password exists. */
async function ensureFirstAdmin(
  variables: ReturnType<typeof processVariables>,
  url: string,
  log: Log,
): Promise<void> {
  const { adminEmail: email, adminPassword: password } = environment(variables);
  if (email === undefined || password === undefined) {
    if (email !== undefined || password !== undefined)
      log.warn({}, 'GATEWAY_ADMIN_EMAIL and GATEWAY_ADMIN_PASSWORD belong together: no admin was made');
    return;
  }
  const pool = await openPool(url, 1);
  try {
    const create = createFirstAdmin({ admins: adminsStore(pool), passwords: argon2Passwords() });
    const made = await create({ email, password });
    if (E.isLeft(made)) throw new Error(`GATEWAY_ADMIN_EMAIL, GATEWAY_ADMIN_PASSWORD: ${made.left}`);
    if (made.right) log.info({ email }, 'the first platform admin was made');
  } finally {
    await pool.end();
  }
}

async function serveHere(
  config: LiveConfig,
  database: Awaited<ReturnType<typeof openDatabase>>,
  seeds: boolean,
  log: Log,
  stopped: Promise<void>,
  onHangup: OnHangup,
  hooks: ServeHooks | undefined,
): Promise<void> {
  const service = await startService({ config, database, log, seeds });
  log.info({ url: service.url, pid: process.pid }, 'listening');
  hooks?.onReady(service.url);
  onHangup(() => service.reload());
  await stopped;
  await service.stop();
}

async function supervise(
  config: LiveConfig,
  url: string,
  workers: number,
  seeds: boolean,
  log: Log,
  stopped: Promise<void>,
  onHangup: OnHangup,
): Promise<number> {
  const supervised = superviseWorkers(workers, script, { DATABASE_URL: url }, log);
  log.info({ workers, pid: process.pid }, 'supervising');
  const reload = async (): Promise<readonly ConfigProblem[]> => {
    const read = await config.reload();
    if (E.isLeft(read)) return read.left;
    if (seeds) await reconcile(config, url, log);
    supervised.reload();
    return [];
  };
  onHangup(reload);
  const code = await Promise.race([stopped.then(() => 0), supervised.hopeless.then(() => 1)]);
  await supervised.stop();
  return code;
}

type Reload = () => Promise<readonly ConfigProblem[]>;
type OnHangup = (reload: Reload) => void;

/** SIGHUP takes the file up again. One that comes during the start does not end the process; it waits its turn. */
function hangups(log: Log): OnHangup {
  let reload: Reload | undefined;
  let early = false;
  const take = (): void => {
    early = reload === undefined;
    reload?.().then(
      (problems) => reportReload(log, problems),
      (error: unknown) => log.error({ error: nameOf(error) }, 'the configuration could not be taken up'),
    );
  };
  process.on('SIGHUP', take);
  return (how) => {
    reload = how;
    if (early) take();
  };
}

/** A bad file is refused loudly, and the old state stays. */
function reportReload(log: Log, problems: readonly ConfigProblem[]): void {
  if (problems.length === 0) log.info({}, 'the configuration was taken up');
  for (const { path: at, line, message } of problems)
    log.error({ path: at, line, problem: message }, 'the configuration was refused, and the old one stays');
}
