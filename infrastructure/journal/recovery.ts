import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { FileJournal } from './file-journal.ts';
import { recordsIn } from './journal-line.ts';

/** What became of a record: settled (or a duplicate), not yet (the database is away), or never (a row it refuses). */
export type Replayed = 'settled' | 'later' | 'refused';

export interface RecoveryOptions {
  readonly directory: string;
  readonly journal: FileJournal;
  /** The name of this process's files. */
  readonly name: string;
  /** Whether the process of a file's name is still there. */
  readonly isAlive: (name: string) => boolean;
  readonly replay: (record: string) => Promise<Replayed>;
  readonly onRecovered: (records: number, damaged: number) => void;
  readonly onRefused: (file: string) => void;
}

/**
 * Settles what is in the journal, once the database is back: idempotently, each record in the window of the last
 * database time that it carries. Files of processes that are gone are taken over; one that was read whole is removed.
 */
export function journalRecovery(options: RecoveryOptions): (goOn: () => boolean) => Promise<void> {
  const { directory, journal, name } = options;
  return async (goOn) => {
    const files = await listed(directory);
    if (files.some((file) => isMine(file, name))) await journal.rotate();
    for (const file of files) {
      if (!goOn()) return;
      const taken = isMine(file, name) ? file : await takeOver(options, file);
      if (taken !== undefined && !(await recovered(options, taken, goOn))) return;
    }
  };
}

/** A living process begins a new file every few seconds: a file this old has no owner, whoever has its number now. */
const abandonedMs = 600_000;

const suffix = '.journal';

/** A file is named for its process: `NAME.N.journal`. */
const ownerOf = (file: string): string => file.split('.')[0] ?? '';
const isMine = (file: string, name: string): boolean => ownerOf(file) === name;

const listed = async (directory: string): Promise<readonly string[]> =>
  ((await unlessGone(readdir(directory))) ?? []).filter((file) => file.endsWith(suffix)).sort();

/** Another process may take or remove a file at any moment. */
async function unlessGone<A>(asked: Promise<A>): Promise<A | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** A rename succeeds for one process alone. Undefined: the file is another's. */
async function takeOver(options: RecoveryOptions, file: string): Promise<string | undefined> {
  const { directory, journal, name } = options;
  const from = path.join(directory, file);
  const found = await unlessGone(stat(from));
  if (found === undefined) return undefined;
  if (options.isAlive(ownerOf(file)) && Date.now() - found.mtimeMs < abandonedMs) return undefined;
  const mine = `${name}.${file.slice(0, -suffix.length).replaceAll('.', '-')}${suffix}`;
  const renamed = await unlessGone(rename(from, path.join(directory, mine)).then(() => true));
  if (renamed !== true) return undefined;
  journal.adopted(found.size);
  return mine;
}

/** False: the database is away; the file stays for the next time. */
async function recovered(options: RecoveryOptions, file: string, goOn: () => boolean): Promise<boolean> {
  const { directory, journal, replay } = options;
  const at = path.join(directory, file);
  const bytes = await unlessGone(readFile(at));
  if (bytes === undefined) return true;
  const { records, damaged } = recordsIn(bytes.toString('utf8'));
  let refused = 0;
  for (const record of records) {
    const replayed = goOn() ? await replay(record) : 'later';
    if (replayed === 'later') return false;
    if (replayed === 'refused') refused += 1;
  }
  if (refused > 0) {
    // For a person to look at: it says what was delivered and could not be recorded.
    const kept = `${at.slice(0, -suffix.length)}.refused`;
    await rename(at, kept);
    options.onRefused(kept);
  } else await rm(at);
  journal.freed(bytes.length);
  if (records.length > 0 || damaged > 0) options.onRecovered(records.length - refused, damaged);
  return true;
}
