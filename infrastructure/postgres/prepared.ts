import { createHash } from 'node:crypto';
import type * as t from 'io-ts';
import type { Connection, Connections } from './connections.ts';
import { sqlState } from './database-fault.ts';
import type { LedgerPlace } from './ledger-place.ts';
import { decodedRow } from './pool.ts';
import { giveUpMs } from './within-time.ts';

/** A statement that is sent many times, with other values each time. */
interface NamedStatement<A> {
  /** Its rows, where the rows of a scope are; within a bounded time, the wait for a connection included. */
  readonly rows: (place: LedgerPlace, values: readonly unknown[]) => Promise<readonly A[]>;
  /** The one row that it has. */
  readonly row: (place: LedgerPlace, values: readonly unknown[]) => Promise<A>;
}

/**
 * Connections to a server that knows no names: behind a pooler that shares sessions, and does not follow the names that
 * clients give to statements, a name may be unknown or taken.
 */
const withoutNames = new WeakSet<Connections>();

/** `invalid_sql_statement_name` and `duplicate_prepared_statement`: nothing was executed. */
const isOfTheName = (error: unknown): boolean => ['26000', '42P05'].includes(sqlState(error) ?? '');

/**
 * A statement of the money path. It is sent by a name, so that a connection has it parsed once, which costs the server
 * more than many a statement itself; and past the library, whose own work for a statement costs as much as the driver's.
 * `text` gets the names of functions as a place has them.
 */
export function prepared<A>(
  codec: t.Type<A, unknown>,
  text: (named: (name: string) => string) => string,
): NamedStatement<A> {
  const texts = new WeakMap<LedgerPlace, NamedText>();
  const textFor = (place: LedgerPlace): NamedText => {
    const known = texts.get(place);
    if (known !== undefined) return known;
    const made = namedText(text((name) => place.named(name).names.map(quoted).join('.')));
    texts.set(place, made);
    return made;
  };
  const rows: NamedStatement<A>['rows'] = async (place, values) => {
    const statement = textFor(place);
    const found = await place.ask(({ connections }) => sent(connections, statement, values));
    return found.map((each) => decodedRow(codec, each));
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

/** A name is of its text alone, so that sessions which releases share never hold another statement under it. */
interface NamedText {
  readonly text: string;
  readonly name: string;
}

const namedText = (text: string): NamedText => ({
  text,
  name: `gateway_${createHash('sha256').update(text).digest('hex').slice(0, 24)}`,
});

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

type Rows = Awaited<ReturnType<Connection['query']>>['rows'];

async function sent(
  connections: Connections,
  { text, name }: NamedText,
  values: readonly unknown[],
): Promise<Rows> {
  const send = (options: Parameters<Connection['query']>[2]): Promise<Rows> =>
    connections.use(
      async (connection) => (await connection.query(text, [...values], options)).rows,
      giveUpMs,
    );
  if (withoutNames.has(connections)) return send({});
  try {
    return await send({ name });
  } catch (error) {
    if (!isOfTheName(error)) throw error;
    withoutNames.add(connections);
    return send({});
  }
}
