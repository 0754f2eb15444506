import { type DatabaseTransactionConnection, sql } from 'slonik';

/** Number of the transaction advisory lock of whoever writes owners. */
const ownersLock = 7_206_753;

/**
 * One writer of owners at a time, to the end of the transaction: of many replicas that start together one reconciles
 * the file, and one makes the first admin.
 */
export const lockOwners = (connection: DatabaseTransactionConnection) =>
  connection.query(sql.unsafe`select pg_advisory_xact_lock(${ownersLock})`);
