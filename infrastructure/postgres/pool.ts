import { createPgDriverFactory } from '@slonik/pg-driver';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import {
  createPool,
  type DatabasePool,
  type Driver,
  type DriverFactory,
  type Interceptor,
  sql,
} from 'slonik';
import { connector, type DatabaseHosts, databaseHosts, transactionReadOnly } from './hosts.ts';
import { withSessionSetting } from './session-setting.ts';
import type { SecuredUrl } from './tls.ts';
import { answeredWithin, giveUpMs } from './within-time.ts';

/** Paths and expected types only: values may be secrets. */
const report = (errors: t.Errors): readonly string[] =>
  errors.map((error) => {
    const path = error.context
      .map(({ key }) => key)
      .filter((key) => key !== '')
      .join('.');
    return `${path === '' ? '(row)' : path}: expected ${error.context.at(-1)?.type.name ?? 'a value'}`;
  });

/** An io-ts codec as a Standard Schema, so that `sql.type` takes it. */
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

/** A row that is not what the query declared: the schema and the code disagree, which is a defect. */
class RowShapeError extends Error {}

const checkRows: Interceptor = {
  name: 'io-ts-rows',
  transformRow: ({ resultParser }, _query, fields) => {
    if (resultParser === undefined) return fields;
    const result = (resultParser as StandardSchemaV1<unknown, typeof fields>)['~standard'].validate(fields);
    if (result instanceof Promise) throw new TypeError('row schemas are synchronous');
    if (result.issues === undefined) return result.value;
    throw new RowShapeError(
      `A row has not the declared shape: ${result.issues.map(({ message }) => message).join('; ')}`,
    );
  },
};

/** A statement of a store may last this long; the hard limit's lock has its own, shorter bound. */
const statementTimeoutMs = 10_000;

/** Connections wait this long for a server that does not answer. */
const connectionTimeoutMs = 3_000;

/**
 * The driver of each host, which looks into the server when it is first used: so a pool of a server that is away opens.
 */
const hostsDriver =
  (hosts: DatabaseHosts, answerMs: number): DriverFactory =>
  async ({ driverConfiguration }) => {
    const drivers = new Map<SecuredUrl, Promise<Driver>>();
    const driverOf = (host: SecuredUrl): Promise<Driver> => {
      const known = drivers.get(host);
      if (known !== undefined) return known;
      const { url, ssl } = host;
      const made = createPgDriverFactory()({
        driverConfiguration: {
          ...driverConfiguration,
          connectionUri: withIsolation(url),
          ...(ssl === undefined ? {} : { ssl }),
        },
      });
      drivers.set(host, made);
      made.catch(() => drivers.delete(host));
      return made;
    };
    return {
      createClient: connector(hosts, async (host) => {
        const client = inTime(await (await driverOf(host)).createClient(), answerMs);
        return {
          connection: client,
          isReadOnly: async () => {
            client.acquire();
            const { rows } = await client.query(transactionReadOnly);
            await client.release();
            return rows[0]?.['transaction_read_only'] === 'on';
          },
          close: () => client.destroy().catch(() => undefined),
        };
      }),
    };
  };

type DriverClient = Awaited<ReturnType<Driver['createClient']>>;

/** A connection of which a statement fails is closed by the library. */
const inTime = (client: DriverClient, answerMs: number): DriverClient =>
  answerMs === anyTime
    ? client
    : { ...client, query: (...asked) => answeredWithin(client.query(...asked), answerMs) };

/** For a pool whose statements take as long as there are many rows. */
export const anyTime = Number.POSITIVE_INFINITY;

/**
 * The service's pool. A statement that has no answer after `answerMs` is given up with its connection (`AnswerTooLate`):
 * on a dead network the server's own bound is never heard of, and each such connection would be one less. Values come as PostgreSQL's text, but for what the driver maps without loss: whole numbers
 * and money are read as text and parsed by each row's codec.
 */
export async function openPool(
  url: string,
  maxConnections: number,
  answerMs: number = giveUpMs,
): Promise<DatabasePool> {
  const pool = await createPool(url, {
    driverFactory: hostsDriver(await databaseHosts(url), answerMs),
    maximumPoolSize: maxConnections,
    connectionTimeout: connectionTimeoutMs,
    connectionRetryLimit: 0,
    queryRetryLimit: 0,
    transactionRetryLimit: 0,
    statementTimeout: statementTimeoutMs,
    idleTimeout: 60_000,
    typeParsers: [],
    interceptors: [checkRows],
    // The library's spans hold SQL and error messages, which may quote values.
    tracing: false,
    // No statement leaves anything behind in its session, and a reset would drop the plans of our functions:
    // measured, an admission costs the server 8 times and a settlement 3 times as much with it.
    resetConnection: async () => undefined,
  });
  // Each failed statement is thrown to whoever sent it; as an event without a listener it would be thrown twice.
  pool.on('error', () => undefined);
  return pool;
}

/**
 * The hard limit reads its sums after its lock is held, by statements that must see what was committed meanwhile:
 * READ COMMITTED, whatever the default of the database is.
 */
const withIsolation = (url: string): string =>
  withSessionSetting(url, 'default_transaction_isolation=read\\ committed');

const isolationRow = t.type({ isolation: t.string });

/**
 * Whether transactions begin as they must. A pooler may keep from the server what connections ask for at their start.
 * Throws an error for operators.
 */
export async function refuseOtherIsolation(pool: DatabasePool): Promise<void> {
  const { isolation } = await pool.one(
    sql.type(row(isolationRow))`select current_setting('default_transaction_isolation') as isolation`,
  );
  if (isolation !== 'read committed')
    throw new Error(
      `Transactions of the database begin as ${isolation}, and hard limits need read committed. A pooler keeps it from ` +
        "the server: set it for the role, alter role … set default_transaction_isolation = 'read committed'.",
    );
}
