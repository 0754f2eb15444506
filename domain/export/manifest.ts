import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { Picodollars } from '../money/money.ts';
import { isArray, isObject, isString, type Json, objectsOf, parseJson, textIn } from '../shared/json.ts';
import { exportColumns, type ExportSubject } from './export-columns.ts';
import type { ExportDay } from './export-day.ts';

export const exportFormats = ['parquet', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** One object of a day. */
export interface ExportPart {
  /** Relative to the folder of the day. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** Of the object's bytes, in hexadecimal. */
  readonly sha256: string;
  /** `undefined` when the exported rows have no cost. */
  readonly cost: Picodollars | undefined;
}

/** How many rows a day has, and their cost. */
export interface ExportTotals {
  readonly rows: number;
  /** `undefined` when the exported rows have no cost. */
  readonly cost: Picodollars | undefined;
}

/** The key of a row. */
export interface ExportedKey {
  readonly requestLogId: string;
  readonly scope: string;
}

/**
 * Rows of a day of which a purge deletes at least one before, or together with, any other: row by row it begins with
 * the oldest, and whole partitions, of which a day's rows are in one or two, are ranges of ids. `undefined` when the day
 * has no rows, or an earlier release did not write it.
 */
export interface Witnesses {
  readonly oldest: ExportedKey | undefined;
  readonly lowest: ExportedKey | undefined;
  readonly highest: ExportedKey | undefined;
}

/** Describes the objects of a day. It is written last: a day without its manifest is incomplete. */
export interface Manifest extends ExportTotals, Witnesses {
  readonly subject: ExportSubject;
  readonly day: ExportDay;
  readonly format: ExportFormat;
  /** Starts at 1 and increases by one each time the day is written again. */
  readonly edition: number;
  readonly parts: readonly ExportPart[];
}

const version = 1;

/**
 * Names are the same in each run, so that a run after a crash overwrites what the crashed one has left. Another edition
 * has other names, so that an object that a manifest names is never overwritten.
 */
export const partName = (index: number, edition: number, extension: string): string =>
  `part-${String(index).padStart(5, '0')}${edition === 1 ? '' : `-${edition}`}.${extension}`;

export const isPartName = (name: string): boolean => /^part-\d{5}(-\d+)?\.[a-z.]+$/.test(name);

/** Query engines read `day=…` as a column. */
export const dayFolder = (prefix: string, subject: ExportSubject, day: ExportDay): string =>
  `${prefix === '' ? '' : `${prefix}/`}${subject}/day=${day}/`;

export const manifestName = 'manifest.json';

/** Money is text, because a JSON number cannot hold it exactly. */
export const manifestText = ({ subject, day, format, edition, parts, ...of }: Manifest): string =>
  `${JSON.stringify(
    {
      version,
      what: subject,
      day,
      format,
      edition,
      columns: exportColumns[subject],
      ...totalsOf(of),
      oldest: keyText(of.oldest),
      lowest: keyText(of.lowest),
      highest: keyText(of.highest),
      parts: parts.map(({ name, bytes, sha256, ...of }) => ({ name, ...totalsOf(of), bytes, sha256 })),
    },
    null,
    2,
  )}\n`;

const keyText = (key: ExportedKey | undefined) =>
  key === undefined ? null : { request_log_id: key.requestLogId, ownership_scope_key: key.scope };

const totalsOf = ({ rows, cost }: ExportTotals) => ({
  rows,
  ...(cost === undefined ? {} : { cost_picousd: cost.toString() }),
});

/** What a run needs to know of an existing manifest. */
export interface KnownManifest extends ExportTotals, Witnesses, Pick<Manifest, 'format' | 'edition'> {
  readonly partNames: readonly string[];
}

/** Left is the reason why the text is not a manifest of this service. */
export function readManifest(text: string): Either<string, KnownManifest> {
  const manifest = parseJson(text);
  if (!isObject(manifest) || manifest['version'] !== version)
    return E.left(`is no manifest of version ${version}`);
  const { rows, edition, cost_picousd: cost, parts } = manifest;
  const format = exportFormats.find((each) => each === manifest['format']);
  if (typeof rows !== 'number' || typeof edition !== 'number' || format === undefined || !isArray(parts))
    return E.left('has no rows, edition, format or parts');
  if (cost !== undefined && !(isString(cost) && /^\d+$/.test(cost))) return E.left('has a cost that is none');
  return E.right({
    rows,
    cost: cost === undefined ? undefined : BigInt(cost),
    format,
    edition,
    oldest: keyOf(manifest['oldest']),
    lowest: keyOf(manifest['lowest']),
    highest: keyOf(manifest['highest']),
    partNames: objectsOf(parts).map(({ name }) => textIn(name)),
  });
}

function keyOf(witness: Json | undefined): ExportedKey | undefined {
  if (!isObject(witness)) return undefined;
  const { request_log_id: requestLogId, ownership_scope_key: scope } = witness;
  return isString(requestLogId) && isString(scope) ? { requestLogId, scope } : undefined;
}
