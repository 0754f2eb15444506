import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxTriesHere, throttle, throttleWindowMs } from '../../../domain/identity/login-throttle.ts';

const now = Date.UTC(2026, 0, 1);
const tries = (here: number, anywhere: number, ageMs = 0) => ({
  here,
  anywhere,
  firstHereAt: now - ageMs,
  now,
});
const aCount = fc.integer({ min: 1, max: 1_000_000 });
const anAge = fc.integer({ min: 0, max: throttleWindowMs - 1 });

describe('failed logins are throttled per account and address', () => {
  it('ten attempts are admitted, and the eleventh is refused until the window ends', () => {
    expect(throttle(tries(10, 10)).kind).toBe('admitted');
    expect(throttle(tries(11, 11, 60_000))).toEqual({ kind: 'refused', retryAfterSecs: 14 * 60 });
  });

  it('Retry-After is the smallest whole number of seconds after which the window has ended', () => {
    fc.assert(
      fc.property(aCount, anAge, (more, age) => {
        const verdict = throttle(tries(maxTriesHere + more, maxTriesHere + more, age));
        if (verdict.kind !== 'refused') throw new Error('admitted');
        const { retryAfterSecs } = verdict;
        expect(Number.isInteger(retryAfterSecs)).toBe(true);
        expect(retryAfterSecs * 1000).toBeGreaterThanOrEqual(throttleWindowMs - age);
        expect(retryAfterSecs).toBeGreaterThanOrEqual(1);
        expect((retryAfterSecs - 1) * 1000).toBeLessThan(throttleWindowMs - age);
      }),
    );
  });
});

describe('failed logins per account are only delayed', () => {
  it('an address with at most ten attempts is never refused, regardless of failures elsewhere', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: maxTriesHere }), aCount, anAge, (here, elsewhere, age) => {
        expect(throttle(tries(here, here + elsewhere, age)).kind).toBe('admitted');
      }),
    );
  });

  it('the delay grows with the failures up to 2 s', () => {
    const delays = Array.from({ length: 40 }, (_, failures) => {
      const verdict = throttle(tries(1, failures + 1));
      return verdict.kind === 'admitted' ? verdict.delayMs : Number.NaN;
    });
    expect(delays.slice(0, 11)).toEqual([0, 0, 0, 0, 0, 100, 200, 400, 800, 1600, 2000]);
    expect(delays).toEqual(delays.toSorted((a, b) => a - b));
    expect(Math.max(...delays)).toBe(2000);
  });

  it('the first five attempts are not delayed', () => {
    for (const anywhere of [1, 2, 5]) expect(throttle(tries(1, anywhere))).toMatchObject({ delayMs: 0 });
  });
});
