import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Picodollars } from '../money/money.ts';
import { isArray, isObject, isString, type Json, objectsOf, parseJson } from '../shared/json.ts';
import { exportColumns, type ExportSubject } from './export-columns.ts';
import type { ExportDay } from './export-day.ts';

export const exportFormats = ['parquet', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** One object of a day. */
export interface ExportPart {
  /** Behind the folder of the day. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Of the object's bytes, hexadecimal. */
  readonly sha256: string;
  /** Undefined: what is exported has no cost. */
  readonly cost: Picodollars | undefined;
}

/** How many rows a day has, and their cost. */
export interface ExportTotals {
  readonly rows: number;
  /** Undefined: what is exported has no cost. */
  readonly cost: Picodollars | undefined;
}

/** The key of a row. */
export interface ExportedKey {
  readonly requestLogId: string;
  readonly scope: string;
}

/** What a day's objects hold. It is written last: without it the day is not whole. */
export interface Manifest extends ExportTotals {
  readonly subject: ExportSubject;
  readonly day: ExportDay;
  readonly format: ExportFormat;
  /** From 1 on; each time that the day is written again it is one more. */
  readonly edition: number;
  readonly parts: readonly ExportPart[];
  /** The row of the day that a purge deletes first; undefined where the day has none. */
  readonly oldest: ExportedKey | undefined;
}

const version = 1;

/**
 * Names are the same at each run, so that a run after a crash replaces what the one before has left. Those of another
 * edition are others: what a manifest names is never written over.
 */
export const partName = (index: number, edition: number, extension: string): string =>
  `part-${String(index).padStart(5, '0')}${edition === 1 ? '' : `-${edition}`}.${extension}`;

export const isPartName = (name: string): boolean => /^part-\d{5}(-\d+)?\.[a-z.]+$/.test(name);

/** Query engines read `day=…` as a column. */
export const dayFolder = (prefix: string, subject: ExportSubject, day: ExportDay): string =>
  `${prefix === '' ? '' : `${prefix}/`}${subject}/day=${day}/`;

export const manifestName = 'manifest.json';

/** Money is text: a JSON number does not hold it. */
export const manifestText = ({ subject, day, format, edition, oldest, parts, ...totals }: Manifest): string =>
  `${JSON.stringify(
    {
      version,
      what: subject,
      day,
      format,
      edition,
      columns: exportColumns[subject],
      ...totalsOf(totals),
      oldest:
        oldest === undefined
          ? null
          : { request_log_id: oldest.requestLogId, ownership_scope_key: oldest.scope },
      parts: parts.map(({ name, bytes, sha256, ...of }) => ({ name, ...totalsOf(of), bytes, sha256 })),
    },
    null,
    2,
  )}\n`;

const totalsOf = ({ rows, cost }: ExportTotals) => ({
  rows,
  ...(cost === undefined ? {} : { cost_picousd: cost.toString() }),
});

/** What a run has to know of a manifest that is there. */
export interface KnownManifest extends ExportTotals, Pick<Manifest, 'format' | 'edition' | 'oldest'> {
  readonly partNames: readonly string[];
}

/** On the left why it is none of this service's. */
export function readManifest(text: string): Either<string, KnownManifest> {
  const manifest = parseJson(text);
  if (!isObject(manifest) || manifest['version'] !== version)
    return E.left(`is no manifest of version ${version}`);
  const { rows, edition, cost_picousd: cost, oldest, parts } = manifest;
  const format = exportFormats.find((each) => each === manifest['format']);
  if (typeof rows !== 'number' || typeof edition !== 'number' || format === undefined || !isArray(parts))
    return E.left('has no rows, edition, format or parts');
  if (cost !== undefined && !(isString(cost) && /^\d+$/.test(cost))) return E.left('has a cost that is none');
  return E.right({
    rows,
    cost: cost === undefined ? undefined : BigInt(cost),
    format,
    edition,
    oldest: keyOf(oldest),
    partNames: objectsOf(parts).map(({ name }) => (isString(name) ? name : '')),
  });
}

function keyOf(oldest: Json | undefined): ExportedKey | undefined {
  if (!isObject(oldest)) return undefined;
  const { request_log_id: requestLogId, ownership_scope_key: scope } = oldest;
  return isString(requestLogId) && isString(scope) ? { requestLogId, scope } : undefined;
}
