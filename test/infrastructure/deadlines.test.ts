import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Deadlines, type Timed } from '../../infrastructure/providers/deadlines.ts';

/** A call with a deadline `lastsMs` and an end `endsMs` from now, which leaves when it expires. */
function callOf(deadlines: Deadlines, lastsMs: number, endsMs = Number.POSITIVE_INFINITY) {
  const call: Timed & { expired: number; leave: () => void } = {
    deadlineAt: performance.now() + lastsMs,
    endAt: performance.now() + endsMs,
    expired: 0,
    leave: () => undefined,
    expire: () => {
      call.expired += 1;
      call.leave();
    },
  };
  call.leave = deadlines.add(call);
  return call;
}

describe('the deadlines of calls', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('share one timer, which is cleared when no call is in flight', () => {
    const deadlines = new Deadlines();
    expect(jest.getTimerCount()).toBe(0);
    const [first, second] = [callOf(deadlines, 60_000), callOf(deadlines, 60_000)];
    expect(jest.getTimerCount()).toBe(1);
    first.leave();
    first.leave();
    expect(jest.getTimerCount()).toBe(1);
    second.leave();
    second.leave();
    expect(jest.getTimerCount()).toBe(0);
    callOf(deadlines, 60_000);
    expect(jest.getTimerCount()).toBe(1);
  });

  it('expire their calls once, except those that have left', () => {
    const deadlines = new Deadlines();
    const [over, due, lasting, ending] = [
      callOf(deadlines, 1000),
      callOf(deadlines, 1000),
      callOf(deadlines, 60_000),
      callOf(deadlines, 60_000, 1000),
    ];
    over.leave();
    jest.advanceTimersByTime(900);
    expect([over, due, lasting, ending].map(({ expired }) => expired)).toEqual([0, 0, 0, 0]);
    jest.advanceTimersByTime(200);
    expect([over, due, lasting, ending].map(({ expired }) => expired)).toEqual([0, 1, 0, 1]);
    jest.advanceTimersByTime(59_000);
    expect([over, due, lasting, ending].map(({ expired }) => expired)).toEqual([0, 1, 1, 1]);
  });

  it('are made earlier by `endAll`, for present and later calls, and never later', () => {
    const deadlines = new Deadlines();
    const [long, short] = [callOf(deadlines, 60_000), callOf(deadlines, 1000)];
    deadlines.endAll(5000);
    const late = callOf(deadlines, 60_000);
    jest.advanceTimersByTime(1100);
    expect([long, short, late].map(({ expired }) => expired)).toEqual([0, 1, 0]);
    jest.advanceTimersByTime(4000);
    expect([long, short, late].map(({ expired }) => expired)).toEqual([1, 1, 1]);
  });
});
