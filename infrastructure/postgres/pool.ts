import type { StandardSchemaV1 } from '@standard-schema/spec';
import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import { ConnectionError, createPool, type DatabasePool, type Interceptor, sql } from 'slonik';
import { type Connection, openConnection } from './connection.ts';
import { type ConnectionSource, ConnectionShare } from './connection-share.ts';
import { Connections } from './connections.ts';
import { RowShapeError } from './database-fault.ts';
import { connector, type DatabaseHosts, databaseHosts } from './hosts.ts';
import { SlonikConnection } from './slonik-connection.ts';
import { ownSettings, withOwnSettings } from './session-setting.ts';
import { giveUpMs } from './within-time.ts';

/** Reports only paths and expected types, because values may be secrets. */
const report = (errors: t.Errors): readonly string[] =>
  errors.map((error) => {
    const path = error.context
      .map(({ key }) => key)
      .filter((key) => key !== '')
      .join('.');
    return `${path === '' ? '(row)' : path}: expected ${error.context.at(-1)?.type.name ?? 'a value'}`;
  });

/** An io-ts codec as a Standard Schema, which `sql.type` accepts. */
export const row = <A>(codec: t.Type<A, unknown>): StandardSchemaV1<unknown, A> => ({
  '~standard': {
    version: 1,
    vendor: 'io-ts',
    validate: (value) => {
      const decoded = codec.decode(value);
      return E.isRight(decoded)
        ? { value: decoded.right }
        : { issues: report(decoded.left).map((message) => ({ message })) };
    },
  },
});

/** Decodes a row with its codec; throws `RowShapeError` if it does not match. */
export function decodedRow<A>(codec: t.Type<A, unknown>, fields: unknown): A {
  const decoded = codec.decode(fields);
  if (E.isRight(decoded)) return decoded.right;
  throw new RowShapeError(`A row does not have the declared shape: ${report(decoded.left).join('; ')}`);
}

const checkRows: Interceptor = {
  name: 'io-ts-rows',
  transformRow: ({ resultParser }, _query, fields) => {
    if (resultParser === undefined) return fields;
    const result = (resultParser as StandardSchemaV1<unknown, typeof fields>)['~standard'].validate(fields);
    if (result instanceof Promise) throw new TypeError('row schemas are synchronous');
    if (result.issues === undefined) return result.value;
    throw new RowShapeError(
      `A row does not have the declared shape: ${result.issues.map(({ message }) => message).join('; ')}`,
    );
  },
};

/** Time limit of a statement of a store. The hard limit's lock has its own, shorter limit. */
const statementTimeoutMs = 10_000;

/** How long a connection attempt waits for a server that does not answer. */
const connectionTimeoutMs = 3_000;

/** The server ends a transaction that has been idle for this long, and its connection with it. */
const idleInTransactionMs = 60_000;

/** Connects to one of the hosts. Failures are slonik's `ConnectionError`, whatever the code (`databaseFault`). */
function connectionsTo(hosts: DatabaseHosts): () => Promise<Connection> {
  const connect = connector(hosts, async ({ url, tls }) => {
    const connection = await openConnection({
      connectionString: withOwnSettings(url),
      ...tls,
      connectionTimeoutMillis: connectionTimeoutMs,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: idleInTransactionMs,
    });
    return {
      connection,
      query: (text) => connection.query(text, []),
      close: () => connection.close(),
    };
  });
  return () =>
    connect().catch((error: Error) => {
      throw new ConnectionError(error.message, { cause: error });
    });
}

/** The service's pool, and the connections below it, which `prepared` statements take directly. */
export interface ServicePool extends DatabasePool {
  readonly connections: Connections;
  /** For the admin API: at most half of the connections, so that slow lists and reports leave the rest to requests. */
  readonly forAdmins: DatabasePool;
}

/**
 * The service's pool. A statement without an answer after `answerMs` is abandoned with its connection
 * (`AnswerTimeout`): on a dead network the server's own timeout never arrives, and each would cost the pool a
 * connection. Values arrive as PostgreSQL's text, except those that the driver maps without loss: whole numbers and
 * money are read as text and parsed by each row's codec. No statement leaves anything behind in its session, so
 * connections are reused as they are: a reset would drop the plans of our functions, with which an admission costs the
 * server only an eighth.
 */
export async function openPool(
  url: string,
  maxConnections: number,
  answerMs: number = giveUpMs,
): Promise<ServicePool> {
  const connections = new Connections(connectionsTo(await databaseHosts(url)), maxConnections);
  const share = new ConnectionShare(connections, Math.max(1, Math.floor(maxConnections / 2)));
  const pool = await libraryPool(url, connections, answerMs);
  const forAdmins = await libraryPool(url, share, answerMs);
  const endSeats = pool.end.bind(pool);
  return Object.assign(pool, {
    connections,
    forAdmins,
    end: async (): Promise<void> => {
      await Promise.all([endSeats(), forAdmins.end()]);
      await connections.end();
    },
  });
}

async function libraryPool(
  url: string,
  connections: ConnectionSource,
  answerMs: number,
): Promise<DatabasePool> {
  const pool = await createPool(url, {
    driverFactory: async () => ({
      createClient: async () => new SlonikConnection(await connections.take(), connections, answerMs),
    }),
    // Unlimited slots in slonik's pool: callers wait for a connection instead.
    maximumPoolSize: Number.MAX_SAFE_INTEGER,
    connectionRetryLimit: 0,
    queryRetryLimit: 0,
    transactionRetryLimit: 0,
    interceptors: [checkRows],
    // The library's spans contain SQL and error messages, which may quote values.
    tracing: false,
  });
  // Each failed statement is thrown to its caller; as an event without a listener it would be thrown twice.
  pool.on('error', () => undefined);
  return pool;
}

const settingRow = t.type({ name: t.string, value: t.string });

/**
 * Checks that sessions start with the required settings, which a pooler may keep from the server. Throws an error for
 * operators.
 */
export async function refuseOtherSettings(pool: DatabasePool): Promise<void> {
  const names = sql.array(Object.keys(ownSettings), 'text');
  const found = await pool.any(
    sql.type(row(settingRow))`select name, current_setting(name) as value from unnest(${names}) as name`,
  );
  const values = new Map(found.map(({ name, value }) => [name, value]));
  for (const [name, wanted] of Object.entries(ownSettings)) {
    const value = values.get(name);
    // `datestyle` is followed by the order of days and months.
    if (value === wanted || value?.startsWith(`${wanted},`) === true) continue;
    throw new Error(
      `Sessions of the database begin with ${name} = '${value}', and the gateway needs '${wanted}'. A pooler keeps it ` +
        `from the server: set it for the role, alter role … set ${name} = '${wanted}'.`,
    );
  }
}
