import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  type ExportColumn,
  exportColumns,
  type ExportRow,
  type ExportSubject,
} from '../../domain/export/export-columns.ts';
import type { ExportDay } from '../../domain/export/export-day.ts';
import {
  type ExportedKey,
  type ExportPart,
  type ExportTotals,
  partName,
  type Witnesses,
} from '../../domain/export/manifest.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { ExportSource, ObjectStorage, PartFormat, StorageFault } from '../ports/export.ts';

export interface PartPorts {
  readonly source: Pick<ExportSource, 'rowsOf'>;
  readonly storage: Pick<ObjectStorage, 'write'>;
  readonly part: PartFormat;
  /** SHA-256 in hexadecimal. */
  readonly digest: (bytes: Uint8Array) => string;
  readonly bounds: PartBounds;
}

/** A part ends with the page of rows that reaches one of these bounds. */
export interface PartBounds {
  readonly rows: number;
  /** Characters of all cells. */
  readonly chars: number;
}

/** 50,000 ledger rows are 15 MB of text: with their columns and the object's bytes they fit into 128 MB. */
export const partBounds: PartBounds = { rows: 50_000, chars: 16 * 1024 * 1024 };

export interface WrittenParts extends ExportTotals, Witnesses {
  readonly parts: readonly ExportPart[];
}

interface PartsOrder {
  readonly subject: ExportSubject;
  readonly day: ExportDay;
  readonly folder: string;
  readonly edition: number;
  readonly shouldContinue: () => boolean;
}

/** Writes the rows of a day as objects, with one part buffered at a time. `undefined` when it was asked to stop. */
export async function writeParts(
  { source, storage, part, digest, bounds }: PartPorts,
  { subject, day, folder, edition, shouldContinue }: PartsOrder,
): Promise<Either<StorageFault, WrittenParts | undefined>> {
  const columns = exportColumns[subject];
  const parts: ExportPart[] = [];
  const witnesses = witnessesOf(columns);
  let rows: ExportRow[] = [];
  let chars = 0;

  const close = async (): Promise<Either<StorageFault, undefined>> => {
    const bytes = part.encode(columns, rows);
    const name = partName(parts.length, edition, part.extension);
    parts.push({
      name,
      rows: rows.length,
      bytes: bytes.length,
      sha256: digest(bytes),
      cost: costOf(columns, rows),
    });
    rows = [];
    chars = 0;
    return storage.write(`${folder}${name}`, bytes, part.contentType);
  };

  for await (const page of source.rowsOf(day)) {
    for (const row of page) {
      rows.push(row);
      witnesses.take(row);
      for (const cell of row) chars += cell?.length ?? 0;
    }
    if (rows.length < bounds.rows && chars < bounds.chars) continue;
    if (!shouldContinue()) return E.right(undefined);
    const written = await close();
    if (E.isLeft(written)) return written;
  }
  if (rows.length > 0) {
    const written = await close();
    if (E.isLeft(written)) return written;
  }
  return E.right({
    parts,
    rows: parts.reduce((sum, { rows: some }) => sum + some, 0),
    cost: parts.reduce<Picodollars | undefined>(added, costOf(columns, [])),
    ...witnesses.found(),
  });
}

const added = (sum: Picodollars | undefined, { cost }: ExportPart): Picodollars | undefined =>
  sum === undefined || cost === undefined ? undefined : sum + cost;

/** The sum of costs; `undefined` when no column holds them. */
function costOf(columns: readonly ExportColumn[], rows: readonly ExportRow[]): Picodollars | undefined {
  const at = columns.findIndex(({ name }) => name === 'cost_picousd');
  if (at === -1) return undefined;
  let sum = 0n;
  for (const row of rows) sum += BigInt(row[at] ?? 0);
  return sum;
}

/** Finds the row that happened first, and those with the lowest and the highest id; texts of instants are equally long. */
function witnessesOf(columns: readonly ExportColumn[]) {
  const place = (name: string): number => columns.findIndex((column) => column.name === name);
  const [at, id, scope] = [place('occurred_at'), place('request_log_id'), place('ownership_scope_key')];
  const idOf = (row: ExportRow): string => row[id] ?? '';
  const atOf = (row: ExportRow): string => row[at] ?? '';
  const isEarlier = (row: ExportRow, other: ExportRow): boolean =>
    atOf(row) === atOf(other) ? idOf(row) < idOf(other) : atOf(row) < atOf(other);
  const keyOf = (row: ExportRow | undefined): ExportedKey | undefined =>
    row === undefined ? undefined : { requestLogId: idOf(row), scope: row[scope] ?? '' };
  let oldest: ExportRow | undefined;
  let lowest: ExportRow | undefined;
  let highest: ExportRow | undefined;
  return {
    take: (row: ExportRow): void => {
      if (oldest === undefined || isEarlier(row, oldest)) oldest = row;
      if (lowest === undefined || idOf(row) < idOf(lowest)) lowest = row;
      if (highest === undefined || idOf(row) > idOf(highest)) highest = row;
    },
    found: (): Witnesses => ({ oldest: keyOf(oldest), lowest: keyOf(lowest), highest: keyOf(highest) }),
  };
}
