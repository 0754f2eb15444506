import { closeSync, fchownSync, openSync } from 'node:fs';
import { copyFile, open, stat, truncate } from 'node:fs/promises';
import type { DatabaseUser } from './native-process.ts';

/** A longer server log is rotated. The server writes a few lines per start, so this is years of them. */
const logMaxBytes = 4 * 1024 * 1024;

/** How often the length is checked. The worst that can arrive in between is a minute of failed logins. */
const logCheckMs = 60_000;

/** The tail of the log that goes into an error message: the few lines of one start. */
const tailMaxBytes = 4_096;

/** Opens the log for a server that `user` runs. Only the owner may read it. */
export function openLogFile(file: string, user: DatabaseUser | undefined): { fd: number; close: () => void } {
  const fd = openSync(file, 'a', 0o600);
  if (user !== undefined) fchownSync(fd, user.uid, user.gid);
  return { fd, close: () => closeSync(fd) };
}

/** Current length of the log, in bytes. */
export const logLength = async (file: string): Promise<number> => (await stat(file)).size;

/** What was written after the first `from` bytes, at most the last `tailMaxBytes` of it. */
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
 * Keeps the log short for as long as this process lives: a long log is copied to `<file>.1` and truncated. The server
 * appends, so it need not be notified. Returns the function that stops the checks.
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
