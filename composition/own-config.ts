import { existsSync } from 'node:fs';
import * as E from 'fp-ts/lib/Either.js';
import type { DatabasePool } from 'slonik';
import { formatKey } from '../domain/identity/api-key.ts';
import { environment } from '../infrastructure/config/environment.ts';
import { type LoadedConfig, loadConfig } from '../infrastructure/config/load.ts';
import { processVariables } from '../infrastructure/config/process-variables.ts';
import { hasDatabase } from '../infrastructure/embedded-postgres/data-dir.ts';
import { newKey } from '../infrastructure/key-secrets.ts';
import { answerMs, whileAnswered, withClient } from '../infrastructure/postgres/client.ts';
import { openPool } from '../infrastructure/postgres/pool.ts';
import { anyTime } from '../infrastructure/postgres/within-time.ts';
import { placedLine } from '../interfaces/cli/check-config.ts';
import { terminal } from '../interfaces/cli/command.ts';
import { openDatabase } from './database.ts';

/**
 * The configuration that is named or lies in this folder; `undefined` when there is none, and the quick start's
 * applies.
 */
const ownConfigPath = (): string | undefined =>
  environment(processVariables()).configPath ?? (existsSync('gateway.yaml') ? 'gateway.yaml' : undefined);

export function configPath(): string {
  const own = ownConfigPath();
  if (own !== undefined) return own;
  throw new Error('There is no configuration: set GATEWAY_CONFIG to its path, or write gateway.yaml here.');
}

/**
 * Commands that only need the database also work on the quick start's. They use nothing else from its configuration, so
 * any key will do.
 */
export async function databaseConfig(): Promise<LoadedConfig> {
  const own = ownConfigPath();
  if (own !== undefined) return valid(own);
  const { quickstartConfig, quickstartVariables } = await import('./quickstart.ts');
  return valid(quickstartConfig, quickstartVariables(formatKey(newKey()), 'http://127.0.0.1:1/v1'));
}

/** Loads a configuration; throws its problems, one per line. */
export async function valid(
  file: string,
  more: Readonly<Record<string, string>> = {},
): Promise<LoadedConfig> {
  const loaded = await loadConfig(file, { ...processVariables(), ...more });
  if (E.isRight(loaded)) return loaded.right;
  throw new Error(loaded.left.map((problem) => placedLine(file, problem)).join('\n'));
}

/** Runs with the configuration and its database. */
export const withOwnDatabase = async <A>(
  run: (loaded: LoadedConfig, url: string) => Promise<A>,
): Promise<A> => {
  const loaded = await databaseConfig();
  return withDatabaseOf(loaded, (url) => run(loaded, url));
};

/**
 * Runs with the database of a configuration. An embedded one is started, and stopped afterwards. Only `gateway migrate`
 * creates a missing one: any other command was run in the wrong folder, or without its `DATABASE_URL`. A command reads
 * its configuration once: a pipe is empty when it is read again, and an empty one names the embedded database.
 */
export async function withDatabaseOf<A>(
  { config: { database: config } }: LoadedConfig,
  run: (url: string) => Promise<A>,
  makesOne = false,
): Promise<A> {
  if (!makesOne && config.kind === 'embedded' && !(await hasDatabase(config.dataDir)))
    throw new Error(
      `There is no database in ${config.dataDir}: set DATABASE_URL, or GATEWAY_DATA_DIR to the data folder of the gateway. ` +
        '`npx gateway migrate` makes one.',
    );
  const database = await openDatabase(config, terminal.err);
  try {
    return await run(database.url);
  } finally {
    await database.stop();
  }
}

/** Runs while the server answers, with a small pool whose statements take as long as the number of rows requires. */
export const withPoolOf = <A>(
  url: string,
  run: (pool: DatabasePool) => Promise<A>,
  withinMs = answerMs,
): Promise<A> => {
  const work = async (): Promise<A> => {
    const pool = await openPool(url, 2, anyTime);
    try {
      return await run(pool);
    } finally {
      await pool.end();
    }
  };
  return withClient(url, (client) => whileAnswered(client, work, withinMs), { query_timeout: withinMs });
};

/** The same for the database of the configuration. */
export const withPool = <A>(run: (pool: DatabasePool) => Promise<A>): Promise<A> =>
  withOwnDatabase((_, url) => withPoolOf(url, run));
