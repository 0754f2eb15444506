import path from 'node:path';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { codeOf, type Disk, type DiskFile } from './disk.ts';
import { journalLine } from './journal-line.ts';

/** Why a record could not be kept. */
export type JournalFault = 'full' | 'disk';

export interface FileJournalOptions {
  readonly directory: string;
  /** Begins the names of this process's files and of no other's. */
  readonly name: string;
  /** All files of this process together; beyond it records are refused. */
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
  /** Of whole records that are synced. */
  bytes: number;
}

/** What the names of journal files end in. */
export const suffix = '.journal';

/** Digits of a file's number, so that names are in the order of their making. */
const serialDigits = 6;

/** No room is left for so much: on the disk, for this user, or in a file of this size. */
const isFull = (error: unknown): boolean => ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(error) ?? '');

/** Somebody took the open file for one that a dead process has left. */
class TakenAway extends Error {}

/**
 * Records that the database could not take, on a durable disk: whoever got a right from `append` finds its record
 * there, whatever dies next. Records that wait at the same time share one write and one fsync.
 */
export class FileJournal {
  private readonly options: FileJournalOptions;
  /** This process's files with the bytes of whole, synced records in them. */
  private readonly files = new Map<string, number>();
  private open: OpenFile | undefined;
  private serial = 0;
  private waiting: Waiting[] = [];
  private waitingBytes = 0;
  /** Everything that touches the open file happens one after the other. */
  private turn: Promise<unknown> = Promise.resolve();

  constructor(options: FileJournalOptions) {
    this.options = options;
  }

  /** Bytes that wait to be settled, or to be written. */
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

  /** Files of this process, the open one too. */
  names(): readonly string[] {
    return [...this.files.keys()];
  }

  isMine(file: string): boolean {
    return file.startsWith(`${this.options.name}.`);
  }

  /** From now on nobody writes this file any more. */
  release(name: string): Promise<void> {
    return this.inTurn(async () => {
      if (this.open?.name === name) await this.closeOpen();
    });
  }

  /** Nobody writes any file any more, until the next record. */
  close(): Promise<void> {
    return this.inTurn(() => this.closeOpen());
  }

  /** A name for a file of so many bytes that is taken over from a process that is gone. */
  adopt(bytes: number): string {
    const name = this.nextName();
    this.files.set(name, bytes);
    return name;
  }

  /** The file is settled and removed, or another's. */
  forget(name: string): void {
    this.files.delete(name);
  }

  private inTurn<A>(work: () => Promise<A>): Promise<A> {
    const done = this.turn.then(work);
    this.turn = done.catch(() => 'told to whoever asked for it');
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
   * How many records, from the first on, are on the disk. One that is nearly full takes what fits: a batch that it
   * does not take whole is tried in halves, the second one only after the first.
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
      // A file that was taken away is replaced once; whoever took it may have read the lines there too.
      if (!(await this.wrote(lines, bytes)) && !(await this.wrote(lines, bytes))) throw new TakenAway();
      return E.right(undefined);
    } catch (error) {
      this.options.onFault(error);
      await this.abandon();
      return E.left(isFull(error) ? 'full' : 'disk');
    }
  }

  /**
   * False: the file was not there any more when the lines were in it. Whoever took it renamed it before reading it, so
   * a name that is still there says that these lines will be read.
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
   * After a failed write or fsync the file is not trusted with anything more. Refused lines are taken out of it again,
   * as far as the disk lets us: where it does not, a refused record may still be settled.
   */
  private async abandon(): Promise<void> {
    const open = this.open;
    if (open === undefined) return;
    await this.orTold(() => open.file.truncate(open.bytes));
    if (open.bytes === 0) await this.orTold(() => this.options.disk.remove(this.at(open.name)));
    await this.orTold(() => this.closeOpen());
  }

  private async orTold(work: () => Promise<void>): Promise<void> {
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
