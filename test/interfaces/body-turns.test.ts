import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { type BodyTurns, bodyTurns } from '../../interfaces/http/body-turns.ts';

const kib = 1024;
const atOnce: BodyTurns = () => undefined;

/** Presents all bodies in this turn of the event loop, and returns which ones began in which later turn. */
async function begun(turns: BodyTurns, sizes: readonly number[], work = (): void => undefined) {
  const perTurn: number[][] = [[]];
  const all = sizes.map(async (bytes, index) => {
    const own = turns(bytes);
    if (own !== undefined) await own;
    work();
    perTurn.at(-1)?.push(index);
  });
  while (perTurn.flat().length < sizes.length) {
    perTurn.push([]);
    await turn();
  }
  await Promise.all(all);
  return perTurn.filter((each) => each.length > 0);
}

/** The most of this thread's time that passes before other work has a turn: the time of others does not count. */
async function longestTurn(turns: BodyTurns): Promise<number> {
  const text = JSON.stringify(
    Array.from({ length: 4000 }, (_, index) => ({ index, text: 'word '.repeat(3) })),
  );
  const used = (): number => {
    const { user, system } = process.threadCpuUsage();
    return user + system;
  };
  let longest = 0;
  let since = used();
  const over = new AbortController();
  const watch = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await turn();
      longest = Math.max(longest, used() - since);
      since = used();
    }
  };
  const watching = watch();
  await begun(
    turns,
    Array.from({ length: 100 }, () => 100 * kib),
    () => void JSON.parse(text),
  );
  over.abort();
  await watching;
  return longest;
}

describe('requests whose bodies arrive at one instant', () => {
  it('begin in their order, after each mebibyte in a turn of their own', async () => {
    const sizes = [800, 160, 160, 480, 480, 480, 32, 4000, 1].map((each) => each * kib);
    expect(await begun(bodyTurns(), sizes)).toEqual([[0, 1, 2], [3, 4, 5], [6, 7], [8]]);
  });

  it('begin at once if they are small, but not before a larger one that waits', async () => {
    const turns = bodyTurns();
    expect(Array.from({ length: 1000 }, () => turns(0)).every((each) => each === undefined)).toBe(true);
    expect(await begun(turns, [1600 * kib, 1600 * kib, 0, 0, 1 * kib])).toEqual([[0], [1], [2, 3, 4]]);
  });

  it('wait for no turn that is over', async () => {
    const turns = bodyTurns();
    for (let round = 0; round < 3; round += 1) {
      expect(turns(1600 * kib)).toBeUndefined();
      await turn();
      await turn();
    }
  });

  it('hold up the event loop for a fraction of the time that they would take at once', async () => {
    // The least of several: a collection of garbage may fall into any of them.
    const longest: number[] = [];
    for (let round = 0; round < 5; round += 1) longest.push(await longestTurn(bodyTurns()));
    expect(Math.min(...longest)).toBeLessThan((await longestTurn(atOnce)) / 4);
  });
});
