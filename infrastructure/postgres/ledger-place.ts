import { type IdentifierSqlToken, sql } from 'slonik';
import type { ServicePool } from './pool.ts';

/** Where rows of the ledger are, and the functions that write them. */
export interface LedgerPlace {
  /** Runs a statement where the rows are at the moment. */
  readonly ask: <A>(statement: (pool: ServicePool) => Promise<A>) => Promise<A>;
  /** A function of the money path, by the name that it has there. */
  readonly named: (name: string) => IdentifierSqlToken;
}

/** The place of each scope. */
export type LedgerPlaces = (scope: string) => LedgerPlace;

/** One database has them all. */
export function oneDatabase(pool: ServicePool): LedgerPlaces {
  const place: LedgerPlace = {
    ask: (statement) => statement(pool),
    named: (name) => sql.identifier([name]),
  };
  return () => place;
}
