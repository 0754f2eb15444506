import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Discovered } from '../../infrastructure/sign-in/discovered.ts';

afterEach(() => {
  jest.restoreAllMocks();
  jest.useRealTimers();
});

const minute = 60_000;
const hour = 60 * minute;

/** An identity provider with a clock: how often it was asked, and whether it answers. */
function scene() {
  const state = { now: 0, asked: 0, isThere: true };
  const discovered = new Discovered(
    async () => {
      state.asked += 1;
      await Promise.resolve();
      if (!state.isThere) throw new Error('away');
      return state.asked;
    },
    () => state.now,
  );
  return { state, discovered };
}

describe('the metadata of an identity provider', () => {
  it('is fetched once for concurrent callers, and cached for an hour', async () => {
    const { state, discovered } = scene();
    expect(await Promise.all([discovered.current(), discovered.current(), discovered.current()])).toEqual([
      1, 1, 1,
    ]);
    state.now = hour - 1;
    expect(await discovered.current()).toBe(1);
    state.now = hour;
    expect(await discovered.current()).toBe(2);
  });

  it('is used for at most a day while the provider is unreachable', async () => {
    const { state, discovered } = scene();
    await discovered.current();
    state.isThere = false;
    state.now = 24 * hour - minute;
    expect(await discovered.current()).toBe(1);
    state.now = 24 * hour;
    await expect(discovered.current()).rejects.toThrow('away');
    state.isThere = true;
    state.now += minute;
    expect(await discovered.current()).toBe(state.asked);
  });

  it('is fetched again when it is doubted, and kept if that fails', async () => {
    const { state, discovered } = scene();
    discovered.doubt();
    expect(await discovered.current()).toBe(1);
    discovered.doubt();
    state.isThere = false;
    expect(await discovered.current()).toBe(1);
    state.isThere = true;
    state.now = minute;
    expect([await discovered.current(), await discovered.current()]).toEqual([3, 3]);
  });

  it('is not fetched again within a second after a failure', async () => {
    const { state, discovered } = scene();
    state.isThere = false;
    for (let each = 0; each < 3; each += 1) await expect(discovered.current()).rejects.toThrow('away');
    expect(state.asked).toBe(1);
    state.now = 1000;
    await expect(discovered.current()).rejects.toThrow('away');
    expect(state.asked).toBe(2);
  });

  it('is fetched again a second after a failure, even if the clock was set back meanwhile', async () => {
    jest.useFakeTimers();
    const clock = jest.spyOn(Date, 'now').mockReturnValue(hour);
    let asked = 0;
    const discovered = new Discovered(async () => {
      asked += 1;
      if (asked === 1) throw new Error('away');
      return asked;
    });
    await expect(discovered.current()).rejects.toThrow('away');
    jest.advanceTimersByTime(1000);
    clock.mockReturnValue(0);
    expect(await discovered.current()).toBe(2);
  });
});
