import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { LiveList } from '../../../domain/shared/live-list.ts';

describe('a live list', () => {
  it('holds exactly the values that were added and not removed', () => {
    const steps = fc.array(
      fc.oneof(
        fc.constant('add' as const),
        fc.record({ leave: fc.nat({ max: 30 }), times: fc.integer({ min: 1, max: 2 }) }),
      ),
    );
    fc.assert(
      fc.property(steps, (given) => {
        const list = new LiveList<number>();
        const leaves: (() => void)[] = [];
        const there = new Set<number>();
        for (const step of given) {
          if (step === 'add') {
            there.add(leaves.length);
            leaves.push(list.add(leaves.length));
          } else {
            for (let time = 0; time < step.times; time += 1) leaves[step.leave]?.();
            there.delete(step.leave);
          }
          expect(list.size).toBe(there.size);
          expect(list.values().toSorted((a, b) => a - b)).toEqual([...there].toSorted((a, b) => a - b));
        }
      }),
    );
  });

  it('may be changed while its values are iterated', () => {
    const list = new LiveList<() => void>();
    const seen: string[] = [];
    const leave = list.add(() => {
      leave();
      list.add(() => void seen.push('late'));
      seen.push('first');
    });
    list.add(() => void seen.push('second'));
    for (const value of list.values()) value();
    expect(seen).toEqual(['first', 'second']);
    expect(list.size).toBe(2);
  });

  it('keeps no removed values in the old generation of the heap', () => {
    const [ofList, ofSet] = [keptBytes('list'), keptBytes('set')];
    expect(ofList).toBeLessThan(5_000_000);
    // The list is needed only as long as a Set keeps much more.
    expect(ofSet).toBeGreaterThan(3 * ofList);
  });
});

/** Growth of the old generation, in bytes, while 20,000 values of 4 KB were added and removed, 32 at a time. */
function keptBytes(kind: 'list' | 'set'): number {
  const listUrl = pathToFileURL(path.join(import.meta.dirname, '../../../domain/shared/live-list.ts')).href;
  const program = `
    import { setImmediate as turn } from 'node:timers/promises';
    import v8 from 'node:v8';
    import { LiveList } from ${JSON.stringify(listUrl)};
    const [list, set] = [new LiveList(), new Set()];
    const add = ${kind === 'list' ? '(it) => list.add(it)' : '(it) => (set.add(it), () => void set.delete(it))'};
    const old = () => v8.getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size;
    let begun = 0;
    let most = 0;
    const caller = async () => {
      while (begun < 20_000) {
        begun += 1;
        const leave = add({ bytes: new Array(500).fill(begun) });
        await turn();
        await turn();
        leave();
        if (begun % 100 === 0) most = Math.max(most, old());
      }
    };
    const before = old();
    await Promise.all(Array.from({ length: 32 }, caller));
    process.stdout.write(String(most - before));
  `;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--max-semi-space-size=8', '--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}
