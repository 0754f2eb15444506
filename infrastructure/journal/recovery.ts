import { readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { undefinedIfMissing } from './disk.ts';
import { type FileJournal, suffix } from './file-journal.ts';
import { journalContent } from './journal-line.ts';

/** What became of a record: settled (or a duplicate), later (the database is away), or refused (for good). */
export type Replayed = 'settled' | 'later' | 'refused';

/** A file that was read to its end. */
export interface RecoveredFile {
  readonly settled: number;
  readonly refused: number;
  readonly damaged: number;
  /** Where the file is kept, if the database refused some of its records or some of its lines are damaged. */
  readonly kept: string | undefined;
}

export interface RecoveryOptions {
  readonly directory: string;
  readonly journal: FileJournal;
  /** Whether the process that a file is named after is still alive. */
  readonly isAlive: (name: string) => boolean;
  readonly onRecovered: (recovered: RecoveredFile) => void;
}

type Replay = (record: string) => Promise<Replayed>;

/** Suffix of the names of files that are kept for a person to inspect. */
export const refusedSuffix = '.refused';

/** A live process settles its files every few seconds: one this old has no owner, even if its process id is in use. */
const abandonedMs = 600_000;

/**
 * Settles what is in the journal once the database is back: idempotently, each record in the window of the last
 * database time that it carries. Files of dead processes are taken over, and a fully read file is removed. Two
 * processes may read the same file and settle the same records, which is safe because settling is idempotent.
 */
export function journalRecovery(options: RecoveryOptions) {
  const { directory, journal } = options;
  const settleFile = async (file: string, replay: Replay, shouldContinue: () => boolean) => {
    const mine = journal.isMine(file) ? file : await takeOver(options, file);
    if (mine === undefined) return true;
    await journal.release(mine);
    return recovered(options, mine, replay, shouldContinue);
  };
  return async (replay: Replay, shouldContinue: () => boolean): Promise<void> => {
    const before = journal.names();
    const files = await listed(directory);
    for (const gone of before.filter((name) => !files.includes(name))) journal.forget(gone);
    const faults: unknown[] = [];
    for (const file of files) {
      if (!shouldContinue()) break;
      try {
        if (!(await settleFile(file, replay, shouldContinue))) break;
      } catch (error) {
        // A file that the disk or its owner withholds must not hold up the others.
        faults.push(error);
      }
    }
    if (faults.length > 0) throw new AggregateError(faults, 'files of the journal could not be settled');
  };
}

const listed = async (directory: string): Promise<readonly string[]> =>
  ((await undefinedIfMissing(readdir(directory))) ?? []).filter((file) => file.endsWith(suffix)).sort();

/** A file is named after its process: `NAME.N.journal`. */
const ownerOf = (file: string): string => file.split('.')[0] ?? '';

/** Takes a file over by renaming it, which succeeds for one process only; `undefined` if it is another's. */
async function takeOver({ directory, journal, isAlive }: RecoveryOptions, file: string) {
  const from = path.join(directory, file);
  const found = await undefinedIfMissing(stat(from));
  if (found === undefined) return undefined;
  if (isAlive(ownerOf(file)) && Date.now() - found.mtimeMs < abandonedMs) return undefined;
  // So that no other process takes it for abandoned once it has its new name.
  await undefinedIfMissing(utimes(from, new Date(), new Date()));
  const mine = journal.adopt(found.size);
  const renamed = await undefinedIfMissing(rename(from, path.join(directory, mine)).then(() => true));
  if (renamed === true) return mine;
  journal.forget(mine);
  return undefined;
}

/** Returns false if the database is away or recovery is to stop; the file then stays for the next time. */
async function recovered(
  options: RecoveryOptions,
  file: string,
  replay: Replay,
  shouldContinue: () => boolean,
) {
  const { directory, journal, onRecovered } = options;
  const at = path.join(directory, file);
  const bytes = await undefinedIfMissing(readFile(at));
  const { records, damaged } = journalContent(bytes?.toString('utf8') ?? '');
  let refused = 0;
  for (const record of records) {
    const replayed = shouldContinue() ? await replay(record) : 'later';
    if (replayed === 'later') return false;
    if (replayed === 'refused') refused += 1;
  }
  // For a person to inspect: it shows what was delivered and could not be recorded.
  const kept = refused + damaged > 0 ? `${at.slice(0, -suffix.length)}${refusedSuffix}` : undefined;
  await undefinedIfMissing(kept === undefined ? rm(at) : rename(at, kept));
  journal.forget(file);
  if (records.length + damaged > 0)
    onRecovered({ settled: records.length - refused, refused, damaged, kept });
  return true;
}
