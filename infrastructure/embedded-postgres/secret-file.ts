import { randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';

/**
 * The text of `file` without blanks around it; a missing file is created first, with `fresh` and mode 0600.
 *
 * @throws when the file cannot be written or read.
 */
export async function readOrCreate(file: string, fresh: string): Promise<string> {
  const found = await readFile(file, 'utf8').catch(orAbsent);
  if (found === undefined) await createWhole(file, `${fresh}\n`);
  return (found ?? (await readFile(file, 'utf8'))).trim();
}

/**
 * The file gets its name only once it is complete, so a full disk does not leave an empty secret behind. When two
 * processes start at once, the first to link its file wins.
 */
async function createWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString('hex')}`;
  try {
    const handle = await open(draft, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(draft, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
}

/** Turns a missing file into `undefined` and throws any other error. */
export function orAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
