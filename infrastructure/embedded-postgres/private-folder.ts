import { chmod, mkdir, stat } from 'node:fs/promises';

/**
 * Makes the data folder, which holds keys, passwords, journal and database, inaccessible to other users. A folder that
 * others may enter is closed, unless it belongs to somebody else or is shared (`/tmp`).
 */
export async function privateFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (process.platform === 'win32') return;
  const { mode, uid } = await stat(folder);
  const shared = (mode & 0o1000) !== 0;
  if ((mode & 0o077) !== 0 && uid === process.getuid?.() && !shared) await chmod(folder, 0o700);
}
