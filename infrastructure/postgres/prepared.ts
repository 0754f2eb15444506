import { createHash } from 'node:crypto';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { DatabasePool, DatabasePoolConnection, QuerySqlToken } from 'slonik';
import { sqlState } from './database-fault.ts';
import { withinTime } from './within-time.ts';

/**
 * Pools whose server knows no names: behind a pooler that shares sessions, and does not follow the names that clients
 * give to statements, a name may be unknown or taken.
 */
const withoutNames = new WeakSet<DatabasePool>();

/** Names by their text. Few statements are prepared, and no value is part of a text. */
const names = new Map<string, string>();

/** A name is of its text alone, so that sessions which releases share never hold another statement under it. */
function nameOf(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `gateway_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`;
  names.set(text, name);
  return name;
}

/** `invalid_sql_statement_name` and `duplicate_prepared_statement`: nothing was executed. */
const isOfTheName = (error: unknown): boolean => ['26000', '42P05'].includes(sqlState(error) ?? '');

/**
 * Runs a statement within a bounded time (`withinTime`), by a name: a connection has it parsed once, which costs the
 * server more than many a statement itself. Its text must always be the same.
 */
export async function prepared<Parser extends StandardSchemaV1, A>(
  pool: DatabasePool,
  statement: QuerySqlToken<Parser>,
  run: (connection: DatabasePoolConnection, statement: QuerySqlToken<Parser>) => Promise<A>,
): Promise<A> {
  const ask = (asked: QuerySqlToken<Parser>) => withinTime(pool, (connection) => run(connection, asked));
  if (withoutNames.has(pool)) return ask(statement);
  try {
    return await ask({ ...statement, name: nameOf(statement.sql) });
  } catch (error) {
    if (!isOfTheName(error)) throw error;
    withoutNames.add(pool);
    return ask(statement);
  }
}
