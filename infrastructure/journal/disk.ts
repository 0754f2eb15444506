import { access, mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';

/** The file operations that the journal needs; tests substitute a disk that fails. */
export interface Disk {
  /** Creates a file whose directory entry survives a crash of the machine; the folder is created when missing. */
  readonly create: (at: string) => Promise<DiskFile>;
  readonly exists: (at: string) => Promise<boolean>;
  readonly remove: (at: string) => Promise<void>;
}

export interface DiskFile {
  readonly append: (text: string) => Promise<void>;
  /** After it resolves, everything appended survives a crash of the machine. */
  readonly sync: () => Promise<void>;
  readonly truncate: (bytes: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

export const localDisk: Disk = {
  create: async (at) => {
    await makeFolder(path.dirname(at));
    const file = await open(at, 'ax', 0o600);
    try {
      await syncFolder(path.dirname(at));
    } catch (error) {
      await file.close();
      throw error;
    }
    return {
      append: (text) => file.appendFile(text),
      sync: () => file.datasync(),
      truncate: (bytes) => file.truncate(bytes),
      close: () => file.close(),
    };
  },
  exists: async (at) => (await undefinedIfMissing(access(at).then(() => true))) ?? false,
  remove: (at) => rm(at, { force: true }),
};

/** Returns `undefined` if the file does not exist: another process may take or remove a file at any moment. */
export async function undefinedIfMissing<A>(asked: Promise<A>): Promise<A | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** The error code of the operating system, as Node names it. */
export const codeOf = (error: unknown): string | undefined =>
  (error as NodeJS.ErrnoException | undefined)?.code;

/** Each created folder is an entry in its parent, and that entry must be as durable as the folder's content. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let at = path.resolve(folder); at.length >= path.resolve(first).length; at = path.dirname(at))
    await syncFolder(path.dirname(at));
}

/** Windows has no such operation and does not need it. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const opened = await open(folder, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
