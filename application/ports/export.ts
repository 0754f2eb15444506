import type { Either } from 'fp-ts/lib/Either.js';
import type { ExportDay } from '../../domain/export/export-day.ts';
import type { ExportColumn, ExportRow } from '../../domain/export/export-columns.ts';
import type { ExportedKey, ExportTotals } from '../../domain/export/manifest.ts';

/** The rows of one table, by the UTC days in which they happened. */
export interface ExportSource {
  /** The database's time, by which days end. */
  readonly now: () => Promise<Date>;
  /** What the database says of a day without its rows being read one by one. */
  readonly totalsOf: (day: ExportDay) => Promise<ExportTotals>;
  /**
   * The rows of a day in bounded pages, in an order that is always the same. Each page is a statement for itself, so that
   * no old snapshot keeps the database from cleaning up.
   */
  readonly rowsOf: (day: ExportDay) => AsyncIterable<readonly ExportRow[]>;
  readonly holds: (key: ExportedKey) => Promise<boolean>;
}

/** What an object storage says instead of doing what it is asked for. */
export type StorageFault = string;

/** A bucket. Keys are whole. */
export interface ObjectStorage {
  /** The text of a small object; undefined where there is none. */
  readonly read: (key: string) => Promise<Either<StorageFault, string | undefined>>;
  /** Puts an object there as a whole, or replaces it. */
  readonly write: (
    key: string,
    bytes: Uint8Array,
    contentType: string,
  ) => Promise<Either<StorageFault, undefined>>;
  readonly remove: (key: string) => Promise<Either<StorageFault, undefined>>;
  /** The keys that begin so. */
  readonly list: (prefix: string) => Promise<Either<StorageFault, readonly string[]>>;
}

/** How rows become an object. The same rows become the same bytes. */
export interface PartFormat {
  /** Without its dot. */
  readonly extension: string;
  readonly contentType: string;
  readonly encode: (columns: readonly ExportColumn[], rows: readonly ExportRow[]) => Uint8Array;
}
