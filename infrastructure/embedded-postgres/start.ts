import { setTimeout as sleep } from 'node:timers/promises';
import { gatewayName, makeCluster } from './cluster.ts';
import { type DataDir, clusterVersion, databaseUser, openDataDir, readOrMakePassword } from './data-dir.ts';
import { keepLogShort } from './log-file.ts';
import { type NativePrograms, prepareNativePrograms } from './native-files.ts';
import { findPlatformPackage } from './platform-package.ts';
import { disownForeignPid, findPostmaster, removeEmptyPidFile } from './postmaster.ts';
import { pollMs, type ServerPlan, launch, stopServer } from './server.ts';
import { type ServerPresence, databaseUrl, join } from './session.ts';

/** What to start, and where. */
export interface EmbeddedPostgresOptions {
  /** Folder of the database, created when missing. It belongs to one machine: never share it between machines. */
  readonly dataDir: string;
  /** Takes one line, without a line break, for each event worth logging. Never contains a password. */
  readonly log?: (line: string) => void;
  /** For test runs: faster, because nothing is forced to disk; a power failure may destroy the database. */
  readonly testing?: boolean;
  /** Further server settings by name. They apply when this call starts the server, not when it reuses one. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Restarts the server, on its port, whenever it ends before `stop`. */
  readonly keepRunning?: boolean;
}

/** A running embedded PostgreSQL. */
export interface EmbeddedPostgres {
  /** URL of the database `gateway`, with the password in it. */
  readonly url: string;
  /** True when the server was already running: left by a process that was killed, or in use by another one. */
  readonly reused: boolean;
  /**
   * Stops the server and waits until it has exited, even a reused one. While another live process uses the server, it
   * is left running for that process, which then stops it.
   */
  stop(): Promise<void>;
}

/** A start, recovery after a crash and waiting for a server that is just stopping must all fit in this time. */
const startTimeoutMs = 30_000;

/**
 * Starts the embedded PostgreSQL of a data folder, or uses the one that already runs there. The database survives a
 * kill of this process at any point. Throws an error that says what to do when neither is possible.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const log = options.log ?? (() => undefined);
  const pkg = findPlatformPackage();
  const dir = await openDataDir(options.dataDir);
  const user = await databaseUser(dir);
  const programs = await prepareNativePrograms(pkg, dir.root, user, log);
  const version = await clusterVersion(dir);
  const password = await readOrMakePassword(dir, version !== undefined, log);
  if (version === undefined) {
    log(`creating a PostgreSQL ${programs.major} database in ${dir.cluster}`);
    await makeCluster(dir, programs, user, { password, durable: options.testing !== true });
  } else {
    refuseOtherVersion(dir, version, programs);
  }
  const settings = { ...(options.testing === true ? { fsync: 'off' } : {}), ...options.settings };
  const plan: ServerPlan = { dir, programs, user, settings };
  const server = await joinOrLaunch(plan, password, log);
  log(`PostgreSQL ${server.reused ? 'was running already' : 'started'} (process ${server.pid})`);
  return handle(plan, password, server, log, options.keepRunning === true);
}

interface RunningServer {
  readonly pid: number;
  readonly port: number;
  readonly reused: boolean;
  readonly presence: ServerPresence;
}

function refuseOtherVersion(dir: DataDir, version: string, programs: NativePrograms): void {
  if (version === programs.major) return;
  throw new Error(
    `The database in ${dir.cluster} was made by PostgreSQL ${version}, but this release brings ${programs.major}. ` +
      `Move it with pg_dump of version ${version}, or name another data folder to start over.`,
  );
}

/**
 * The loop of a start: look for a live server of the cluster; use it when it answers, wait while it starts or stops,
 * launch one when there is none. PostgreSQL's own lock on the folder decides between two launches.
 */
async function joinOrLaunch(
  plan: ServerPlan,
  password: string,
  log: (line: string) => void,
): Promise<RunningServer> {
  const { cluster, logFile } = plan.dir;
  const deadline = Date.now() + startTimeoutMs;
  let launched: number | undefined;
  let why = '';
  while (Date.now() < deadline) {
    const found = await findPostmaster(cluster);
    if (found === undefined) {
      await disownForeignPid(cluster, log);
      const free = await removeEmptyPidFile(cluster, log);
      const result = free ? await launch(plan, deadline) : { again: 'parts of a killed server still run' };
      if ('pid' in result) launched = result.pid;
      else why = result.again;
    } else if (found.ready) {
      const { pid, port } = found;
      const joined = await join(port, password);
      if (joined.kind === 'joined') {
        return { pid, port, reused: pid !== launched, presence: joined.presence };
      }
      if (joined.kind === 'wrong_password') {
        if (pid === launched) await stopServer(plan, pid, log);
        throw new Error(
          `The database in ${cluster} has a different password than ${plan.dir.passwordFile} says.`,
        );
      }
      why = joined.why;
    } else {
      why = `process ${found.pid} is starting or stopping`;
    }
    await sleep(pollMs);
  }
  throw new Error(
    `PostgreSQL in ${cluster} was not ready after ${startTimeoutMs / 1000} s (${why}). See ${logFile}; ` +
      'when it is recovering from a crash, wait and start again.',
  );
}

/** Pause after a failed restart: a full disk, for example, is not fixed any sooner. */
const againMs = 2000;

function handle(
  plan: ServerPlan,
  password: string,
  first: RunningServer,
  log: (line: string) => void,
  keepRunning: boolean,
): EmbeddedPostgres {
  let server = first;
  let over = false;
  let again: Promise<void> = Promise.resolve();
  const startAgain = async (): Promise<void> => {
    if (over) return;
    try {
      server = await joinOrLaunch({ ...plan, port: first.port }, password, log);
      log(`PostgreSQL runs again (process ${server.pid})`);
      if (server.port !== first.port) log('PostgreSQL has another port now: restart the gateway');
      watch();
    } catch (error) {
      log(`PostgreSQL could not be started again: ${error instanceof Error ? error.message : String(error)}`);
      await sleep(againMs, undefined, { ref: false });
      await startAgain();
    }
  };
  const watch = (): void => {
    void server.presence.ended.then(() => {
      if (!over) log(`PostgreSQL (process ${server.pid}) has ended, and is started again`);
      again = startAgain();
    });
  };
  if (keepRunning) watch();
  const endWatch = keepLogShort(plan.dir.logFile, log);
  const stop = async (): Promise<void> => {
    over = true;
    endWatch();
    await again;
    if (await server.presence.leave()) await stopServer(plan, server.pid, log);
    else log(`PostgreSQL (process ${server.pid}) is left running for another process that uses it`);
  };
  let stopped: Promise<void> | undefined;
  return {
    url: databaseUrl(first.port, password, gatewayName),
    reused: first.reused,
    stop: () => (stopped ??= stop()),
  };
}
