import { describe, expect, it } from '@jest/globals';
import { ran, root } from '../deploy/files.ts';

/** Allocates until the young generation has grown, works on or not, and tells its size in MB before and after. */
const program = (works: boolean): string => `
  import { setImmediate, setTimeout } from 'node:timers/promises';
  import { getHeapSpaceStatistics } from 'node:v8';
  import { collectWhenIdle } from './infrastructure/idle-memory.ts';
  const size = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size / 1e6;
  const kept = new Array(50_000);
  const work = () => { for (let n = 0; n < 200_000; n += 1) kept[n % kept.length] = { values: [n, n + 1] }; };
  while (size() < 60) {
    work();
    await setImmediate();
  }
  const before = size();
  const memory = collectWhenIdle((error) => { throw error; }, 0.2);
  for (const end = performance.now() + 1500; performance.now() < end; ) {
    if (${works}) work();
    await setTimeout(20);
  }
  console.log(JSON.stringify({ before, after: size() }));
  await memory.stop();
`;

function sizes(works: boolean): { readonly before: number; readonly after: number } {
  const flags = ['--expose-gc', '--max-semi-space-size=64', '--input-type=module', '-e'];
  const { code, out, err } = ran(process.execPath, [...flags, program(works)], { cwd: root });
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as ReturnType<typeof sizes>;
}

describe('the young generation of a busy time', () => {
  it('is given back once there is hardly any work', () => {
    const { before, after } = sizes(false);
    expect(after).toBeLessThan(before / 2);
  });

  it('stays while there is work', () => {
    const { before, after } = sizes(true);
    expect(after).toBeGreaterThan(before / 2);
  });
});
