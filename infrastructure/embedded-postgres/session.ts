import { Socket } from 'node:net';
import { Client, DatabaseError } from 'pg';
import { gatewayName } from './cluster.ts';

/**
 * A session that shows that its process uses the server. It holds a shared advisory lock, which PostgreSQL releases
 * whenever and however the process dies, so "am I the last user" has a reliable answer.
 */
export interface ServerPresence {
  /** Ends the session; true when no other process uses the server. A server that cannot be asked counts as unused. */
  leave(): Promise<boolean>;
  /** Resolves when the session has ended, either by `leave` or because the server stopped. */
  readonly ended: Promise<void>;
}

/** The result of an attempt to use a server. */
export type Joined =
  | { readonly kind: 'joined'; readonly presence: ServerPresence }
  | { readonly kind: 'not_yet'; readonly why: string }
  | { readonly kind: 'wrong_password' };

/** Number of the shared advisory lock in database `postgres` that every user of the server holds. */
const presenceLock = 4_071_771_001;

/** Number of the advisory lock in database `postgres` under which the gateway's database is created. */
const databaseLock = 4_071_771_002;

/** The server is on this machine; one that does not answer within this time is being stopped or is overloaded. */
const connectTimeoutMs = 5_000;

/** URL of a database of the server on `port`. */
export const databaseUrl = (port: number, password: string, database: string): string =>
  `postgresql://${gatewayName}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;

/** Logs in to the server on `port` with the password of our cluster and creates the gateway's database if needed. */
export async function join(port: number, password: string): Promise<Joined> {
  const socket = new Socket();
  const client = newClient(port, password, socket);
  const ended = new Promise<void>((resolve) => {
    client.once('end', () => resolve());
  });
  try {
    await client.connect();
    const { rows } = await client.query<{ shared: boolean }>(
      'select pg_try_advisory_lock_shared($1) as shared',
      [presenceLock],
    );
    if (rows[0]?.shared !== true) {
      await client.end();
      return { kind: 'not_yet', why: 'another process is stopping it' };
    }
    await makeDatabase(client);
  } catch (error) {
    socket.destroy();
    return refusal(error);
  }
  // The session must not keep a process alive that is otherwise done.
  socket.unref();
  return { kind: 'joined', presence: { ended, leave: () => leave(client, socket) } };
}

function newClient(port: number, password: string, socket: Socket): Client {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: gatewayName,
    password,
    database: 'postgres',
    ssl: false,
    application_name: 'gateway presence',
    connectionTimeoutMillis: connectTimeoutMs,
    query_timeout: connectTimeoutMs,
    stream: () => socket,
  });
  // The server ends this session when it stops; a query in flight reports that by itself.
  client.on('error', () => undefined);
  return client;
}

function refusal(error: unknown): Joined {
  const code = (error as { readonly code?: string }).code;
  if (code === '28P01' || code === '28000') return { kind: 'wrong_password' };
  const why = error instanceof Error ? error.message : String(error);
  // Starting up, shutting down (class 57P), too many sessions (53300), or no server at all (not a DatabaseError).
  if (!(error instanceof DatabaseError) || code?.startsWith('57P') || code === '53300') {
    return { kind: 'not_yet', why };
  }
  throw error;
}

async function makeDatabase(client: Client): Promise<void> {
  await client.query('select pg_advisory_lock($1)', [databaseLock]);
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [gatewayName]);
  if (rowCount === 0) await client.query(`create database ${gatewayName} template template0`);
  await client.query('select pg_advisory_unlock($1)', [databaseLock]);
}

async function leave(client: Client, socket: Socket): Promise<boolean> {
  socket.ref();
  try {
    await client.query('select pg_advisory_unlock_shared($1)', [presenceLock]);
    const { rows } = await client.query<{ alone: boolean }>('select pg_try_advisory_lock($1) as alone', [
      presenceLock,
    ]);
    // When alone, the session stays open and keeps newcomers out until the server has stopped and ended it.
    if (rows[0]?.alone !== false) return true;
    await client.end();
    return false;
  } catch (error) {
    // A defect is rethrown; anything else means that the server is gone or does not answer.
    if (error instanceof DatabaseError && refusal(error).kind !== 'not_yet') throw error;
    socket.destroy();
    return true;
  }
}
