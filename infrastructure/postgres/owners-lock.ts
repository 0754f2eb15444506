import { type DatabaseTransactionConnection, sql } from 'slonik';

/** Number of the transaction-level advisory lock of writers of owners. */
const ownersLock = 7_206_753;

/**
 * Serialises writers of owners, until the end of the transaction: when many replicas start together, one reconciles the
 * file, and one creates the first admin.
 */
export const lockOwners = (connection: DatabaseTransactionConnection) =>
  connection.query(sql.unsafe`select pg_advisory_xact_lock(${ownersLock})`);
