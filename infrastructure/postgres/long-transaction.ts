import { type CommonQueryMethods, type QuerySqlToken, sql } from 'slonik';

/** Statements that read, count or drop whole tables take time in proportion; an hour is more than they need. */
export const longStatementMs = 3_600_000;

/**
 * Removes the time limit of the current transaction and sets that of its statements (0: none), whatever limits the role
 * has. The settings are selected from `pg_settings`, because `transaction_timeout` exists only from PostgreSQL 17 on,
 * and setting it on an earlier server is an error.
 */
export const setTimeLimits = (statementMs: number): QuerySqlToken => sql.unsafe`
  select set_config(name, case name when 'statement_timeout' then ${sql.literalValue(String(statementMs))} else '0' end, true)
  from pg_settings where name in ('statement_timeout', 'transaction_timeout')
`;

/** Runs `run` in a transaction whose statements may take as long as the number of rows requires. */
export const longTransaction = <A>(
  connection: CommonQueryMethods,
  run: (transaction: CommonQueryMethods) => Promise<A>,
): Promise<A> =>
  connection.transaction(async (transaction) => {
    await transaction.query(setTimeLimits(longStatementMs));
    return run(transaction);
  });
