import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { undefinedIfMissing } from './disk.ts';
import { suffix } from './file-journal.ts';
import { refusedSuffix } from './recovery.ts';

/** The records of one file; `refused` ones were read and could not be settled. */
export interface WaitingFile {
  readonly name: string;
  readonly refused: boolean;
  readonly records: number;
}

export interface WaitingRecords {
  readonly files: readonly WaitingFile[];
  /** There are more files or records than were examined, or some could not be read. */
  readonly isLowerBound: boolean;
}

/** Limits for the files examined and the records counted in all of them: some tens of megabytes. */
const maxFiles = 100;
const maxRecords = 10_000;

/** What waits in a journal folder, of all the processes that share it, and what of it will never be settled. */
export async function waitingRecords(directory: string): Promise<WaitingRecords> {
  const listed = await readOrUnreadable(readdir(directory));
  const names = (listed === 'unreadable' ? [] : (listed ?? []))
    .filter((name) => name.endsWith(suffix) || name.endsWith(refusedSuffix))
    .sort();
  const files: WaitingFile[] = [];
  let left = maxRecords;
  let isLowerBound = listed === 'unreadable' || names.length > maxFiles;
  for (const name of names.slice(0, maxFiles)) {
    if (left === 0) break;
    const found = await readOrUnreadable(linesIn(path.join(directory, name), left));
    isLowerBound ||= found === 'unreadable';
    const records = found === 'unreadable' ? 0 : (found ?? 0);
    left -= records;
    if (records > 0) files.push({ name, refused: name.endsWith(refusedSuffix), records });
  }
  return { files, isLowerBound: isLowerBound || left === 0 };
}

/** A file of another user, or on a bad sector, must not keep admins from what can be read. */
const readOrUnreadable = <A>(read: Promise<A>): Promise<A | undefined | 'unreadable'> =>
  undefinedIfMissing(read).catch(() => 'unreadable' as const);

const lineEnd = 0x0a;

/** Counts complete lines, up to `most`. */
async function linesIn(file: string, most: number): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>)
    for (let at = chunk.indexOf(lineEnd); at >= 0; at = chunk.indexOf(lineEnd, at + 1)) {
      lines += 1;
      if (lines === most) return lines;
    }
  return lines;
}
