import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { unprivileged } from './programs.ts';

const started = new Set<ChildProcess>();
/** `postmaster.pid` files, since servers outlive the process that started them. */
const pidFiles = new Set<string>();

/** Ends the server with this file when this process exits. */
export const endWithUs = (pidFile: string): void => void pidFiles.add(pidFile);

process.once('exit', () => {
  for (const child of started) if (child.pid !== undefined) signal(child.pid, 'SIGKILL');
  for (const file of pidFiles) for (const pid of treeOf(postmasterIn(file))) signal(pid, 'SIGKILL');
});
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(130));

/** Starts a program as an unprivileged user; its output is written to a file. */
export function startProgram(
  program: string,
  args: readonly string[],
  logFile: string,
  env: Readonly<Record<string, string>> = {},
): ChildProcess {
  const child = spawn(program, args, {
    ...unprivileged(),
    env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  started.add(child);
  child.once('exit', () => void started.delete(child));
  return child;
}

/** Ends a program; kills it if it does not end in time. */
export async function endProgram(child: ChildProcess, withinMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  if ((await Promise.race([exited, sleep(withinMs, 'late')])) === 'late') {
    child.kill('SIGKILL');
    await exited;
  }
}

/** The process id in this file of a server; undefined if there is none. */
export function postmasterIn(pidFile: string): number | undefined {
  try {
    return Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  } catch {
    return undefined;
  }
}

/** A process and all of its descendants. */
export function treeOf(root: number | undefined): readonly number[] {
  if (root === undefined) return [];
  const children = new Map<number, number[]>();
  for (const line of execFileSync('ps', ['-eo', 'pid=,ppid=']).toString().trim().split('\n')) {
    const [pid = 0, parent = 0] = line.trim().split(/\s+/).map(Number);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}

/** Sends a signal, and ignores a process that has already ended. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Retries until there is a result; throws after `withinMs`. */
export async function until<A>(
  what: string,
  withinMs: number,
  ask: () => Promise<A | undefined>,
): Promise<A> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs / 1000} s`);
    await sleep(100);
  }
}
