import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.join(import.meta.dirname, '..', '..');
export const fileOf = (name: string): string => path.join(root, name);
export const textOf = (name: string): string => readFileSync(fileOf(name), 'utf8');

/** The output and exit code of a program. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a program to its end, for at most a minute. */
export function ran(command: string, args: readonly string[], options: { readonly cwd?: string } = {}): Said {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...options,
    encoding: 'utf8',
    timeout: 60_000,
  });
  return { code: status, out: stdout ?? '', err: error === undefined ? stderr : error.message };
}
