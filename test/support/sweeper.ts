// node sweeper.ts FOLDER. Waits until its standard input ends, which happens when the process that started it
// ends in any way. Then it removes what a test run has left: the PostgreSQL servers with data below FOLDER,
// FOLDER, and everything beside it whose name begins with its name. After an orderly end it finds nothing. It
// runs in a session of its own, so Ctrl-C does not reach it.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPostmaster } from '../../infrastructure/embedded-postgres/postmaster.ts';

/**
 * Processes of the run notice its end first, and start no more servers. One that was just starting may do so
 * late on a busy machine, and create its folder again: therefore the sweep is repeated.
 */
const LOOKS_MS = [500, 2000, 5000] as const;

/** PostgreSQL ends at once on SIGQUIT, or kills its own processes after 5 s. */
const END_WAIT_MS = 10_000;

const POLL_MS = 50;

const folder = path.resolve(process.argv[2] ?? '');

async function endServer(cluster: string): Promise<void> {
  const deadline = Date.now() + END_WAIT_MS;
  while (Date.now() < deadline) {
    const server = await findPostmaster(cluster);
    if (server === undefined) return;
    endAtOnce(server.pid);
    await sleep(POLL_MS);
  }
}

function endAtOnce(pid: number): void {
  try {
    process.kill(pid, 'SIGQUIT');
  } catch (error) {
    // ESRCH: the process has just ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

async function sweep(): Promise<void> {
  if (!existsSync(folder)) return;
  for (const wait of LOOKS_MS) {
    await sleep(wait);
    if (existsSync(folder)) await remove();
  }
}

async function remove(): Promise<void> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => path.basename(name) === 'postmaster.pid')) {
    await endServer(path.join(folder, path.dirname(file)));
  }
  const beside = readdirSync(path.dirname(folder)).filter((name) => name.startsWith(path.basename(folder)));
  for (const name of beside) {
    rmSync(path.join(path.dirname(folder), name), { recursive: true, force: true, maxRetries: 10 });
  }
}

process.stdin.resume();
process.stdin.once('close', () => void sweep());
