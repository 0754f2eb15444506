import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { ExportSubject } from '../../domain/export/export-columns.ts';
import { type ExportDay, exportDays, firstOpenDay } from '../../domain/export/export-day.ts';
import {
  dayFolder,
  type ExportFormat,
  type ExportTotals,
  isPartName,
  type KnownManifest,
  type Manifest,
  manifestName,
  manifestText,
  readManifest,
  type Witnesses,
} from '../../domain/export/manifest.ts';
import type { ExportSource, ObjectStorage, StorageFault } from '../ports/export.ts';
import { type PartPorts, writeParts } from './write-parts.ts';

export interface ExportPorts extends PartPorts {
  readonly source: ExportSource;
  readonly storage: ObjectStorage;
}

export interface ExportOrder {
  readonly subject: ExportSubject;
  readonly from: ExportDay;
  /** Exclusive; `undefined` exports every day that is over. */
  readonly to: ExportDay | undefined;
  /** The prefix of all keys, without a slash at its end; may be empty. */
  readonly prefix: string;
  readonly format: ExportFormat;
  /** Called before each day, and before each part that is full. */
  readonly shouldContinue: () => boolean;
}

/**
 * The outcome of a day: it was written; it is already there as it should be; or it is there and its rows are being
 * purged, so that it is left alone.
 */
export type DayState = 'written' | 'unchanged' | 'purged since';

export interface ExportedDay extends ExportTotals {
  readonly day: ExportDay;
  readonly state: DayState;
  readonly parts: number;
}

/** Why an export ended early. The days reported before are there, and a further run continues from them. */
export type ExportFault = string;

export interface ExportReport {
  readonly days: number;
  /** The first day that is not over, when it is before the end of the range. */
  readonly leftFrom: ExportDay | undefined;
}

/** How often a day is read in all, if its rows change while they are read. */
const maxReadings = 3;

/**
 * Exports a range of UTC days, each as objects of bounded size and a manifest that is written last. Days that are not
 * over are left for the next run. A day that was exported before is left as it is, unless the database has more of it
 * by now, such as records from a journal: then it is written again, next to what is there.
 */
export const exportRange =
  (ports: ExportPorts, tell: (day: ExportedDay) => void) =>
  async (order: ExportOrder): Promise<Either<ExportFault, ExportReport>> => {
    const cut = firstOpenDay(await ports.source.now());
    const until = order.to === undefined || order.to > cut ? cut : order.to;
    const days = exportDays(order.from, until);
    if (days === undefined) return E.left(`more than ten years lie between ${order.from} and ${until}`);
    for (const day of days) {
      if (!order.shouldContinue()) return E.left(stoppedBefore(day));
      const exported = await exportDay(ports, order, day);
      if (E.isLeft(exported)) return exported;
      tell(exported.right);
    }
    return E.right({
      days: days.length,
      leftFrom: order.to !== undefined && order.to > cut ? laterOf(cut, order.from) : undefined,
    });
  };

const stoppedBefore = (day: ExportDay): ExportFault => `stopped before ${day} was whole`;
const laterOf = (one: ExportDay, other: ExportDay): ExportDay => (one > other ? one : other);

async function exportDay(
  ports: ExportPorts,
  order: ExportOrder,
  day: ExportDay,
): Promise<Either<ExportFault, ExportedDay>> {
  const { storage } = ports;
  const folder = dayFolder(order.prefix, order.subject, day);
  const manifestKey = `${folder}${manifestName}`;
  const known = await knownOf(storage, manifestKey);
  if (E.isLeft(known)) return known;
  const leave = () => leftAlone(ports, order, day, { folder, known: known.right });
  const left = await leave();
  if (left !== undefined) return left;
  const written = await writeDay(ports, order, day, { folder, edition: (known.right?.edition ?? 0) + 1 });
  if (E.isLeft(written)) return written;
  // A purge that began meanwhile may have deleted rows that the existing edition has.
  const leftNow = await leave();
  if (leftNow !== undefined) return leftNow;
  const { parts, rows, cost } = written.right;
  const manifest = new TextEncoder().encode(manifestText(written.right));
  const put = await storage.write(manifestKey, manifest, 'application/json');
  if (E.isLeft(put)) return put;
  const names = parts.map(({ name }) => name);
  const tidied = await removeOthers(storage, folder, names);
  return E.isLeft(tidied) ? tidied : E.right({ day, state: 'written', rows, cost, parts: names.length });
}

