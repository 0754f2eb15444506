import { setImmediate as realTurn, setTimeout as realSleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { underTest } from './collector-bench.ts';

describe('on the real clock, a collector', () => {
  it('sends a second lane beside a slow batch, without a new arrival', async () => {
    for (let round = 0; round < 25; round += 1) {
      const { add, batches, fates, sent } = underTest();
      add('x:1');
      await realTurn();
      await realSleep(round % 5);
      add('y:1');
      const limit = performance.now() + 20_000;
      while (sent().length < 2 && performance.now() < limit) await realSleep(2);
      expect(sent()).toEqual([['x:1'], ['y:1']]);
      for (const batch of batches) batch.succeed();
      await realTurn();
      expect(fates.size).toBe(2);
    }
  });
});
