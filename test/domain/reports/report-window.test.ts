import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  bucketStarts,
  bucketsOf,
  dayStart,
  dayStarts,
  daysWindow,
  rangeWindow,
} from '../../../domain/reports/report-window.ts';
import { anInstant } from './arbitrary-usage.ts';

const halfDay = 43_200_000;
const aRange = fc.constantFrom('7d' as const, '31d' as const);
const someDays = fc.constantFrom(7 as const, 30 as const);

describe('the window of a range', () => {
  it.each([
    ['7d', '2028-03-01T11:59:59.999Z', '2028-02-23T12:00:00Z', '2028-03-01T12:00:00Z'],
    ['7d', '2028-03-01T12:00:00.000Z', '2028-02-24T00:00:00Z', '2028-03-02T00:00:00Z'],
    ['31d', '2028-03-01T00:00:00.000Z', '2028-01-30T12:00:00Z', '2028-03-01T12:00:00Z'],
  ] as const)('%s at %s is from %s until %s', (range, now, from, until) => {
    expect(rangeWindow(range, new Date(now))).toEqual({ from: new Date(from), until: new Date(until) });
  });

  it('has 14 or 62 UTC buckets of 12 hours without gaps, and the last one contains now', () => {
    fc.assert(
      fc.property(aRange, anInstant, (range, now) => {
        const window = rangeWindow(range, now);
        const starts = bucketStarts(window).map((start) => start.getTime());
        expect(starts).toHaveLength(bucketsOf[range]);
        expect(starts[0]).toBe(window.from.getTime());
        for (const [index, start] of starts.entries()) {
          expect(new Date(start).toISOString()).toMatch(/T(?:00|12):00:00\.000Z$/);
          expect(start + halfDay).toBe(starts[index + 1] ?? window.until.getTime());
        }
        expect(now.getTime()).toBeGreaterThanOrEqual(starts.at(-1)!);
        expect(now.getTime()).toBeLessThan(window.until.getTime());
      }),
    );
  });
});

describe('the window of N days', () => {
  it.each([
    [7, '2028-03-01T23:59:59.999Z', '2028-02-24', '2028-03-02'],
    [30, '2028-03-01T00:00:00.000Z', '2028-02-01', '2028-03-02'],
  ] as const)('%s at %s is from %s until %s', (days, now, from, until) => {
    expect(daysWindow(days, new Date(now))).toEqual({ from: new Date(from), until: new Date(until) });
  });

  it('has N full UTC days without gaps, and the last one is today', () => {
    fc.assert(
      fc.property(someDays, anInstant, (days, now) => {
        const window = daysWindow(days, now);
        const starts = dayStarts(window).map((start) => start.getTime());
        expect(starts).toHaveLength(days);
        expect(starts[0]).toBe(window.from.getTime());
        for (const [index, start] of starts.entries()) {
          expect(new Date(start).toISOString()).toMatch(/T00:00:00\.000Z$/);
          expect(start + 2 * halfDay).toBe(starts[index + 1] ?? window.until.getTime());
        }
        const today = now.toISOString().slice(0, 10);
        expect(new Date(starts.at(-1)!).toISOString()).toBe(`${today}T00:00:00.000Z`);
        expect(dayStart(now).getTime()).toBe(starts.at(-1));
      }),
    );
  });
});