async function knownOf(
  storage: ObjectStorage,
  key: string,
): Promise<Either<StorageFault, KnownManifest | undefined>> {
  const text = await storage.read(key);
  if (E.isLeft(text)) return text;
  if (text.right === undefined) return E.right(undefined);
  return E.mapLeft((why: string): StorageFault => `${key} ${why}: it is not replaced`)(
    readManifest(text.right),
  );
}

/** A day that stays as it is, after removing parts that no manifest names; `undefined` when it is to be written. */
async function leftAlone(
  { source, storage }: Pick<ExportPorts, 'source' | 'storage'>,
  order: ExportOrder,
  day: ExportDay,
  { folder, known }: { readonly folder: string; readonly known: KnownManifest | undefined },
): Promise<Either<ExportFault, ExportedDay> | undefined> {
  if (known === undefined) return undefined;
  const state = await stateOf(source, order, day, known);
  if (E.isLeft(state)) return state;
  if (state.right === undefined) return undefined;
  // A killed run may have left parts behind.
  const { rows, cost, partNames } = known;
  const tidied = await removeOthers(storage, folder, partNames);
  return E.isLeft(tidied)
    ? tidied
    : E.right({ day, state: state.right, rows, cost, parts: partNames.length });
}

/** The state of a day that stays as it is; `undefined` when the database has more of it. */
async function stateOf(
  source: ExportSource,
  { subject, format }: ExportOrder,
  day: ExportDay,
  known: KnownManifest,
): Promise<Either<ExportFault, DayState | undefined>> {
  const found = await source.totalsOf(day);
  if (sameTotals(found, known) && known.format === format) return E.right('unchanged');
  if (subject === 'ledger')
    return found.rows < known.rows
      ? E.left(`${day}: the ledger has ${found.rows} rows, and its export ${known.rows}: it is not replaced`)
      : E.right(undefined);
  const isWhole = found.rows >= known.rows && (await holdsAll(source, known));
  return E.right(isWhole ? undefined : 'purged since');
}

async function holdsAll(source: ExportSource, { oldest, lowest, highest }: Witnesses): Promise<boolean> {
  for (const key of [oldest, lowest, highest])
    if (key !== undefined && !(await source.holds(key))) return false;
  return true;
}

const sameTotals = (one: ExportTotals, other: ExportTotals): boolean =>
  one.rows === other.rows && one.cost === other.cost;

/** Writes the parts of a day until the rows that were read match the database's totals of the day. */
async function writeDay(
  ports: ExportPorts,
  order: ExportOrder,
  day: ExportDay,
  { folder, edition }: { readonly folder: string; readonly edition: number },
): Promise<Either<ExportFault, Manifest>> {
  const { subject, format } = order;
  for (let reading = 1; ; reading += 1) {
    const written = await writeParts(ports, {
      subject,
      day,
      folder,
      edition,
      shouldContinue: order.shouldContinue,
    });
    if (E.isLeft(written)) return written;
    if (written.right === undefined) return E.left(stoppedBefore(day));
    const totals = await ports.source.totalsOf(day);
    if (sameTotals(totals, written.right))
      return E.right({ subject, day, format, edition, ...written.right });
    if (reading === maxReadings)
      return E.left(
        `${day}: ${words(written.right)} were read, and the database says ${words(totals)}. Rows are still being ` +
          `written or purged${subject === 'ledger' ? ', or `gateway ledger verify` says what is wrong' : ''}.`,
      );
  }
}

const words = ({ rows, cost }: ExportTotals): string =>
  `${rows} rows${cost === undefined ? '' : ` of ${cost} picodollars`}`;

/** Removes parts of another edition, and those of a run that ended early. */
async function removeOthers(
  storage: ObjectStorage,
  folder: string,
  names: readonly string[],
): Promise<Either<StorageFault, undefined>> {
  const there = await storage.list(folder);
  if (E.isLeft(there)) return there;
  const kept = new Set(names);
  for (const key of there.right) {
    const name = key.slice(folder.length);
    if (kept.has(name) || !isPartName(name)) continue;
    const removed = await storage.remove(key);
    if (E.isLeft(removed)) return removed;
  }
  return E.right(undefined);
}
