import { type CommonQueryMethods, type DatabasePool, type QuerySqlToken, sql } from 'slonik';

/** Reads in one transaction whose statements all see the same rows, optionally with settings of its own. */
export const onSnapshot = <A>(
  pool: DatabasePool,
  read: (connection: CommonQueryMethods) => Promise<A>,
  settings?: QuerySqlToken,
): Promise<A> =>
  pool.transaction(async (connection) => {
    await connection.query(sql.unsafe`set transaction isolation level repeatable read, read only`);
    if (settings !== undefined) await connection.query(settings);
    return read(connection);
  });
