import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { atMostEach } from '../../composition/listeners.ts';

afterEach(() => void jest.restoreAllMocks());

describe('a notice limited to once a minute', () => {
  it('is given again after a minute, even if the wall clock was set back meanwhile', () => {
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
