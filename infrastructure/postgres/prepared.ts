import { createHash } from 'node:crypto';
import type * as t from 'io-ts';
import { types } from 'pg';
import type { Connections } from './connections.ts';
import { sqlState } from './database-fault.ts';
import type { LedgerPlace } from './ledger-place.ts';
import { decodedRow } from './pool.ts';
import type { NamedStatement, SentValue, TextRow } from './statement-call.ts';
import { giveUpMs } from './within-time.ts';

/** A value of a statement. An array is sent in PostgreSQL's text form, bytes as a value in its binary form. */
export type StatementValue = string | number | boolean | null | Buffer | readonly (string | boolean | null)[];

/** A statement that is sent many times, with different values each time. */
interface PreparedStatement<A> {
  /** Runs it at a place and returns its rows, within a time limit that includes the wait for a connection. */
  readonly rows: (place: LedgerPlace, values: readonly StatementValue[]) => Promise<readonly A[]>;
  /** The same for a statement that has exactly one row. */
  readonly row: (place: LedgerPlace, values: readonly StatementValue[]) => Promise<A>;
}

/** The column types that such statements use, with PostgreSQL's type ids. */
const columnTypes = {
  int4: 23,
  int8: 20,
  text: 25,
  uuid: 2950,
  timestamptz: 1184,
  json: 114,
  jsonb: 3802,
} as const;

/** The columns of a statement, in its order. */
type Columns = Readonly<Record<string, keyof typeof columnTypes>>;

/**
 * Connections on which statement names do not work: behind a pooler that shares sessions without tracking the names
 * that clients give to statements, a name may be unknown or taken.
 */
const withoutNames = new WeakSet<Connections>();

/** `invalid_sql_statement_name` and `duplicate_prepared_statement`: nothing was executed. */
const isOfTheName = (error: unknown): boolean => ['26000', '42P05'].includes(sqlState(error) ?? '');

/**
 * A statement of the money path. It is sent as a named prepared statement, so that each connection parses it once:
 * parsing costs the server more than many of these statements. It also bypasses slonik, whose overhead per statement
 * equals the driver's. `text` is given the names that functions have at a place.
 */
export function prepared<A>(
  codec: t.Type<A, unknown>,
  columns: Columns,
  text: (named: (name: string) => string) => string,
): PreparedStatement<A> {
  const read = rowReader(columns);
  const statements = new WeakMap<LedgerPlace, NamedStatement>();
  const statementAt = (place: LedgerPlace): NamedStatement => {
    const known = statements.get(place);
    if (known !== undefined) return known;
    const made = namedStatement(text((name) => place.named(name).names.map(quoted).join('.')));
    statements.set(place, made);
    return made;
  };
  const rows: PreparedStatement<A>['rows'] = async (place, values) => {
    const statement = statementAt(place);
    const sent = values.map(sentValue);
    const found = await place.query(({ connections }) => answered(connections, statement, sent));
    return found.map((each) => decodedRow(codec, read(each)));
  };
  return {
    rows,
    row: async (place, values) => {
      const [only, ...others] = await rows(place, values);
      if (only === undefined || others.length > 0) throw new TypeError('a statement has not the one row');
      return only;
    },
  };
}

/** Reads columns with the driver's own parser for each type. */
function rowReader(columns: Columns): (row: TextRow) => Readonly<Record<string, unknown>> {
  const readers = Object.entries(columns).map(([name, type]) => {
    const readText: (text: string) => unknown = types.getTypeParser(columnTypes[type]);
    return { name, readText };
  });
  return (row) => {
    const read: Record<string, unknown> = {};
    readers.forEach(({ name, readText }, index) => {
      const text = row[index] ?? null;
      read[name] = text === null ? null : readText(text);
    });
    return read;
  };
}

function sentValue(value: StatementValue): SentValue {
  if (value === null || typeof value === 'string' || Buffer.isBuffer(value)) return value;
  return typeof value === 'object' ? `{${value.map(element).join(',')}}` : String(value);
}

/** Quotes texts, with a backslash before each quote and backslash. */
const element = (value: string | boolean | null): string =>
  typeof value === 'string' ? `"${value.replace(/["\\]/g, '\\$&')}"` : String(value);

const namedStatement = (text: string): NamedStatement => ({
  text,
  name: `gateway_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`,
});

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

async function answered(
  connections: Connections,
  statement: NamedStatement,
  values: readonly SentValue[],
): Promise<readonly TextRow[]> {
  const send = (sent: NamedStatement): Promise<readonly TextRow[]> =>
    connections.use((connection) => connection.call(sent, values), giveUpMs);
  const unnamed = { text: statement.text, name: '' };
  if (withoutNames.has(connections)) return send(unnamed);
  try {
    return await send(statement);
  } catch (error) {
    if (!isOfTheName(error)) throw error;
    withoutNames.add(connections);
    return send(unnamed);
  }
}
