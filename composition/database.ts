import path from 'node:path';
import type { DatabaseConfig } from '../infrastructure/config/database-config.ts';
import { coordinatorUrl } from '../infrastructure/postgres/citus/coordinator-url.ts';
import { startEmbeddedPostgres } from '../infrastructure/embedded-postgres/start.ts';

/** The database of a configuration: reachable, and stopped again if this process started it. */
export interface Database {
  readonly url: string;
  /** How its rows lie. */
  readonly distribution: DatabaseConfig['distribution'];
  readonly stop: () => Promise<void>;
}

/** The folder of the numbered migrations. */
export const migrationsFolder = path.join(import.meta.dirname, '..', 'migrations');

/** An embedded server that ends is started again when `keepRunning` says so. Of a cluster it is the coordinator. */
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
