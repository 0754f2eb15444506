import { readFile } from 'node:fs/promises';

/**
 * How many files and connections this process may have open, or `undefined` where the system does not report it. Node
 * has already raised the soft limit as far as it may.
 */
export async function openFilesLimit(): Promise<number | undefined> {
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
  const [, soft] = /^Max open files +(\d+)/m.exec(limits) ?? [];
  return soft === undefined ? undefined : Number(soft);
}
