import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from '../../infrastructure/clock.ts';

const shape = /^([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The milliseconds that an id contains. */
const millisecondsOf = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

afterEach(() => {
  jest.useRealTimers();
});

describe('the system clock', () => {
  it('returns milliseconds since the epoch', () => {
    const before = Date.now();
    const now = systemClock().now();
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
  });
});

describe('a generated id, a UUIDv7,', () => {
  const ids = (count: number): readonly string[] => {
    const clock = systemClock();
    return Array.from({ length: count }, () => clock.newId());
  };

  it('has the shape, version and variant of a UUIDv7', () => {
    for (const id of ids(2000)) expect(id).toMatch(shape);
  });

  it('is unique, within one clock and across two', () => {
    const all = [...ids(20_000), ...ids(20_000)];
    expect(new Set(all).size).toBe(all.length);
  });

  it('has the millisecond in which it was generated', () => {
    const before = Date.now();
    const [id] = ids(1);
    expect(millisecondsOf(id!)).toBeGreaterThanOrEqual(before);
    expect(millisecondsOf(id!)).toBeLessThanOrEqual(Date.now());
  });

  it.each([[0], [1], [1_700_000_000_000], [2 ** 47], [2 ** 48 - 1]])(
    'has the millisecond %d since the epoch',
    (now) => {
      jest.useFakeTimers({ now: 0 });
      const { newId } = systemClock();
      // Dates end before 2^48 milliseconds do; the id's field does not.
      jest.spyOn(Date, 'now').mockReturnValue(now);
      const id = newId();
      jest.restoreAllMocks();
      expect(id).toMatch(shape);
      expect(millisecondsOf(id)).toBe(now);
    },
  );

  it('sorts after ids of earlier milliseconds', () => {
    jest.useFakeTimers({ now: 1_700_000_000_000 });
    const { newId } = systemClock();
    const made = Array.from({ length: 300 }, () => {
      jest.advanceTimersByTime(1);
      return newId();
    });
    expect(made.toSorted()).toEqual(made);
  });

  it('uses all of its 74 random bits: each is seen set and clear', () => {
    const bits = ids(400).map((id) => BigInt(`0x${id.replaceAll('-', '').slice(12)}`));
    const ones = bits.reduce((all, each) => all | each, 0n);
    const zeros = bits.reduce((all, each) => all & each, (1n << 80n) - 1n);
    // The bits of version 0111 and variant 10 are constant, all others vary.
    expect((ones ^ zeros).toString(2).replaceAll('0', '')).toHaveLength(74);
  });
});
