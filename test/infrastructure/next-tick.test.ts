import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from '@jest/globals';

const keeping = path.join(import.meta.dirname, '..', '..', 'infrastructure', 'next-tick.ts');

/** CPU time of one tick, in ns, in a process that was warm and was garbage-collected while it was idle. */
const tickAfterCollection = (start: string): number => {
  const script = `
    ${start}
    const { setTimeout: sleep } = await import('node:timers/promises');
    const ticks = (count) => new Promise((resolve) => {
      const next = () => (count-- > 0 ? process.nextTick(next) : resolve());
      next();
    });
    const warm = async () => { for (let round = 0; round < 4; round += 1) { await ticks(100_000); await sleep(5); } };
    const collected = async () => { gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }); await sleep(20); };
    await warm();
    await collected();
    await collected();
    await warm();
    const before = process.cpuUsage();
    await ticks(500_000);
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 500);`;
  const flags = ['--expose-gc', '--input-type=module', '--eval', script];
  return Number(execFileSync(process.execPath, flags, { encoding: 'utf8' }));
};

test('`keepNextTickFast` at least halves the cost of a tick after a garbage collection while idle', () => {
  const kept = tickAfterCollection(`(await import(${JSON.stringify(keeping)})).keepNextTickFast();`);
  expect(kept).toBeLessThan(tickAfterCollection('') / 2);
});
