import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stringify } from 'yaml';

const script = path.join(import.meta.dirname, '..', '..', '..', 'interfaces', 'cli', 'gateway.mjs');

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export interface Gateway {
  readonly url: string;
  /** The number of log lines at level `error` so far, by message. */
  readonly errors: ReadonlyMap<string, number>;
  /** Number of records that were written from the journal into the database so far. */
  readonly replayed: () => number;
  /** Files of the journal that are pending or were rejected. */
  readonly journal: () => Promise<readonly string[]>;
  /** By SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Resolves with the exit code. */
  readonly stop: () => Promise<number | null>;
}

/** Starts `gateway serve` with its own data folder, which may contain files of an earlier process. */
export async function startGateway(folder: string, config: object, databaseUrl: string): Promise<Gateway> {
  await mkdir(folder, { recursive: true });
  const file = path.join(folder, 'gateway.yaml');
  await writeFile(file, stringify(config));
  const child = spawn(process.execPath, [script, 'serve'], {
    env: {
      PATH: process.env['PATH'],
      GATEWAY_CONFIG: file,
      DATABASE_URL: databaseUrl,
      GATEWAY_DATA_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  child.once('exit', () => void running.delete(child));
  const errors = new Map<string, number>();
  const listening = Promise.withResolvers<string>();
  let replayed = 0;
  let tail = '';
  const read = (line: string): void => {
    const { level, msg, url, settled } = JSON.parse(line) as Record<string, unknown>;
    if (typeof url === 'string') listening.resolve(url);
    if (level === 'error') errors.set(String(msg), (errors.get(String(msg)) ?? 0) + 1);
    if (msg === 'journal settled') replayed += Number(settled);
  };
  let rest = '';
  child.stdout.on('data', (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('{')) read(line);
  });
  child.stderr.on('data', (bytes: Buffer) => void (tail = (tail + bytes.toString()).slice(-2_000)));
  child.once('exit', (code) => listening.reject(new Error(`gateway serve ended with ${code}: ${tail}`)));
  const url = await listening.promise;
  return {
    url,
    errors,
    replayed: () => replayed,
    journal: async () => await readdir(path.join(folder, 'journal')).catch(() => []),
    kill: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
    stop: async () => {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = (await exited) as [number | null];
      return code;
    },
  };
}

/** Runs a command of the gateway to its end. */
export async function runCommand(
  folder: string,
  args: readonly string[],
  databaseUrl: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(process.execPath, [script, ...args], {
    env: {
      PATH: process.env['PATH'],
      GATEWAY_CONFIG: path.join(folder, 'gateway.yaml'),
      DATABASE_URL: databaseUrl,
      GATEWAY_DATA_DIR: folder,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => void (output += bytes.toString()));
  const [code] = (await once(child, 'exit')) as [number | null];
  return { code, output };
}
