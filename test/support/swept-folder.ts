import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Removes the folder, and ends the PostgreSQL servers whose data is in it, once this process has ended in whatever way. */
export function startSweeper(folder: string, told: 'inherit' | 'ignore' = 'inherit'): ChildProcess {
  const sweeper = spawn(process.execPath, [path.join(import.meta.dirname, 'sweeper.ts'), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', told],
  });
  sweeper.unref();
  if (sweeper.stdin instanceof Socket) sweeper.stdin.unref();
  return sweeper;
}

/** A folder of a drill or a bench. A run that is broken off leaves neither it nor a server in it. */
export async function sweptFolder(name: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), `gateway-${name}-`));
  startSweeper(folder);
  // A signal by itself would end this process without `exit`, at which it ends those that it has started.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  return folder;
}
