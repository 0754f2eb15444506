import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process under measurement. */
export interface Measured {
  readonly url: string;
  /** Its CPU so far (user and system), with that of the processes below it, in microseconds. */
  readonly cpuMicros: () => number;
  /** Memory at its highest, of it and of the processes below it, in KiB. */
  readonly peakKib: () => number;
  readonly stop: () => Promise<void>;
}

/** Starts a script and waits until it prints the URL that it listens on. */
export async function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Measured> {
  const child = spawn(process.execPath, [...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await printedUrl(child);
  return {
    url,
    cpuMicros: () => treeMicros(child.pid ?? 0),
    peakKib: () => treePeakKib(child.pid ?? 0),
    stop: () =>
      new Promise((resolve) => {
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

/** Linux counts in ticks of 10 ms. */
const microsPerTick = 10_000;

/** CPU so far of a process and of those below it, also of those that have ended, in microseconds. */
export const treeMicros = (pid: number): number =>
  childrenOf(pid).reduce((sum, each) => sum + treeMicros(each), cpuMicros(pid));

function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // Its own, by user and system, and that of the children that it has waited for.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * microsPerTick;
}

/** A process that is gone by now has none. */
const peakKib = (pid: number): number =>
  Number(/VmHWM:\s*(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

const treePeakKib = (pid: number): number =>
  childrenOf(pid).reduce((sum, each) => sum + treePeakKib(each), peakKib(pid));

const childrenOf = (pid: number): readonly number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
