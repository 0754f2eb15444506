import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { errorChain } from './error-chain.ts';

/** What a failed statement means for its callers. */
export type DatabaseFault =
  /**
   * The connection was lost, refused or unavailable, or leads to a standby: whether a statement took effect is unknown.
   */
  | 'connection'
  /** A lock or the statement itself took too long. */
  | 'stuck'
  /** No answer in time: whether a statement took effect is unknown, and asking again would take as long. */
  | 'late'
  /**
   * The database is not in the state that the statements need, for example in the middle of a restore: a table, a
   * privilege or a file is missing. Nothing took effect, nothing is wrong with the rows, and they may be sent again.
   */
  | 'unready'
  /** The rows were refused for their content, or the result has the wrong shape: every retry ends the same way. */
  | 'refused';

/** The database, or the network to it, did not answer within a statement's time limit. */
export class AnswerTimeout extends Error {}

/** A row does not match what its statement declares: schema and code disagree, which is a defect. */
export class RowShapeError extends Error {}

/** Only errors known to be about the rows are `refused`, because a refused record is never tried again (rule 38.13). */
export function databaseFault(error: unknown): DatabaseFault {
  if (error instanceof AnswerTimeout) return 'late';
  if (error instanceof RowShapeError) return 'refused';
  const state = sqlState(error);
  // A refused session says nothing about the statement, whatever the server's code.
  if (state === undefined || error instanceof ConnectionError) return 'connection';
  if (stuckStates.has(state)) return 'stuck';
  if (ofTheSession.test(state)) return 'connection';
  return ofTheRows.test(state) ? 'refused' : 'unready';
}

/**
 * SQLSTATE classes: 08 connection, 28 login, 53 resources, 57P0x shutdown; 25006 a read-only standby, 25P03 and 25P04 a
 * session that was ended within its transaction.
 */
const ofTheSession = /^(?:08|28|53|57P|25006|25P0[34])/;

/** SQLSTATE classes: 21 cardinality, 22 values, 23 constraints, 54 too large or too deep, P0 raised by a function. */
const ofTheRows = /^(?:2[123]|54|P0)/;

/** Lock and statement timeouts, deadlocks, and statements that a replica cancels in order to replay rows. */
const stuckStates: ReadonlySet<string> = new Set(['55P03', '57014', '40P01', '40001']);

/** Five characters with at least one digit; Node's own codes (`EPIPE`) have none. */
const sqlStateShape = /^(?=[A-Z]*\d)[0-9A-Z]{5}$/;

/** PostgreSQL's own error code, wherever in the chain of wrapping errors it is. */
export const sqlState = (error: unknown): string | undefined =>
  errorChain(error).find(({ code }) => code !== undefined && sqlStateShape.test(code))?.code;

/** The violated constraint and its table, neither of which the driver's message names. */
export function brokenConstraint(error: unknown): string | undefined {
  const link = errorChain(error).find(({ constraint }) => constraint !== undefined);
  return link === undefined ? undefined : `constraint ${link.constraint} of table ${link.table ?? 'unknown'}`;
}

/** SQLSTATEs of missing tables, columns, functions and types. */
const undefinedThings = new Set(['42P01', '42703', '42883', '42704']);

/** Whether the statement needs something that the schema lacks, because migrations were not applied. */
const lacksSchema = (error: unknown): boolean => undefinedThings.has(sqlState(error) ?? '');

/** Node's codes for a connection that cannot be established, breaks, or is used after it broke. */
const ofTheNetwork =
  /^(?:E(?:CONN(?:RESET|REFUSED|ABORTED)|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|PROTO|HOST(?:DOWN|UNREACH)|NET(?:DOWN|UNREACH|RESET)|NOTCONN|ADDRNOTAVAIL|MFILE|NFILE)|ERR_(?:STREAM|SOCKET|SSL|TLS)_\w+)$/;

/** The driver's message for a statement that was not answered in time. */
const noAnswer = 'Query read timeout';

/** The driver's messages for connection errors, which are plain errors without a code. */
const ofTheConnection = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  noAnswer,
  'timeout expired',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
  'Connection pool is being terminated.',
  'Connection pool has ended.',
]);

/** The system's code or the driver's message if the connection to the database broke; `undefined` for other errors. */
export function brokenConnection(error: unknown): string | undefined {
  for (const { code, message } of errorChain(error)) {
    if (code !== undefined && ofTheNetwork.test(code)) return code;
    if (ofTheConnection.has(message)) return message;
  }
  return undefined;
}

/**
 * Says that the database is unreachable, silent or read-only; the driver's message names neither it nor what was wanted.
 */
export function lossOf(error: unknown): string | undefined {
  const onlyReads = errorChain(error).find(({ code }) => code === '25006');
  if (onlyReads !== undefined) return `The database accepts no writes: ${onlyReads.message}`;
  if (error instanceof ConnectionError) return `The database cannot be reached: ${error.message}`;
  if (brokenConnection(error) === noAnswer) return 'The database does not answer.';
  const wasLost =
    error instanceof BackendTerminatedError || error instanceof BackendTerminatedUnexpectedlyError;
  return wasLost ? `The database was lost: ${error.message}` : undefined;
}

/** Each changed budget holds a lock until the end of the transaction. The server's own message names no remedy. */
const lacksLocks =
  'The database ran out of memory, as it does when it has no room for the locks of all budgets that change at once: raise its max_locks_per_transaction, or change fewer budgets at a time.';

/** What to do about a database error, where that is known. */
export const wayOutOf = (error: unknown): string | undefined =>
  sqlState(error) === '53200' ? lacksLocks : undefined;

/** The message of an error for the user of a command: for a database error, what the database lacks or refuses. */
export function inWords(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const broken = brokenConstraint(error);
  if (broken !== undefined) return `${message} (${broken})`;
  const loss = lossOf(error);
  if (loss !== undefined) return loss;
  const wayOut = wayOutOf(error);
  if (wayOut !== undefined) return wayOut;
  return lacksSchema(error)
    ? `The database does not have the schema of this release (${message}). Run \`npx gateway migrate\`, which brings it there.`
    : message;
}

/** Driver errors that do not blame the statement. */
const ofTheDriver = [
  AnswerTimeout,
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  StatementCancelledError,
  StatementTimeoutError,
];

/**
 * Whether the database was away or too busy, so that nothing is wrong with the statement and it may be tried again. A
 * missing object that the statement names does not count: it is as likely a mistake of ours, which must not be hidden.
 */
export const isDatabaseTrouble = (error: unknown): boolean =>
  (sqlState(error) !== undefined ||
    brokenConnection(error) !== undefined ||
    ofTheDriver.some((kind) => error instanceof kind)) &&
  !['unready', 'refused'].includes(databaseFault(error));
