import { type FileHandle, mkdir, open } from 'node:fs/promises';
import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { journalLine } from './journal-line.ts';

/** Why a record could not be kept. */
export type JournalFault = 'full' | 'disk';

export interface FileJournalOptions {
  readonly directory: string;
  /** All files of this process together; beyond it records are refused. */
  readonly maxBytes: number;
  readonly onFault: (error: unknown) => void;
}

interface Waiting {
  readonly line: string;
  readonly done: (kept: Either<JournalFault, void>) => void;
}

/**
 * Records that the database could not take, on a durable disk: whoever got a right from `append` finds its record
 * there, whatever dies next. Records that wait at the same time share one write and one fsync.
 */
export class FileJournal {
  private readonly options: FileJournalOptions;
  private readonly name: string;
  private file: Promise<FileHandle> | undefined;
  private serial = 0;
  private waiting: Waiting[] = [];
  private writing: Promise<void> | undefined;
  private bytes = 0;

  /** `name` begins the names of this process's files and of no other's. */
  constructor(options: FileJournalOptions, name: string) {
    this.options = options;
    this.name = name;
  }

  /** Bytes that wait to be settled. */
  size(): number {
    return this.bytes;
  }

  append(record: string): Promise<Either<JournalFault, void>> {
    const line = journalLine(record);
    const length = Buffer.byteLength(line);
    if (this.bytes + length > this.options.maxBytes) return Promise.resolve(E.left('full'));
    this.bytes += length;
    return new Promise((done) => {
      this.waiting.push({ line, done });
      this.writing ??= this.write();
    });
  }

  /** Begins a new file; what was written so far is in files that nobody writes any more. */
  async rotate(): Promise<void> {
    await this.writing;
    const file = this.file;
    this.file = undefined;
    if (file !== undefined) await (await file).close();
  }

  /** So many bytes were settled and removed. */
  freed(bytes: number): void {
    this.bytes = Math.max(0, this.bytes - bytes);
  }

  /** Adopted from a process that is gone. */
  adopted(bytes: number): void {
    this.bytes += bytes;
  }

  private async write(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting;
      this.waiting = [];
      const kept = await this.writeBatch(batch.map(({ line }) => line).join(''));
      for (const { done } of batch) done(kept);
    }
    this.writing = undefined;
  }

  private async writeBatch(lines: string): Promise<Either<JournalFault, void>> {
    try {
      this.file ??= this.openFile();
      const file = await this.file;
      await file.appendFile(lines);
      await file.datasync();
      return E.right(undefined);
    } catch (error) {
      this.options.onFault(error);
      // Whether the lines are there is unknown: a file of their own keeps what comes next apart from them.
      this.file = undefined;
      return E.left('disk');
    }
  }

  private async openFile(): Promise<FileHandle> {
    const { directory } = this.options;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    this.serial += 1;
    const file = await open(path.join(directory, `${this.name}.${this.serial}.journal`), 'ax', 0o600);
    // The name must be as durable as what stands in the file.
    const folder = await open(directory, 'r');
    await folder.sync();
    await folder.close();
    return file;
  }
}
