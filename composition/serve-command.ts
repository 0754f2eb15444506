import * as E from 'fp-ts/lib/Either.js';
import { openDatabase } from './database.ts';
import { liveConfig } from '../infrastructure/config/live-config.ts';
import { loadLastingConfig } from '../infrastructure/config/load.ts';
import type { processVariables } from '../infrastructure/config/process-variables.ts';
import { servedOf } from '../infrastructure/config/served-config.ts';
import { maxWorkers, type ServerConfig } from '../infrastructure/config/server-config.ts';
import { privateFolder } from '../infrastructure/embedded-postgres/private-folder.ts';
import { openLog } from '../infrastructure/logging.ts';
import { bundledCatalogue } from '../infrastructure/pricing/bundled.ts';
import { placedLine } from '../interfaces/cli/check-config.ts';
import { flags, type Terminal, wholeNumber } from '../interfaces/cli/command.ts';
import { tryListening } from '../interfaces/http/listener.ts';
import { fitConfig } from './fit-config.ts';
import { type Hangups, hangups } from './hangups.ts';
import { prepareGateway } from './prepare-gateway.ts';
import type { ProcessControl } from './process-control.ts';
import { refuseEmpty, type StartJudge } from './reload.ts';
import { type ServeOptions, type Service, startService } from './serve.ts';
import { endingInTime } from './shutdown.ts';

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
  processControl: ProcessControl,
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
  const { dataDir, database: settings, server } = loaded.right.config;
  if (processControl.first) await tryAddresses(server);
  const seeds = values['no-seed'] !== true;
  const allowShrink = values['allow-shrink'] === true;
  const log = openLog();
  const config = liveConfig(file, variables, servedOf(loaded.right), bundledCatalogue());
  const control = endingInTime(processControl, log);
  const reloads = hangups(control, log);
  await privateFolder(dataDir).catch((error: Error) =>
    log.warn({ reason: error.message }, 'the data folder could not be created, or made private'),
  );
  const database = await openDatabase(settings, (line) => log.info({}, line), true);
  try {
    if (control.first)
      await prepareGateway(database, loaded.right, variables, log, {
        migrates: values['no-migrate'] !== true,
        seeds,
        judge: allowShrink ? undefined : (hooks?.judge ?? refuseEmpty),
      });
    const workers = workersAsked ?? server.workers;
    return await serve({ control, config, database, log, seeds, allowShrink, workers, reloads, hooks });
  } finally {
    await log.flush();
    await database.stop();
  }
}

/**
 * A start that cannot listen changes nothing in the database: another gateway may serve from it, often the one that
 * listens there (rule 31.41).
 */
async function tryAddresses({ bind, adminBind }: ServerConfig): Promise<void> {
  for (const address of adminBind === undefined ? [bind] : [bind, adminBind]) await tryListening(address);
}

interface Serving extends ServeOptions {
  readonly control: ProcessControl;
  readonly workers: number;
  readonly reloads: Hangups;
  readonly hooks: ServeHooks | undefined;
}

/** Serves until the process is asked to stop. Resolves with its exit code. */
async function serve({ control, workers, reloads, hooks, ...options }: Serving): Promise<number> {
  const { config, database, log } = options;
  const service = await startService({ ...options, alone: workers === 1 });
  const report = (): void =>
    control.serving({ workers, graceMs: config.loaded().config.server.shutdownGraceSecs * 1000 });
  const { url, adminUrl } = service;
  log.info({ url, ...(adminUrl === url ? {} : { admin_url: adminUrl }), pid: process.pid }, 'listening');
  report();
  if (control.first) await hooks?.onReady(service, database.url);
  reloads.answerWith(() => service.reload().finally(report));
  let forced = false;
  void control.forced.then(() => {
    forced = true;
  });
  await control.stopped;
  const unsettled = await service.stop(control.forced);
  return forced || unsettled > 0 ? 1 : 0;
}
