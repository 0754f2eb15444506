import type { Either } from 'fp-ts/lib/Either.js';
import type { ExportDay } from '../../domain/export/export-day.ts';
import type { ExportColumn, ExportRow } from '../../domain/export/export-columns.ts';
import type { ExportedKey, ExportTotals } from '../../domain/export/manifest.ts';

/** The rows of one table, by the UTC day in which they happened. */
export interface ExportSource {
  /** The database's time, which decides when a day has ended. */
  readonly now: () => Promise<Date>;
  /** Totals of a day, which the database computes without its rows being read one by one. */
  readonly totalsOf: (day: ExportDay) => Promise<ExportTotals>;
  /**
   * The rows of a day in bounded pages, in a stable order. Each page is a statement of its own, so that no old snapshot
   * keeps the database from vacuuming.
   */
  readonly rowsOf: (day: ExportDay) => AsyncIterable<readonly ExportRow[]>;
  readonly holds: (key: ExportedKey) => Promise<boolean>;
}

/** Why an object storage did not do what it was asked to. */
export type StorageFault = string;

/** A bucket. Keys are complete. */
export interface ObjectStorage {
  /** The text of a small object; `undefined` when there is none. */
  readonly read: (key: string) => Promise<Either<StorageFault, string | undefined>>;
  /** Creates or replaces an object as a whole. */
  readonly write: (
    key: string,
    bytes: Uint8Array,
    contentType: string,
  ) => Promise<Either<StorageFault, undefined>>;
  readonly remove: (key: string) => Promise<Either<StorageFault, undefined>>;
  /** The keys with this prefix. */
  readonly list: (prefix: string) => Promise<Either<StorageFault, readonly string[]>>;
}

/** How rows are encoded into an object. The same rows give the same bytes. */
export interface PartFormat {
  /** Without the dot. */
  readonly extension: string;
  readonly contentType: string;
  readonly encode: (columns: readonly ExportColumn[], rows: readonly ExportRow[]) => Uint8Array;
}
