/**
 * `npm run torture [-- --rounds N --seed S --from R --only TEXT --until FILE]`: injects one or two faults per
 * round into gateways, their database, their network and their upstream under load, and audits the ledger
 * after each. A failure is reported with seed and round: `--seed S --from R --rounds 1` repeats it. `--only`:
 * faults whose names contain the text; `--until`: no further round once this file exists. SIGTERM and SIGINT
 * end it after the round.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { numbersOf } from '../support/given-number.ts';
import { startSweeper } from '../support/swept-folder.ts';
import { torture } from './faults/torture.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '40' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    from: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    until: { type: 'string', default: '' },
    inside: { type: 'string' },
  },
});

const numbers = numbersOf(values, 'rounds', 'from', 'seed');

/** Root can mount private disks, which no other process sees and which disappear with the last process. */
const canMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;

const aFolder = (): Promise<string> => mkdtemp(path.join(os.tmpdir(), 'gateway-faults-'));
const signals = ['SIGTERM', 'SIGINT'] as const;

if (canMount && values.inside === undefined) {
  const folder = await aFolder();
  const own = [process.execPath, ...process.argv.slice(1), '--inside', folder];
  const child = spawn('unshare', ['--mount', '--propagation', 'private', ...own], { stdio: 'inherit' });
  for (const signal of signals) process.on(signal, () => void child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  await rm(folder, { recursive: true, force: true });
  process.exitCode = code ?? 1;
} else {
  await play(values.inside ?? (await aFolder()));
}

async function play(folder: string): Promise<void> {
  // Mounted disks make the sweeper fail; they disappear with the last process.
  startSweeper(folder, canMount ? 'ignore' : 'inherit');
  const stopped = new AbortController();
  for (const signal of signals) process.on(signal, () => stopped.abort());
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  try {
    const failed = await torture({
      folder,
      ...numbers,
      only: values.only,
      disks: canMount,
      say,
      // A file that is created when the machine is needed for something else.
      shouldContinue: () => !stopped.signal.aborted && (values.until === '' || !existsSync(values.until)),
    });
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}
