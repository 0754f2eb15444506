import { readFile } from 'node:fs/promises';

/**
 * How many files and connections this process may have open; undefined where the system does not tell. Node has taken
 * as many as it may raise the limit to.
 */
export async function openFilesLimit(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
