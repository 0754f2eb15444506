import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * Removes the folder, and ends the PostgreSQL servers with data in it, once this process has ended in any
 * way.
 */
export function startSweeper(folder: string, told: 'inherit' | 'ignore' = 'inherit'): ChildProcess {
  const sweeper = spawn(process.execPath, [path.join(import.meta.dirname, 'sweeper.ts'), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', told],
  });
  sweeper.unref();
  if (sweeper.stdin instanceof Socket) sweeper.stdin.unref();
  return sweeper;
}

/**
 * A folder for a drill or a benchmark. A run that is interrupted leaves neither the folder nor a server in
 * it.
 */
export async function sweptFolder(name: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), `gateway-${name}-`));
  startSweeper(folder);
  // A signal would end this process without `exit`, at which it ends the processes that it has started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  return folder;
}
