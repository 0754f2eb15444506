import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { codeOf, type Disk, type DiskFile } from './disk.ts';
import { journalLine } from './journal-line.ts';

/** Why a record could not be kept. */
export type JournalFault = 'full' | 'disk';

export interface FileJournalOptions {
  readonly directory: string;
  /** Prefix of the names of this process's files, unique to this process. */
  readonly name: string;
  /** Limit for all files of this process together; records beyond it are refused. */
  readonly maxBytes: number;
  readonly disk: Disk;
  readonly onFault: (error: unknown) => void;
}

interface Waiting {
  readonly line: string;
  readonly bytes: number;
  readonly done: (kept: Either<JournalFault, void>) => void;
}

interface OpenFile {
  readonly name: string;
  readonly file: DiskFile;
  /** Bytes of complete records that are synced. */
  bytes: number;
}

/** Suffix of the names of journal files. */
export const suffix = '.journal';

/** Digits of a file's serial number, padded so that names sort in order of creation. */
const serialDigits = 6;

/** No space for this write: on the disk, in this user's quota, or in a file of this size. */
const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error) ?? '');

/** Another process took the open file for one that a dead process had left. */
class TakenAway extends Error {}

/**
 * A durable journal for records that the database could not take. Once `append` returns a right, the record is on disk,
 * whatever crashes next. Records that wait at the same time share one write and one fsync.
 */
export class FileJournal {
  private readonly options: FileJournalOptions;
  /** This process's files, each with the bytes of complete, synced records in it. */
  private readonly files = new Map<string, number>();
  private open: OpenFile | undefined;
  private serial = 0;
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  /** Serialises everything that touches the open file. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(options: FileJournalOptions) {
    this.options = options;
  }

  /** Bytes that wait to be settled or written. */
  size(): number {
    return [...this.files.values()].reduce((sum, bytes) => sum + bytes, this.waitingBytes);
  }

  append(record: string): Promise<Either<JournalFault, void>> {
    const line = journalLine(record);
    const bytes = Buffer.byteLength(line);
    if (this.size() + bytes > this.options.maxBytes) return Promise.resolve(E.left('full'));
    this.waitingBytes += bytes;
    return new Promise((done) => {
      this.waiting.push({ line, bytes, done });
      if (this.waiting.length === 1) void this.inTurn(() => this.writeWaiting());
    });
  }

  /** Files of this process, including the open one. */
  names(): readonly string[] {
    return [...this.files.keys()];
  }

  isMine(file: string): boolean {
    return file.startsWith(`${this.options.name}.`);
  }

  /** Closes the file if it is the open one, so that it is not written to any more. */
  release(name: string): Promise<void> {
    return this.inTurn(async () => {
      if (this.open?.name === name) await this.closeOpen();
    });
  }

  /** Closes the open file. The next record opens a new one. */
  close(): Promise<void> {
    return this.inTurn(() => this.closeOpen());
  }

  /** A name for a file of this many bytes that is taken over from a dead process. */
  adopt(bytes: number): string {
    const name = this.nextName();
    this.files.set(name, bytes);
    return name;
  }

  /** Drops a file that is settled and removed, or that another process took. */
  forget(name: string): void {
    this.files.delete(name);
  }

  /** Runs `work` after all work before it, whether that failed or not; the caller gets the failure of its own. */
  private inTurn<A>(work: () => Promise<A>): Promise<A> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => undefined);
    return done;
  }

  private async writeWaiting(): Promise<void> {
    const batch = this.waiting;
    this.waiting = [];
    const fits = await this.writtenOf(batch);
    batch.forEach(({ bytes, done }, index) => {
      this.waitingBytes -= bytes;
      done(index < fits ? E.right(undefined) : E.left('disk'));
    });
  }

  /**
   * How many records, from the first on, reached the disk. A nearly full disk takes what fits: a batch that does not
   * fit as a whole is tried in halves, the second half only if the first was written whole.
   */
  private async writtenOf(batch: readonly Waiting[]): Promise<number> {
    const bytes = batch.reduce((sum, each) => sum + each.bytes, 0);
    const kept = await this.written(batch.map(({ line }) => line).join(''), bytes);
    if (E.isRight(kept)) return batch.length;
    if (kept.left !== 'full' || batch.length === 1) return 0;
    const half = Math.ceil(batch.length / 2);
    const first = await this.writtenOf(batch.slice(0, half));
    return first < half ? first : half + (await this.writtenOf(batch.slice(half)));
  }

  private async written(lines: string, bytes: number): Promise<Either<JournalFault, void>> {
    try {
      // A file that was taken away is replaced once; the process that took it may have read the lines there too.
      if (!(await this.wrote(lines, bytes)) && !(await this.wrote(lines, bytes))) throw new TakenAway();
      return E.right(undefined);
    } catch (error) {
      this.options.onFault(error);
      await this.abandon();
      return E.left(isFull(error) ? 'full' : 'disk');
    }
  }

  /**
   * Returns false if the file was gone by the time the lines were in it. A process that takes a file over renames it
   * before reading it, so if the name still exists, these lines will be read.
   */
  private async wrote(lines: string, bytes: number): Promise<boolean> {
    const open = (this.open ??= await this.newFile());
    await open.file.append(lines);
    await open.file.sync();
    if (!(await this.options.disk.exists(this.at(open.name)))) {
      this.forget(open.name);
      await open.file.truncate(open.bytes);
      await this.closeOpen();
      return false;
    }
    open.bytes += bytes;
    this.files.set(open.name, open.bytes);
    return true;
  }

  private async newFile(): Promise<OpenFile> {
    const name = this.nextName();
    return { name, file: await this.options.disk.create(this.at(name)), bytes: 0 };
  }

  private async closeOpen(): Promise<void> {
    const open = this.open;
    this.open = undefined;
    await open?.file.close();
  }

  /**
   * After a failed write or fsync the file is not written to again. Refused lines are truncated as far as the disk
   * allows; where that fails, a refused record may still be settled.
   */
  private async abandon(): Promise<void> {
    const open = this.open;
    if (open === undefined) return;
    await this.orReported(() => open.file.truncate(open.bytes));
    if (open.bytes === 0) await this.orReported(() => this.options.disk.remove(this.at(open.name)));
    await this.orReported(() => this.closeOpen());
  }

  private async orReported(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.options.onFault(error);
    }
  }

  private nextName(): string {
    this.serial += 1;
    return `${this.options.name}.${String(this.serial).padStart(serialDigits, '0')}${suffix}`;
  }

  private at(name: string): string {
    return path.join(this.options.directory, name);
  }
}
