import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { errorChain } from './error-chain.ts';

/** What a failed statement means for those who wait for it. */
export type DatabaseFault =
  /**
   * The connection was lost, refused or not to be had, or leads to a standby: whether a statement took effect is unknown.
   */
  | 'connection'
  /** A lock or the statement itself took too long. */
  | 'stuck'
  /** No answer in time: whether a statement took effect is unknown, and asking again would take as long. */
  | 'late'
  /**
   * The database is not as its statements want it, such as in the middle of a restore: a table, a right or a file is not
   * there. Nothing took effect, nothing is wrong with the rows, and they may be sent again.
   */
  | 'unready'
  /** The rows were refused for what they are, or what came back is not what was asked for: each try ends the same way. */
  | 'refused';

/** The database, or the way to it, has not answered in the time that a statement is given. */
export class AnswerTooLate extends Error {}

/** A row that is not what its statement declares: the schema and the code disagree, which is a defect. */
export class RowShapeError extends Error {}

/** What is not known to speak of the rows does not: a record that is refused is never tried again (rule 38.13). */
export function databaseFault(error: unknown): DatabaseFault {
  if (error instanceof AnswerTooLate) return 'late';
  if (error instanceof RowShapeError) return 'refused';
  const state = sqlState(error);
  // Whatever a server refuses a session with, it says nothing of a statement.
  if (state === undefined || error instanceof ConnectionError) return 'connection';
  if (stuckStates.has(state)) return 'stuck';
  if (ofTheSession.test(state)) return 'connection';
  return ofTheRows.test(state) ? 'refused' : 'unready';
}

/**
 * SQLSTATE classes: 08 connection, 28 log-in, 53 resources, 57P0x shutdown; 25006 a standby that only reads, 25P03 and
 * 25P04 a session that was ended in its transaction.
 */
const ofTheSession = /^(?:08|28|53|57P|25006|25P0[34])/;

/** Of rows among each other (21), values (22), constraints (23), what is too large or too deep (54), or by a function (P0). */
const ofTheRows = /^(?:2[123]|54|P0)/;

/** Locks and statements that took too long, deadlocks, and what a replica cancels to replay rows on. */
const stuckStates: ReadonlySet<string> = new Set(['55P03', '57014', '40P01', '40001']);

/** Five characters with a digit among them; Node's own codes (`EPIPE`) have none. */
const sqlStateShape = /^(?=[A-Z]*\d)[0-9A-Z]{5}$/;

/** PostgreSQL's own error code; drivers wrap the error that holds it. */
export const sqlState = (error: unknown): string | undefined =>
  errorChain(error).find(({ code }) => code !== undefined && sqlStateShape.test(code))?.code;

/** The constraint that a statement breaks, and its table: the driver's own words name neither. */
export function brokenConstraint(error: unknown): string | undefined {
  const link = errorChain(error).find(({ constraint }) => constraint !== undefined);
  return link === undefined ? undefined : `constraint ${link.constraint} of table ${link.table ?? 'unknown'}`;
}

/** Tables, columns, functions and types that are not there. */
const undefinedThings = new Set(['42P01', '42703', '42883', '42704']);

/** The statement wants something that the schema lacks: migrations were not applied. */
const lacksSchema = (error: unknown): boolean => undefinedThings.has(sqlState(error) ?? '');

/** How Node calls a connection that cannot be had, breaks, or is used once it is broken. */
const ofTheNetwork =
  /^(?:E(?:CONN(?:RESET|REFUSED|ABORTED)|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|PROTO|HOST(?:DOWN|UNREACH)|NET(?:DOWN|UNREACH|RESET)|NOTCONN|ADDRNOTAVAIL|MFILE|NFILE)|ERR_(?:STREAM|SOCKET|SSL|TLS)_\w+)$/;

/** What the driver says of a connection, in plain errors without a code. */
const ofTheConnection = new Set([
  'Connection terminated',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'Query read timeout',
  'timeout expired',
  'The server does not support SSL connections',
  'There was an error establishing an SSL connection',
  'Connection pool is being terminated.',
  'Connection pool has ended.',
]);

/** The way to the database broke: the system's code for it, or what the driver says. Undefined: it is something else. */
export function brokenConnection(error: unknown): string | undefined {
  for (const { code, message } of errorChain(error)) {
    if (code !== undefined && ofTheNetwork.test(code)) return code;
    if (ofTheConnection.has(message)) return message;
  }
  return undefined;
}

/** That it is the database which is away, or only reads: the driver's words name neither it nor what was wanted of it. */
export function lossOf(error: unknown): string | undefined {
  const onlyReads = errorChain(error).find(({ code }) => code === '25006');
  if (onlyReads !== undefined) return `The database takes no rows: ${onlyReads.message}`;
  if (error instanceof ConnectionError) return `The database cannot be reached: ${error.message}`;
  const wasLost =
    error instanceof BackendTerminatedError || error instanceof BackendTerminatedUnexpectedlyError;
  return wasLost ? `The database was lost: ${error.message}` : undefined;
}

/** Each changed budget is a lock to the end of the transaction; the server's own words name no way out. */
const lacksLocks =
  'The database ran out of memory, as it does when it has no room for the locks of all budgets that change at once: raise its max_locks_per_transaction, or change fewer budgets at a time.';

/** What to do about an error of the database, where that is known. */
export const wayOutOf = (error: unknown): string | undefined =>
  sqlState(error) === '53200' ? lacksLocks : undefined;

/** What an error says to whoever typed a command: of one of the database what it is that the database lacks or refuses. */
export function inWords(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const broken = brokenConstraint(error);
  if (broken !== undefined) return `${message} (${broken})`;
  const loss = lossOf(error);
  if (loss !== undefined) return loss;
  const wayOut = wayOutOf(error);
  if (wayOut !== undefined) return wayOut;
  return lacksSchema(error)
    ? `The database has not the schema of this release (${message}). Run \`npx gateway migrate\`, which brings it there.`
    : message;
}

/** Errors of the driver that say nothing against the statement. */
const ofTheDriver = [
  AnswerTooLate,
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  StatementCancelledError,
  StatementTimeoutError,
];

/**
 * The database was away or too busy: nothing is wrong with the statement, and it may be tried again. Where something is
 * missing that the statement names, that is as likely a mistake of ours, which is not to be hidden.
 */
export const isDatabaseTrouble = (error: unknown): boolean =>
  (sqlState(error) !== undefined ||
    brokenConnection(error) !== undefined ||
    ofTheDriver.some((kind) => error instanceof kind)) &&
  !['unready', 'refused'].includes(databaseFault(error));
