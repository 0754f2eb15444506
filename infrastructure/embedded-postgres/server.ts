import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { clusterPath } from './cluster.ts';
import type { DataDir } from './data-dir.ts';
import { logLength, logSince, openLogFile } from './log-file.ts';
import type { NativePrograms } from './native-files.ts';
import { type DatabaseUser, nativeEnvironment, runToEnd } from './native-process.ts';
import { clusterMark, findPostmaster, isServer, lastPort } from './postmaster.ts';

/** Everything needed to start a server process. */
export interface ServerPlan {
  readonly dir: DataDir;
  readonly programs: NativePrograms;
  readonly user: DatabaseUser | undefined;
  /** Server settings by name, except those that are fixed here. */
  readonly settings: Readonly<Record<string, string>>;
  /** The port to reuse because clients know it. Without it: the last port if that is free, else any free one. */
  readonly port?: number;
}

/** Either the server runs (`pid`), or it could not start and another attempt makes sense (`again` says why). */
export type Launch = { readonly pid: number } | { readonly again: string };

/** Polling interval while waiting for a state; a start takes 30 to 80 ms. */
export const pollMs = 20;

/** A fast shutdown writes a checkpoint: seconds on a slow disk. */
const fastStopMs = 20_000;

/** An immediate shutdown writes nothing; PostgreSQL itself kills what is left after 5 s. */
const immediateStopMs = 10_000;

/**
 * Starts a server process for the cluster and waits until it is ready, at most until `deadline` (ms since the epoch).
 * It runs in its own session, so Ctrl-C in the terminal reaches only the gateway, which then shuts down in order.
 */
export async function launch(plan: ServerPlan, deadline: number): Promise<Launch> {
  const log = openLogFile(plan.dir.logFile, plan.user);
  const logFrom = await logLength(plan.dir.logFile);
  const child = spawn(
    plan.programs.postgres,
    serverArguments(plan, plan.port ?? (await freePort(lastPort(plan.dir.cluster)))),
    {
      ...plan.user,
      cwd: plan.dir.cluster,
      env: nativeEnvironment,
      detached: true,
      windowsHide: true,
      stdio: ['ignore', log.fd, log.fd],
    },
  );
  log.close();
  child.unref();
  await once(child, 'spawn');
  while (child.exitCode === null && child.signalCode === null) {
    const found = await findPostmaster(plan.dir.cluster);
    if (found?.pid === child.pid && found?.ready === true) return { pid: found.pid };
    // The server keeps running past the deadline: a long recovery continues, and the next start finds it.
    if (Date.now() > deadline) return { again: 'it is still starting' };
    await sleep(pollMs);
  }
  return { again: whyAgain(await logSince(plan.dir.logFile, logFrom), child) };
}

function serverArguments({ dir, user, settings }: ServerPlan, port: number): readonly string[] {
  const fixed = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    cluster_name: clusterMark(dir.cluster),
  };
  const all = { ...defaultSettings, ...settings, ...fixed };
  return [
    '-D',
    clusterPath(dir.cluster, user),
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}

/** Settings that a caller may override. */
const defaultSettings: Readonly<Record<string, string>> = {
  shared_buffers: '64MB',
  max_connections: '200',
  // Each budget that a file changes holds a lock until the transaction ends; a file of 4 MiB may have 50,000.
  max_locks_per_transaction: '256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  // The gateway reports failed statements, whose text may contain values; only the server's own events are logged.
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_checkpoints: 'off',
};

/**
 * Startup failures that may be temporary: a concurrent start was quicker, a killed server is still exiting, the port
 * was taken.
 */
const passingFailure =
  /lock file ".*" already exists|pre-existing shared memory block|could not bind|could not create any TCP/;

function whyAgain(output: string, child: ChildProcess): string {
  if (passingFailure.test(output)) return output;
  const ended = child.signalCode ?? `exit code ${child.exitCode}`;
  throw new Error(`PostgreSQL ended while it started (${ended}): ${output}`);
}

/** The wanted port, or any free one when that is taken. */
async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  try {
    server.listen(wanted, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    if (wanted === 0) throw error;
    return freePort();
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * Stops the server process `pid` of the cluster, no matter who started it: first with a fast shutdown (open sessions
 * are ended, everything is written), then with an immediate one. Throws when the process survives both.
 */
export async function stopServer(plan: ServerPlan, pid: number, log: (line: string) => void): Promise<void> {
  const mark = clusterMark(plan.dir.cluster);
  if (process.platform === 'win32') {
    const args = ['stop', '-D', plan.dir.cluster, '-m', 'fast', '-w'];
    await runToEnd(plan.programs.pgCtl, args, {
      user: undefined,
      cwd: plan.dir.root,
      timeoutMs: fastStopMs,
    });
  } else {
    await signal(pid, 'SIGINT', mark);
  }
  if (await isGone(pid, mark, fastStopMs)) return;
  log(`PostgreSQL (process ${pid}) did not stop within ${fastStopMs / 1000} s and is ended at once`);
  await signal(pid, 'SIGQUIT', mark);
  if (await isGone(pid, mark, immediateStopMs)) return;
  throw new Error(`PostgreSQL (process ${pid}) in ${plan.dir.cluster} does not stop`);
}

async function signal(pid: number, name: NodeJS.Signals, mark: string): Promise<void> {
  if (!(await isServer(pid, mark))) return;
  try {
    process.kill(pid, name);
    // A suspended process takes no other signal before it is continued.
    process.kill(pid, 'SIGCONT');
  } catch (error) {
    // ESRCH: it has just exited by itself.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function isGone(pid: number, mark: string, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (await isServer(pid, mark)) {
    if (Date.now() > deadline) return false;
    await sleep(pollMs);
  }
  return true;
}
