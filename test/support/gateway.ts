import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { Client } from 'pg';
import { stringify } from 'yaml';
import { liveConfig } from '../../infrastructure/config/live-config.ts';
import { loadConfig } from '../../infrastructure/config/load.ts';
import { seedOf } from '../../infrastructure/config/seed.ts';
import { servedOf } from '../../infrastructure/config/served-config.ts';
import type { Log } from '../../infrastructure/logging.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { seedStore } from '../../infrastructure/postgres/seed-store.ts';
import { bundledCatalogue } from '../../infrastructure/pricing/bundled.ts';
import { startService } from '../../composition/serve.ts';
import { onCitus } from './citus-database.ts';
import { watchAnswers } from './openapi/watch-answers.ts';

export { aKey } from './a-key.ts';

/** A configuration, with the members of the YAML file. */
export type ConfigFile = Record<string, unknown>;

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly fields: Record<string, unknown>;
  readonly message: string;
}

/** A log that is recorded instead of written. */
export function memoryLog(): Log & { readonly lines: LogLine[] } {
  const lines: LogLine[] = [];
  const add = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message });
  return { lines, info: add('info'), warn: add('warn'), error: add('error'), flush: async () => undefined };
}

/** The price of a million tokens of `fast`, in USD. */
export const pricedAt = (input: string, output: string) => ({
  overrides: [
    {
      provider: 'up',
      model: 'simulated-fast',
      input_usd_per_million: input,
      output_usd_per_million: output,
    },
  ],
});

