import { type ChildProcess, spawn } from 'node:child_process';
import path from 'node:path';
import { eventually } from './traces.ts';

const script = path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs');
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** A command of the gateway that goes on until it is told to stop. */
export interface RunningCommand {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves with the first match on standard output; rejects when the process ends before. */
  readonly says: (pattern: RegExp, withinMs?: number) => Promise<RegExpExecArray>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

/** Starts `gateway ARGS` with these variables alone, and PATH. */
export function startCommand(args: readonly string[], env: Readonly<Record<string, string>>): RunningCommand {
  const child = spawn(process.execPath, [script, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let out = '';
  let err = '';
  let ended = false;
  child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => {
      ended = true;
      children.delete(child);
      resolve({ code, signal });
    });
  });
  return {
    child,
    out: () => out,
    err: () => err,
    says: (pattern, withinMs = 30_000) =>
      eventually(() => {
        const found = pattern.exec(out);
        if (found === null && ended) throw new Error(`it ended without saying ${pattern}: ${out}${err}`);
        return found ?? undefined;
      }, withinMs),
    exited,
  };
}
