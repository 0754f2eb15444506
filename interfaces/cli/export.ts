import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { ExportedDay, ExportOrder, ExportReport } from '../../application/export/export-range.ts';
import { exportSubjects } from '../../domain/export/export-columns.ts';
import { type ExportDay, readExportDay } from '../../domain/export/export-day.ts';
import { exportFormats } from '../../domain/export/manifest.ts';
import { toUsd } from '../../domain/money/money.ts';
import { flags, type Terminal, UsageError } from './command.ts';

export interface ExportCall extends Omit<ExportOrder, 'shouldContinue'> {
  readonly bucket: string;
}

/** Bucket names that storages accept, and prefixes with a single spelling in URLs. */
const target =
  /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9!_.*'()=-]+)*)\/?$/;

const targetTerms =
  '--to-url must be s3://BUCKET or s3://BUCKET/PREFIX: a bucket has 3 to 63 of a-z 0-9 . -, ' +
  "a prefix A-Z a-z 0-9 ! _ . * ' ( ) = - between its slashes";

/**
 * `gateway export`: prints a line for each day, and what is left for the next run. Exits with 1 when it could not
 * finish; the days that were printed are complete.
 */
export const exportCommand =
  (
    run: (call: ExportCall, tell: (day: ExportedDay) => void) => Promise<Either<string, ExportReport>>,
    { out, err }: Terminal,
  ) =>
  async (args: readonly string[]): Promise<number> => {
    const done = await run(readCall(args), (day) => out(dayLine(day)));
    if (E.isLeft(done)) {
      err(done.left);
      return 1;
    }
    const { days, leftFrom } = done.right;
    out(`${days} days`);
    if (leftFrom !== undefined) out(`${leftFrom} is not over: it is left for the next run`);
    return 0;
  };

function dayLine({ day, state, rows, cost, parts }: ExportedDay): string {
  const amount = cost === undefined ? '' : `, ${toUsd(cost)} USD`;
  return `${day} ${state}: ${rows} rows${amount}${state === 'written' ? `, ${parts} parts` : ''}`;
}

function readCall(args: readonly string[]): ExportCall {
  const { values } = flags(args, {
    what: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    'to-url': { type: 'string' },
    format: { type: 'string' },
  });
  if (values.what === undefined || values.from === undefined || values['to-url'] === undefined)
    refuse('export needs --what, --from and --to-url.');
  const [, bucket = '', path = ''] = target.exec(values['to-url']) ?? refuse(targetTerms);
  const from = dayOf('from', values.from);
  const to = values.to === undefined ? undefined : dayOf('to', values.to);
  if (to !== undefined && to <= from) refuse('--to must be after --from, and is exclusive');
  return {
    subject: oneOf('what', values.what, exportSubjects),
    format: oneOf('format', values.format ?? 'parquet', exportFormats),
    from,
    to,
    bucket,
    prefix: path.slice(1),
  };
}

const dayOf = (name: string, text: string): ExportDay =>
  readExportDay(text) ?? refuse(`--${name} must be a UTC day such as 2026-11-01`);

const oneOf = <A extends string>(name: string, text: string, words: readonly A[]): A =>
  words.find((word) => word === text) ?? refuse(`--${name} must be ${words.join(' or ')}`);

function refuse(why: string): never {
  throw new UsageError(why);
}
