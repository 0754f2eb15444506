import { execFile } from 'node:child_process';
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { nativeEnvironment } from './native-process.ts';

/** The server described by PostgreSQL's own `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** The path of `postmaster.pid`: line 1 is the process id, line 4 the port, line 8 the state. */
const pidFile = (cluster: string): string => path.join(cluster, 'postmaster.pid');

/**
 * A word in the server's command line that no server of another cluster has. It distinguishes a live server of this
 * cluster from a process that merely reuses its process id, which is common in containers.
 */
export function clusterMark(cluster: string): string {
  const { dev, ino } = statSync(cluster);
  return `gateway-${dev}-${ino}`;
}

/** The live server of the cluster, if there is one. */
export async function findPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const text = readPidFile(cluster);
  if (text === undefined) return undefined;
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!(await isServer(pid, clusterMark(cluster)))) return undefined;
  const port = Number(lines[3]);
  return { pid, port, ready: lines[7]?.trim() === 'ready' && port > 0 };
}

/** Whether process `pid` is alive and is the server with this mark; a zombie is not. */
export async function isServer(pid: number, mark: string): Promise<boolean> {
  if (!isAlive(pid)) return false;
  // Windows has no cheap way to read a command line, so the process id has to do.
  if (process.platform === 'win32') return true;
  return (await commandLine(pid)).includes(`cluster_name=${mark}`);
}

/**
 * Frees a cluster whose `postmaster.pid` names a live process that is not its server: PostgreSQL would take it for a
 * running server and refuse to start. The file is not deleted, because it also names the shared memory by which
 * PostgreSQL notices that parts of a killed server still run. Its process id is replaced by that of this process,
 * because PostgreSQL never takes its own parent for a server.
 */
export async function disownForeignPid(cluster: string, log: (line: string) => void): Promise<void> {
  const text = readPidFile(cluster);
  const pid = Number(text?.split('\n')[0]);
  if (text === undefined || !isAlive(pid) || (await isServer(pid, clusterMark(cluster)))) return;
  // Nothing is awaited from here on, so no concurrent start is likely to put its own file there in between.
  if (readPidFile(cluster) !== text) return;
  writeFileSync(pidFile(cluster), text.replace(/^\d+/, String(process.pid)));
  log(`${pidFile(cluster)} named process ${pid}, which is not PostgreSQL: the server was killed earlier`);
}

/** PostgreSQL fills its lock file right after creating it, so a file that is empty for longer stays empty. */
const emptyMs = 1000;

/**
 * Frees a cluster whose `postmaster.pid` names no process at all. A full disk or a power failure leaves such a file,
 * and PostgreSQL refuses to start next to it. Without its content PostgreSQL cannot notice that parts of a killed
 * server still run, so this function looks for them; it returns false while there are any.
 */
export async function removeEmptyPidFile(cluster: string, log: (line: string) => void): Promise<boolean> {
  if (!namesNobody(readPidFile(cluster))) return true;
  await sleep(emptyMs);
  if (await partsRun(clusterMark(cluster))) return false;
  if (!namesNobody(readPidFile(cluster))) return true;
  rmSync(pidFile(cluster));
  log(`${pidFile(cluster)} was empty, which a crash leaves behind: it is removed`);
  return true;
}

const namesNobody = (text: string | undefined): boolean => text !== undefined && !/^[1-9]/.test(text);

/** Whether any process has the mark in its title, as all processes of a server have. */
async function partsRun(mark: string): Promise<boolean> {
  if (process.platform === 'win32') return false;
  const titled = new RegExp(`(?:^|[ =])${mark}(?:$|[ :])`, 'm');
  if (process.platform !== 'linux') return titled.test(await processList(['-ax']));
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(pids.map((pid) => commandLine(Number(pid))));
  return lines.some((line) => titled.test(line));
}

/** The port of the killed server, as long as its `postmaster.pid` exists. */
export function lastPort(cluster: string): number | undefined {
  const port = Number(readPidFile(cluster)?.split('\n')[3]);
  return Number.isInteger(port) && port > 0 ? port : undefined;
}

function readPidFile(cluster: string): string | undefined {
  try {
    return readFileSync(pidFile(cluster), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is alive, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Empty when the process has exited in the meantime or is a zombie. */
async function commandLine(pid: number): Promise<string> {
  if (process.platform === 'linux') {
    const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return text.replaceAll('\0', ' ');
  }
  return processList(['-p', String(pid)]);
}

const processList = (which: readonly string[]): Promise<string> =>
  promisify(execFile)('ps', ['-ww', '-o', 'args=', ...which], { env: nativeEnvironment }).then(
    ({ stdout }) => stdout,
    () => '',
  );
