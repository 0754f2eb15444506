import { afterEach } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type Disk, localDisk } from '../../infrastructure/journal/disk.ts';
import { FileJournal, type JournalFault } from '../../infrastructure/journal/file-journal.ts';
import { journalLine } from '../../infrastructure/journal/journal-line.ts';
import { journalRecovery, type RecoveredFile, type Replayed } from '../../infrastructure/journal/recovery.ts';

export const bytesOf = (records: readonly string[]): Buffer => Buffer.from(records.map(journalLine).join(''));

/** A disk whose operations a test can delay or make fail. */
function testDisk() {
  const failing = new Set<'create' | 'append' | 'sync' | 'truncate'>();
  let gate: Promise<void> | undefined;
  let syncs = 0;
  const fail = (what: 'create' | 'append' | 'sync' | 'truncate'): void => {
    if (failing.has(what)) throw Object.assign(new Error('the disk failed'), { code: 'EIO' });
  };
  const disk: Disk = {
    ...localDisk,
    create: async (at) => {
      fail('create');
      const file = await localDisk.create(at);
      return {
        ...file,
        append: async (text) => {
          // The disk becomes full in the middle of a record.
          if (failing.has('append')) await file.append(text.slice(0, text.length - 5));
          fail('append');
          await file.append(text);
        },
        sync: async () => {
          await gate;
          fail('sync');
          await file.sync();
          syncs += 1;
        },
        truncate: async (bytes) => {
          fail('truncate');
          await file.truncate(bytes);
        },
      };
    },
  };
  return {
    disk,
    failing,
    syncs: () => syncs,
    /** Nothing is synced until the returned function is called. */
    hold: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = undefined;
        resolve();
      };
    },
  };
}

export interface Bench {
  readonly journal: FileJournal;
  readonly recover: ReturnType<typeof journalRecovery>;
  readonly recovered: RecoveredFile[];
  readonly faults: unknown[];
  readonly disk: ReturnType<typeof testDisk>;
}

/** Gives the calling suite a function that makes benches. Their journals are closed after each test. */
export function withBenches() {
  /** All of them, to be closed: Node reports a fault when an open file is garbage-collected. */
  const benches: FileJournal[] = [];
  afterEach(async () => {
    await Promise.all(benches.splice(0).map((journal) => journal.close()));
  });

  /** The journal of one process with its own name; `living` are the names of the running processes. */
  return function bench(
    directory: string,
    name: string,
    { maxBytes = 1_000_000, living = new Set<string>() } = {},
  ): Bench {
    const recovered: RecoveredFile[] = [];
    const faults: unknown[] = [];
    const disk = testDisk();
    const onFault = (error: unknown): void => void faults.push(error);
    const journal = new FileJournal({ directory, name, maxBytes, disk: disk.disk, onFault });
    benches.push(journal);
    const recover = journalRecovery({
      directory,
      journal,
      isAlive: (owner) => living.has(owner),
      onRecovered: (file) => void recovered.push(file),
    });
    return { journal, recover, recovered, faults, disk };
  };
}

export const wordsOf = async (
  kept: readonly Promise<E.Either<JournalFault, void>>[],
): Promise<readonly string[]> =>
  (await Promise.all(kept)).map((each) => (E.isLeft(each) ? each.left : 'kept'));

/** A database that settles every record, except those for which the test returns another verdict. */
export function taking(verdictOf: (record: string) => Replayed = () => 'settled') {
  const settled: string[] = [];
  const replay = async (record: string): Promise<Replayed> => {
    await Promise.resolve();
    const verdict = verdictOf(record);
    if (verdict === 'settled') settled.push(record);
    return verdict;
  };
  return { replay, settled };
}

export const always = () => true;
export const names = (count: number, prefix = 'r'): readonly string[] =>
  Array.from({ length: count }, (_, index) => `"${prefix}${index}"`);
