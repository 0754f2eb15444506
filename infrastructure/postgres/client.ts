import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import { lossOf, sqlState } from './database-fault.ts';
import { connector, databaseHosts } from './hosts.ts';
import { withOwnSettings } from './session-setting.ts';
import type { SecuredUrl } from './tls.ts';

/** A server that does not accept a connection within this time counts as unreachable. */
const connectTimeoutMs = 10_000;
/** The usual statements take no time, so an answer later than this is not coming, however busy the server is. */
export const answerMs = 60_000;
/** How long closing waits for a connection that no longer answers. */
const closeMs = 1_000;

/**
 * Runs `body` with a connection of its own, outside any pool. `options` are the driver's. If the connection is refused
 * or breaks in the meantime, or a statement is not answered within `query_timeout`, the error says so.
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

/**
 * Runs `body` while the server answers on this connection, which nothing else uses: it is asked again and again whether
 * it is still there, since one that is frozen, or behind a dead network, closes no connection. `body` is given the
 * promise that rejects when it is lost, to end what has no time limit of its own.
 */
export async function whileAnswered<A>(
  client: Client,
  body: (lost: Promise<never>) => Promise<A>,
  withinMs: number,
): Promise<A> {
  const { promise: lost, reject } = Promise.withResolvers<never>();
  client.once('error', reject);
  // The connection may also be lost after `body` has finished.
  lost.catch(() => undefined);
  const over = new AbortController();
  untilSilent(client, withinMs / 6, over.signal).catch(reject);
  try {
    return await Promise.race([body(lost), lost]);
  } finally {
    over.abort();
  }
}

/** Rejects once the server does not answer, or at the signal. */
async function untilSilent(client: Client, pauseMs: number, signal: AbortSignal): Promise<never> {
  for (;;) {
    await sleep(pauseMs, undefined, { ref: false, signal });
    await client.query('select 1');
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

async function open({ url, tls }: SecuredUrl, options: ClientConfig) {
  const client = new Client({
    query_timeout: answerMs,
    ...options,
    connectionString: withOwnSettings(url),
    ...tls,
    connectionTimeoutMillis: connectTimeoutMs,
  });
  // Users of the connection learn of its loss through their statements.
  client.on('error', () => undefined);
  await client.connect();
  return {
    connection: client,
    query: (text: string) => client.query(text),
    close: () => client.end().catch(() => undefined),
  };
}
