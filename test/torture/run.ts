/**
 * `npm run torture [-- --rounds N --seed S --from R --only TEXT --until FILE]`: gateways, their database, their network and their
 * upstream are broken under load, one fault or two of them in each round, and the books are looked at after each.
 * What fails says its seed and round: `--seed S --from R --rounds 1` repeats it. `--only`: faults with this in their
 * names; `--until`: no further round once this file is there. SIGTERM and SIGINT end it after the round.
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

/** Root can mount disks of its own, where nobody else sees them, and they go when the last process has ended. */
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
  // Disks that are still mounted are in its way; they go with the last process.
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
      // A file that appears when the machine is wanted for something else.
      shouldContinue: () => !stopped.signal.aborted && (values.until === '' || !existsSync(values.until)),
    });
    process.exitCode = failed === 0 ? 0 : 1;
  } finally {
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}
