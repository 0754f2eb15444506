import { type IdentifierSqlToken, sql } from 'slonik';
import type { ServicePool } from './pool.ts';

/** The place of rows of the ledger, with the functions that write them. */
export interface LedgerPlace {
  /** Runs a statement where the rows currently are. */
  readonly query: <A>(statement: (pool: ServicePool) => Promise<A>) => Promise<A>;
  /** A function of the money path, by its name at this place. */
  readonly named: (name: string) => IdentifierSqlToken;
}

/** The place of each scope. */
export type LedgerPlaces = (scope: string) => LedgerPlace;

/** A single database is the place of all scopes. */
export function oneDatabase(pool: ServicePool): LedgerPlaces {
  const place: LedgerPlace = {
    query: (statement) => statement(pool),
    named: (name) => sql.identifier([name]),
  };
  return () => place;
}
