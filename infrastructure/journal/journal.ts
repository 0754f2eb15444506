import * as E from 'fp-ts/lib/Either.js';
import { FileJournal } from './file-journal.ts';
import { journalRecovery, type Replayed } from './recovery.ts';

/** About 30,000 records of one process; an outage that fills it ends in 503 for everybody. */
const maxBytes = 64 * 1024 * 1024;

export interface JournalOptions {
  /** On a durable disk. */
  readonly directory: string;
  readonly onFault: (error: unknown) => void;
  readonly onRecovered: (records: number, damaged: number) => void;
  readonly onRefused: (file: string) => void;
}

export interface Journal {
  /** True once the record is on the disk. */
  readonly keep: (record: string) => Promise<boolean>;
  /** Bytes that wait to be settled. */
  readonly size: () => number;
  /** Settles what waits, this process's and what dead ones left. */
  readonly recover: (replay: (record: string) => Promise<Replayed>, goOn: () => boolean) => Promise<void>;
}

/** The local journal of settlements that the database could not take (CONTRACT §5). */
export function localJournal({ directory, onFault, onRecovered, onRefused }: JournalOptions): Journal {
  const name = `${process.pid}-${Date.now().toString(36)}`;
  const journal = new FileJournal({ directory, maxBytes, onFault }, name);
  return {
    keep: async (record) => E.isRight(await journal.append(record)),
    size: () => journal.size(),
    recover: (replay, goOn) =>
      journalRecovery({ directory, journal, name, isAlive, replay, onRecovered, onRefused })(goOn),
  };
}

/** Whether the process that a file is named for is still there; one of our own number was before us. */
function isAlive(name: string): boolean {
  const pid = Number(name.split('-')[0]);
  if (pid === process.pid) return false;
  return E.isRight(
    E.tryCatch(
      () => process.kill(pid, 0),
      () => undefined,
    ),
  );
}
