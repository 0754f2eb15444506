import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const root = path.join(import.meta.dirname, '..');
export const gatewayScript = path.join(root, 'interfaces', 'cli', 'gateway.mjs');

/** A measured process. */
export interface Measured {
  readonly url: string;
  /** CPU so far (user and system) of it and its descendants, in microseconds. */
  readonly cpuMicros: () => number;
  /** Peak memory of it and its descendants, in KiB. */
  readonly peakKib: () => number;
  readonly resident: () => Resident;
  readonly stop: () => Promise<void>;
}

/** Current resident memory, in KiB. */
export interface Resident {
  /** Of the serving processes. */
  readonly servingKib: number;
  /** Of their supervisor; 0 when there is only one process. */
  readonly supervisorKib: number;
}

type Environment = Readonly<Record<string, string>>;

/** Starts a script and waits until it prints the URL that it listens on. */
export const start = (args: readonly string[], env: Environment = {}): Promise<Measured> =>
  measured(spawned(args, env), printedUrl);

/** Starts the simulated upstream with this script of the gateway. */
export const startUpstream = (script = gatewayScript): Promise<Measured> =>
  start([script, 'simulate-upstream', '--port', '0']);

/** Starts a script that prints no URL, and waits until it accepts connections on this port of 127.0.0.1. */
export const startOn = (port: number, args: readonly string[], env: Environment = {}): Promise<Measured> =>
  measured(spawned(args, env), (child) => answeringUrl(child, port));

const children = new Set<ChildProcess>();
// They would outlive this process.
process.once('exit', () => {
  for (const child of children) child.kill();
});

const spawned = (args: readonly string[], env: Environment): ChildProcess => {
  const child = spawn(process.execPath, [...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
};

async function measured(
  child: ChildProcess,
  urlOf: (child: ChildProcess) => Promise<string>,
): Promise<Measured> {
  const url = await urlOf(child);
  const pid = child.pid ?? 0;
  return {
    url,
    cpuMicros: () => treeMicros(pid),
    peakKib: () => treeKib(pid, 'VmHWM'),
    resident: () => residentOf(pid),
    stop: () =>
      new Promise((resolve) => {
        // It may already have been ended by another signal.
        if (child.exitCode !== null || child.signalCode !== null) return resolve();
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
}

function printedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      if (text.length > 100_000) return;
      text += chunk.toString();
      const [, url] = /(?:"url":"|listens on )(http:[^"\s]+)/.exec(text) ?? [];
      if (url !== undefined) resolve(url);
    });
    child.once('exit', (code) => reject(new Error(`a benchmarked process ended with ${code}: ${text}`)));
  });
}

const startTimeoutMs = 30_000;

async function answeringUrl(child: ChildProcess, port: number): Promise<string> {
  child.stdout?.resume();
  const deadline = performance.now() + startTimeoutMs;
  while (!(await takesConnections(port))) {
    if (child.exitCode !== null) throw new Error(`a benchmarked process ended with ${child.exitCode}`);
    if (performance.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`a benchmarked process took no connection on port ${port} in ${startTimeoutMs} ms`);
    }
    await sleep(100);
  }
  return `http://127.0.0.1:${port}`;
}

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Linux counts in ticks of 10 ms. */
const microsPerTick = 10_000;

/** CPU so far of a process and its descendants, including those that have ended, in microseconds. */
export const treeMicros = (pid: number): number =>
  childrenOf(pid).reduce((sum, each) => sum + treeMicros(each), cpuMicros(pid));

/** The same for a PostgreSQL, given the data folder of an embedded one. */
export function databaseMicros(dataDir: string): () => number {
  const [pid] = readFileSync(path.join(dataDir, 'cluster', 'postmaster.pid'), 'utf8').split('\n');
  return () => treeMicros(Number(pid));
}

function cpuMicros(pid: number): number {
  const stat = procText(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Its own (user, system), and that of children that it has waited for (user, system).
  const [own = 0, ownSystem = 0, waited = 0, waitedSystem = 0] = fields.slice(11, 15).map(Number);
  const ticks = (own + ownSystem) * microsPerTick;
  // Threads are counted in nanoseconds, but only while they exist. Ticks include those that have ended.
  return Math.max(ticks, threadMicros(pid)) + (waited + waitedSystem) * microsPerTick;
}

const threadMicros = (pid: number): number =>
  threadsOf(pid).reduce((sum, thread) => {
    const [nanos = ''] = procText(`/proc/${pid}/task/${thread}/schedstat`).split(' ');
    return sum + Number(nanos) / 1000;
  }, 0);

const statusKib = (pid: number, field: 'VmHWM' | 'VmRSS'): number =>
  Number(new RegExp(`${field}:\\s*(\\d+)`).exec(procText(`/proc/${pid}/status`))?.[1] ?? 0);

const treeKib = (pid: number, field: 'VmHWM' | 'VmRSS'): number =>
  childrenOf(pid).reduce((sum, each) => sum + treeKib(each, field), statusKib(pid, field));

function residentOf(pid: number): Resident {
  const below = childrenOf(pid);
  if (below.length === 0) return { servingKib: statusKib(pid, 'VmRSS'), supervisorKib: 0 };
  return {
    servingKib: below.reduce((sum, each) => sum + treeKib(each, 'VmRSS'), 0),
    supervisorKib: statusKib(pid, 'VmRSS'),
  };
}

const childrenOf = (pid: number): readonly number[] =>
  procText(`/proc/${pid}/task/${pid}/children`).trim().split(' ').filter(Boolean).map(Number);

const threadsOf = (pid: number): readonly string[] => ifThere([], () => readdirSync(`/proc/${pid}/task`));

const procText = (file: string): string => ifThere('', () => readFileSync(file, 'utf8'));

/** A process or a thread may end while it is being read, and then counts as nothing. */
function ifThere<T>(otherwise: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ESRCH') return otherwise;
    throw error;
  }
}
