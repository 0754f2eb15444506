import { closeSync, fchownSync, openSync } from 'node:fs';
import { copyFile, open, stat, truncate } from 'node:fs/promises';
import type { DatabaseUser } from './native-process.ts';

/** The server's log is moved aside when it is longer; it gets some lines a start, so this is years of them. */
const logMaxBytes = 4 * 1024 * 1024;

/** How often the length is looked at; a minute of failed logins is the worst that can come in between. */
const logCheckMs = 60_000;

/** The end of the log that goes into an error message: the few lines of one start. */
const tailMaxBytes = 4_096;

/** Opens the log for a server that `user` runs. Only the owner may read it. */
export function openLogFile(file: string, user: DatabaseUser | undefined): { fd: number; close: () => void } {
  const fd = openSync(file, 'a', 0o600);
  if (user !== undefined) fchownSync(fd, user.uid, user.gid);
  return { fd, close: () => closeSync(fd) };
}

/** Length of the log now, in bytes. */
export const logLength = async (file: string): Promise<number> => (await stat(file)).size;

/** What was written after the first `from` bytes. */
export async function logSince(file: string, from: number): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { size } = await handle.stat();
    const start = Math.max(from, size - tailMaxBytes);
    const { bytesRead, buffer } = await handle.read(Buffer.alloc(tailMaxBytes), 0, tailMaxBytes, start);
    return buffer.toString('utf8', 0, bytesRead).trim();
  } finally {
    await handle.close();
  }
}

/**
 * Keeps the log short as long as this process lives: a long one becomes `<file>.1` and begins anew. The server
 * appends, so it need not be told. Returns the function that ends the watch.
 */
export function keepLogShort(file: string, log: (line: string) => void): () => void {
  const shorten = async (): Promise<void> => {
    if ((await logLength(file)) <= logMaxBytes) return;
    await copyFile(file, `${file}.1`);
    await truncate(file, 0);
  };
  const check = (): void => {
    shorten().catch((error: unknown) => log(`the log ${file} could not be shortened: ${String(error)}`));
  };
  check();
  const timer = setInterval(check, logCheckMs).unref();
  return () => clearInterval(timer);
}
