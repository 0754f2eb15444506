import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { sharedAnswer } from '../../infrastructure/shared-answer.ts';
import { undisturbed } from '../support/undisturbed.ts';

describe('a shared answer', () => {
  it('is obtained once for all calls while it is pending, and until it has reached its maximum age', async () => {
    await undisturbed(200, async () => {
      let asked = 0;
      const ask = sharedAnswer(1000, async () => {
        asked += 1;
        const answer = asked;
        await sleep(20);
        return answer;
      });
      expect(await Promise.all([ask(), ask(), ask()])).toEqual([1, 1, 1]);
      const oldAt = performance.now() + 1000;
      while (performance.now() < oldAt - 350) {
        expect(await ask()).toBe(1);
        await sleep(10);
      }
      await sleep(400);
      expect(await Promise.all([ask(), ask()])).toEqual([2, 2]);
      expect(asked).toBe(2);
    });
  });
});
