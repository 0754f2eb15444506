import path from 'node:path';
import type { DatabaseConfig } from '../infrastructure/config/database-config.ts';
import { coordinatorUrl } from '../infrastructure/postgres/citus/coordinator-url.ts';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';

/** The database of a configuration: reachable, and stopped by `stop` if this process started it. */
export interface Database {
  readonly url: string;
  /** How its rows are distributed. */
  readonly distribution: DatabaseConfig['distribution'];
  readonly stop: () => Promise<void>;
}

/** The folder of the numbered migrations. */
export const migrationsFolder = path.join(import.meta.dirname, '..', 'migrations');

/** With `keepRunning`, an embedded server that ends is started again. For a cluster the URL is the coordinator's. */
export async function openDatabase(
  config: DatabaseConfig,
  log: (line: string) => void,
  keepRunning = false,
): Promise<Database> {
  const { distribution } = config;
  if (config.kind === 'external') {
    const url = distribution === 'citus' ? await coordinatorUrl(config.url) : config.url;
    return { url, distribution, stop: async () => undefined };
  }
  const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log, keepRunning });
  return { url: embedded.url, distribution, stop: () => embedded.stop() };
}
