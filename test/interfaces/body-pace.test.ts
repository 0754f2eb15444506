import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { bodyPace } from '../../interfaces/http/body-pace.ts';

describe('the minimum pace of request bodies', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is checked by one timer for all bodies, which stops when no body is arriving', () => {
    const arrivals = bodyPace({ firstMs: 1000, bytesPerSec: 1000, lookMs: 100 });
    expect(jest.getTimerCount()).toBe(0);
    const bodies = [arrivals(() => undefined), arrivals(() => undefined), arrivals(() => undefined)];
    expect(jest.getTimerCount()).toBe(1);
    for (const { over } of bodies) over();
    jest.advanceTimersByTime(200);
    expect(jest.getTimerCount()).toBe(0);
    const stopped: string[] = [];
    arrivals(() => void stopped.push('late'));
    expect(jest.getTimerCount()).toBe(1);
    jest.advanceTimersByTime(1000);
    expect(stopped).toEqual(['late']);
  });

  it('does not accumulate time: after any number of bytes a silent body has its first time limit again', () => {
    const arrivals = bodyPace({ firstMs: 1000, bytesPerSec: 1000, lookMs: 100 });
    const stopped: string[] = [];
    arrivals(() => void stopped.push('silent now')).received(1_000_000);
    jest.advanceTimersByTime(1000);
    expect(stopped).toEqual([]);
    jest.advanceTimersByTime(100);
    expect(stopped).toEqual(['silent now']);
  });

  it('gives a body the time that its bytes take at the pace: at half of it, twice the first time', () => {
    const arrivals = bodyPace({ firstMs: 1000, bytesPerSec: 1000, lookMs: 100 });
    const stoppedAfter: number[] = [];
    const began = performance.now();
    const slow = arrivals(() => void stoppedAfter.push(performance.now() - began));
    for (let look = 0; look < 40; look += 1) {
      slow.received(50);
      jest.advanceTimersByTime(100);
    }
    expect(stoppedAfter).toEqual([2000]);
  });

  it('does not count time during which the process was blocked', () => {
    const arrivals = bodyPace({ firstMs: 1000, bytesPerSec: 1000, lookMs: 100 });
    const stopped: string[] = [];
    arrivals(() => void stopped.push('late'));
    jest.advanceTimersByTime(500);
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 10_000);
    jest.advanceTimersByTime(400);
    expect(stopped).toEqual([]);
    jest.advanceTimersByTime(200);
    expect(stopped).toEqual(['late']);
    clock.mockRestore();
  });

  it('stops a body that is too slow once, and does not stop a finished one', () => {
    const arrivals = bodyPace({ firstMs: 1000, bytesPerSec: 1000, lookMs: 100 });
    const stopped: string[] = [];
    arrivals(() => void stopped.push('silent'));
    const dripping = arrivals(() => void stopped.push('dripping'));
    arrivals(() => void stopped.push('over')).over();
    for (let at = 0; at < 30; at += 1) {
      dripping.received(at < 15 ? 100 : 0);
      jest.advanceTimersByTime(100);
    }
    expect(stopped).toEqual(['silent', 'dripping']);
    jest.advanceTimersByTime(5000);
    expect(stopped).toEqual(['silent', 'dripping']);
    expect(jest.getTimerCount()).toBe(0);
  });
});
