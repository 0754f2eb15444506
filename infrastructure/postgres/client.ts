import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { lossOf, sqlState } from './database-fault.ts';
import { connector, databaseHosts } from './hosts.ts';
import { withOwnSettings } from './session-setting.ts';
import type { SecuredUrl } from './tls.ts';

/** A server that does not accept a connection in this time is not there. */
const connectTimeoutMs = 10_000;
/** A connection that does not answer any more is waited for so long at its end. */
const closeMs = 1_000;

/**
 * Runs `body` with a connection of its own, beside any pool. `options` are the driver's. Where the connection is refused,
 * or breaks meanwhile, the error says so.
 */
export async function withClient<A>(
  url: string,
  body: (client: Client) => Promise<A>,
  options: ClientConfig = {},
): Promise<A> {
  const client = await connect(url, options);
  let lost: Error | undefined;
  client.on('error', (error) => {
    lost = error;
  });
  try {
    return await body(client);
  } catch (error) {
    throw lossOrError(lost, error);
  } finally {
    await Promise.race([client.end(), sleep(closeMs, undefined, { ref: false })]);
  }
}

/** `57P`: the server ends the session. */
function lossOrError(lost: Error | undefined, error: unknown): unknown {
  const end = lost ?? (sqlState(error)?.startsWith('57P') === true ? error : undefined);
  const loss = end instanceof Error ? `The database was lost: ${end.message}` : lossOf(error);
  return loss === undefined ? error : new Error(loss, { cause: end ?? error });
}

async function connect(url: string, options: ClientConfig): Promise<Client> {
  const hosts = await databaseHosts(url);
  try {
    return await connector(hosts, (host) => open(host, options))();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The database cannot be reached: ${why}`, { cause: error });
  }
}

async function open({ url, ssl }: SecuredUrl, options: ClientConfig) {
  const client = new Client({
    ...options,
    connectionString: withOwnSettings(url),
    ssl: ssl ?? false,
    connectionTimeoutMillis: connectTimeoutMs,
  });
  // Whoever uses the connection hears of its end by each statement.
  client.on('error', () => undefined);
  await client.connect();
  return {
    connection: client,
    ask: (text: string) => client.query(text),
    close: () => client.end().catch(() => undefined),
  };
}