/** A configuration with one compat provider, one priced model `fast`, and one user with one key. */
export function basicConfig(
  upstreamUrl: string,
  key: string,
  over: {
    readonly user?: object;
    readonly route?: object;
    readonly provider?: object;
    readonly more?: ConfigFile;
  } = {},
): ConfigFile {
  return {
    server: { bind: '127.0.0.1:0' },
    providers: [
      {
        id: 'up',
        type: 'compat',
        base_url: upstreamUrl,
        auth: { mode: 'bearer', token: 'upstream-token-0123456789' },
        ...over.provider,
      },
    ],
    models: [{ id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast', ...over.route }] }],
    pricing: pricedAt('0.15', '0.60'),
    teams: [{ id: 'platform', name: 'Platform' }],
    users: [{ email: 'a@example.com', name: 'A', ...over.user }],
    api_keys: [{ name: 'dev', owner: 'user:a@example.com', value: key }],
    ...over.more,
  };
}

export interface TestGateway {
  /** Such as `http://127.0.0.1:1234`. */
  readonly url: string;
  /** Base URL of the admin API: the same as `url` without `server.admin_bind`. */
  readonly adminUrl: string;
  readonly log: ReturnType<typeof memoryLog>;
  /** Reconciles another configuration, as SIGHUP does. */
  readonly take: (config: ConfigFile) => Promise<void>;
  /** The same with a text. */
  readonly reload: (text: string) => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * A whole gateway in this process: real sockets, real PostgreSQL, the configuration seeded. `environment` has
 * the values of its placeholders. When it stops, all its answers are checked against the API's description.
 */
export async function startGateway(
  config: ConfigFile,
  databaseUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<TestGateway> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-config-'));
  const file = path.join(folder, 'gateway.yaml');
  const variables = { ...environment, DATABASE_URL: databaseUrl, GATEWAY_DATA_DIR: folder };
  await writeFile(file, stringify(onDatabase(config)));
  const loaded = await loadConfig(file, variables);
  if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
  const log = memoryLog();
  await seed(databaseUrl, seedOf(loaded.right));
  const live = liveConfig(file, variables, servedOf(loaded.right), bundledCatalogue());
  const migrations = path.join(import.meta.dirname, '..', '..', 'migrations');
  const { distribution } = loaded.right.config.database;
  const database = { url: databaseUrl, distribution, migrations, stop: async () => undefined };
  const service = await startService({ config: live, database, log, seeds: true, allowShrink: true });
  const { url, adminUrl } = service;
  // The description is of one listener with all paths; with two, each answers 404 to paths of the other.
  const answers = adminUrl === url ? watchAnswers(Number(new URL(url).port)) : undefined;
  const reload = async (text: string): Promise<void> => {
    await writeFile(file, text);
    const problems = await service.reload();
    if (problems.length > 0) throw new Error(JSON.stringify(problems));
  };
  return {
    url,
    adminUrl,
    log,
    take: (next) => reload(stringify(onDatabase(next))),
    reload,
    stop: async () => {
      await service.stop();
      await rm(folder, { recursive: true });
      const faults = answers?.end() ?? [];
      if (faults.length > 0) throw new Error(`Not as the API is described:\n${faults.join('\n')}`);
    },
  };
}

/** As in the database of the suites. */
export const onDatabase = (config: ConfigFile): ConfigFile =>
  onCitus() ? { ...config, database: { ...Object(config['database']), distribution: 'citus' } } : config;

async function seed(databaseUrl: string, wanted: ReturnType<typeof seedOf>): Promise<void> {
  const pool = await openPool(databaseUrl, 1);
  try {
    await seedStore(pool).reconcile(wanted);
  } finally {
    await pool.end();
  }
}

const script = path.join(import.meta.dirname, '..', '..', 'interfaces', 'cli', 'gateway.mjs');
const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

export interface GatewayProcess {
  readonly child: ChildProcess;
  readonly url: string;
  /** Everything printed so far. */
  readonly output: () => string;
  /** Resolves when all its processes have ended. */
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  /** Sends SIGKILL to all its processes, to the supervisor first so that it replaces none. */
  readonly kill: () => void;
}

/** Another copy of the product, and the values of its configuration's placeholders. */
export interface OtherCopy {
  readonly root: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** The same in a process of its own (`gateway serve`), for kills, signals and several replicas. */
export async function spawnGateway(
  config: ConfigFile,
  databaseUrl: string,
  args: readonly string[] = [],
  dataDir?: string,
  copy?: OtherCopy,
): Promise<GatewayProcess> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gateway-config-'));
  const file = path.join(folder, 'gateway.yaml');
  await writeFile(file, stringify(config));
  const command = copy === undefined ? script : path.join(copy.root, 'interfaces', 'cli', 'gateway.mjs');
  const child = spawn(process.execPath, [command, 'serve', ...args], {
    env: {
      ...copy?.environment,
      PATH: process.env['PATH'],
      GATEWAY_CONFIG: file,
      DATABASE_URL: databaseUrl,
      GATEWAY_DATA_DIR: dataDir ?? folder,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  let output = '';
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => {
      children.delete(child);
      void rm(folder, { recursive: true, force: true });
      resolve({ code, signal });
    });
  });
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const [, found] = /"url":"([^"]+)"/.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void exited.then(({ code }) => reject(new Error(`gateway serve ended with ${code}: ${output}`)));
  });
  const kill = (): void => {
    child.kill('SIGKILL');
    for (const [, pid] of output.matchAll(/"msg":"listening".*?"pid":(\d+)/g)) endAtOnce(Number(pid));
  };
  return { child, url, output: () => output, exited, kill };
}

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // ESRCH: the process has already ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Runs one command line of the gateway until it ends. */
export function runGateway(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [script, ...args], {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => void (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
    child.once('close', (code) => resolve({ code, out, err }));
  });
}

/** A plain connection to a suite's database, for looking at rows; closed after the suite. */
export function queries(url: () => string) {
  let client: Client | undefined;
  afterAll(async () => {
    await client?.end();
  });
  return async <Row extends object = Record<string, unknown>>(
    text: string,
    values: unknown[] = [],
  ): Promise<Row[]> => {
    if (client === undefined) {
      client = new Client(url());
      await client.connect();
    }
    return (await client.query<Row>(text, values)).rows;
  };
}
