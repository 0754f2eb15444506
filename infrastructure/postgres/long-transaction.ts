import { type CommonQueryMethods, type QuerySqlToken, sql } from 'slonik';

/** What reads, counts or drops whole tables takes as long as they are large: an hour is more than it ever needs. */
export const longStatementMs = 3_600_000;

/**
 * Gives the transaction that it is in as long as it lasts, and each of its statements so long (0: as long as it lasts),
 * whatever bounds the role has. It names no setting: a server has that of transactions from PostgreSQL 17 on, and before
 * refuses who sets it.
 */
export const setTimeLimits = (statementMs: number): QuerySqlToken => sql.unsafe`
  select set_config(name, case name when 'statement_timeout' then ${sql.literalValue(String(statementMs))} else '0' end, true)
  from pg_settings where name in ('statement_timeout', 'transaction_timeout')
`;

/** Runs `ask` in a transaction whose statements may take as long as there are many rows. */
export const longTransaction = <A>(
  connection: CommonQueryMethods,
  ask: (transaction: CommonQueryMethods) => Promise<A>,
): Promise<A> =>
  connection.transaction(async (transaction) => {
    await transaction.query(setTimeLimits(longStatementMs));
    return ask(transaction);
  });
