import { mkdtemp } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';

/** Environment variable by which the set-up passes the administrator's URL of the server to the suites. */
export const ADMIN_URL_VARIABLE = 'GATEWAY_TEST_ADMIN_URL';

/** Environment variable by which the set-up passes the run's temporary folder to the suites. */
export const FOLDER_VARIABLE = 'GATEWAY_TEST_FOLDER';

/** The database with all migrations that is copied for each suite; it accepts no connections. */
export const TEMPLATE_DATABASE = 'gateway_template';

/**
 * A new folder of the run, mode 0700. It is removed at the end of the run, also if the run is killed, and
 * embedded PostgreSQL servers with data in it are stopped then.
 */
export const makeTestFolder = (prefix: string): Promise<string> =>
  mkdtemp(path.join(fromSetUp(FOLDER_VARIABLE), `${prefix}-`));

/** The value that the set-up of the run stored in the environment. */
export function fromSetUp(variable: string): string {
  const value = process.env[variable];
  if (value !== undefined) return value;
  throw new Error(
    'The run was not set up: run jest with the project configuration, which has a globalSetup.',
  );
}

/** The same server and user as `url`, with another database. */
export function withDatabaseName(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/** Runs statements in order on a separate connection to `url`. */
export const runAll = (url: string, statements: readonly string[]): Promise<void> =>
  connected(url, async (client) => {
    for (const statement of statements) await client.query(statement);
  });

/** Runs `body` with a separate connection to `url`. */
export async function connected<A>(url: string, body: (client: Client) => Promise<A>): Promise<A> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await body(client);
  } finally {
    await client.end();
  }
}
