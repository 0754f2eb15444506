import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { repeating } from '../../infrastructure/repeating.ts';

describe('repeating work', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('runs again the given number of seconds after the previous run ended, and never in parallel', async () => {
    const ends: (() => void)[] = [];
    const work = repeating(
      () => 2,
      () => new Promise((resolve) => void ends.push(resolve)),
      () => undefined,
    );
    expect(ends).toHaveLength(0);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(ends).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(ends).toHaveLength(1);
    ends[0]?.();
    await jest.advanceTimersByTimeAsync(1_999);
    expect(ends).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(ends).toHaveLength(2);
    ends[1]?.();
    await work.stop();
  });

  it('reports a failed run, and runs again', async () => {
    let runs = 0;
    const faults: unknown[] = [];
    const work = repeating(
      () => 1,
      async () => {
        runs += 1;
        throw new Error(`run ${runs}`);
      },
      (error) => void faults.push(error),
    );
    await jest.advanceTimersByTimeAsync(3_000);
    await work.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(faults).toEqual([new Error('run 1'), new Error('run 2'), new Error('run 3')]);
  });

  it('tells the current run to end when it is stopped, and waits for it', async () => {
    let end: () => void = () => undefined;
    let asked = (): boolean => true;
    let runs = 0;
    const work = repeating(
      () => 1,
      (shouldContinue) => {
        runs += 1;
        asked = shouldContinue;
        return new Promise((resolve) => {
          end = resolve;
        });
      },
      () => undefined,
    );
    await jest.advanceTimersByTimeAsync(1_000);
    expect(asked()).toBe(true);
    let stopped = false;
    const stopping = work.stop().then(() => (stopped = true));
    await jest.advanceTimersByTimeAsync(5_000);
    expect([asked(), stopped]).toEqual([false, false]);
    end();
    await stopping;
    await jest.advanceTimersByTimeAsync(10_000);
    expect(runs).toBe(1);
  });

  it('never runs when it is stopped before its first run', async () => {
    let runs = 0;
    const work = repeating(
      () => 1,
      async () => void (runs += 1),
      () => undefined,
    );
    await work.stop();
    await jest.advanceTimersByTimeAsync(10_000);
    expect(runs).toBe(0);
  });
});
