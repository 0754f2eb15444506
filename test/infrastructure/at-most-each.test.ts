import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { atMostEach } from '../../composition/listeners.ts';

afterEach(() => void jest.restoreAllMocks());

describe('what is told at most once in a minute', () => {
  it('is told again when the minute is over, also where the clock on the wall was put back meanwhile', () => {
    const wall = jest.spyOn(Date, 'now');
    const passed = jest.spyOn(performance, 'now').mockReturnValue(0);
    let told = 0;
    const tell = atMostEach(60_000, () => {
      told += 1;
    });
    tell();
    passed.mockReturnValue(59_999);
    tell();
    expect(told).toBe(1);
    wall.mockReturnValue(0);
    passed.mockReturnValue(60_000);
    tell();
    expect(told).toBe(2);
  });
});
