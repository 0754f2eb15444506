import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { findPostmaster } from '../../infrastructure/embedded-postgres/postmaster.ts';
import type { EmbeddedPostgresOptions } from '../../infrastructure/embedded-postgres/start.ts';
import { connected } from '../support/test-server.ts';

export const projectRoot = path.join(import.meta.dirname, '..', '..');
export const isRoot = process.getuid?.() === 0;
export const isLinux = process.platform === 'linux';

export const query = async (url: string, sql: string): Promise<Record<string, unknown>> =>
  connected(url, async (client) => (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {});

export const serverPid = async (dataDir: string): Promise<number> =>
  (await findPostmaster(path.join(dataDir, 'cluster')))?.pid ?? 0;

/** Whether a process runs; false for a zombie, too. */
export async function runs(pid: number): Promise<boolean> {
  if (isLinux) return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) !== '';
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export interface OtherProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly reused: boolean;
  readonly stop: () => Promise<void>;
}

/** Begins to start the database in a separate process, which stops it on request and can be killed at any time. */
export function beginElsewhere(
  options: Omit<EmbeddedPostgresOptions, 'log'>,
  from: { readonly root?: string; readonly env?: Readonly<Record<string, string>> } = {},
): { readonly child: ChildProcess; readonly ready: () => Promise<OtherProcess> } {
  const module = path.join(from.root ?? projectRoot, 'infrastructure/embedded-postgres/start.ts');
  const script = `process.stdin.once('end', () => process.exit(1));
    const stop = new Promise((told) => process.stdin.once('data', told));
    const { startEmbeddedPostgres } = await import(${JSON.stringify(pathToFileURL(module).href)});
    const server = await startEmbeddedPostgres(${JSON.stringify(options)});
    console.log(JSON.stringify(server));
    await stop;
    await server.stop();
    process.exit(0);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...from.env },
  });
  const ready = async (): Promise<OtherProcess> => {
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const started = JSON.parse(line.toString()) as { url: string; reused: boolean };
    const stop = async (): Promise<void> => {
      child.stdin.write('stop\n');
      await once(child, 'exit');
    };
    return { child, ...started, stop };
  };
  return { child, ready };
}

export const startElsewhere = (
  options: Omit<EmbeddedPostgresOptions, 'log'>,
  from?: { readonly root?: string; readonly env?: Readonly<Record<string, string>> },
): Promise<OtherProcess> => beginElsewhere(options, from).ready();

export async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}
