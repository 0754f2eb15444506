import { randomUUID } from 'node:crypto';
import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import { codeOf, localDisk } from './disk.ts';
import { FileJournal } from './file-journal.ts';
import { journalRecovery, type RecoveredFile, type Replayed } from './recovery.ts';

/** About 30,000 records of one process. An outage that fills it results in 503 for everybody. */
const maxBytes = 64 * 1024 * 1024;

export interface JournalOptions {
  /** Must be on a durable disk. */
  readonly directory: string;
  readonly onFault: (error: unknown) => void;
  readonly onRecovered: (recovered: RecoveredFile) => void;
}

export interface Journal {
  /** True once the record is on the disk. */
  readonly keep: (record: string) => Promise<boolean>;
  /** Bytes that wait to be settled. */
  readonly size: () => number;
  /** Limit of waiting bytes; records beyond it are refused. */
  readonly maxBytes: number;
  /** Settles waiting records, both this process's and those that dead processes left. */
  readonly recover: (
    replay: (record: string) => Promise<Replayed>,
    shouldContinue: () => boolean,
  ) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** The journal folder of a data folder. */
export const journalFolder = (dataDir: string): string => path.resolve(dataDir, 'journal');

/** The local journal of settlements that the database could not take (rule 38.8). */
export function localJournal({ directory, onFault, onRecovered }: JournalOptions): Journal {
  const name = `${process.pid}-${randomUUID().slice(0, 8)}`;
  const journal = new FileJournal({ directory, name, maxBytes, disk: localDisk, onFault });
  const recover = journalRecovery({ directory, journal, isAlive, onRecovered });
  return {
    maxBytes,
    keep: async (record) => E.isRight(await journal.append(record)),
    size: () => journal.size(),
    recover,
    close: () => journal.close(),
  };
}

/** Whether the process that a file is named after is alive. One with our own process id was an earlier process. */
export function isAlive(name: string): boolean {
  const pid = Number(name.split('-')[0]);
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is alive, but belongs to another user.
    return codeOf(error) === 'EPERM';
  }
}
