import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { budgetWindow } from '../../../domain/budget/budget-window.ts';
import { aCadence, anInstant, cadences } from '../../support/arbitraries/budget.ts';

const day = 86_400_000;

describe('budget windows are in UTC', () => {
  it.each([
    ['daily', '2026-11-21T00:00:00.000Z', '2026-11-21', '2026-11-22'],
    ['daily', '2026-11-21T23:59:59.999Z', '2026-11-21', '2026-11-22'],
    ['daily', '2026-11-22T00:00:00.000Z', '2026-11-22', '2026-11-23'],
    ['daily', '2026-12-31T12:00:00.000Z', '2026-12-31', '2027-01-01'],
    ['daily', '2024-02-28T12:00:00.000Z', '2024-02-28', '2024-02-29'],
    ['daily', '2024-02-29T12:00:00.000Z', '2024-02-29', '2024-03-01'],
    ['daily', '2026-02-28T12:00:00.000Z', '2026-02-28', '2026-03-01'],
    ['daily', '2026-03-29T02:30:00.000Z', '2026-03-29', '2026-03-30'],
    ['weekly', '2026-11-16T00:00:00.000Z', '2026-11-16', '2026-11-23'],
    ['weekly', '2026-11-15T23:59:59.999Z', '2026-11-09', '2026-11-16'],
    ['weekly', '2026-11-21T12:00:00.000Z', '2026-11-16', '2026-11-23'],
    ['weekly', '2026-11-22T23:59:59.999Z', '2026-11-16', '2026-11-23'],
    ['weekly', '2027-01-01T00:00:00.000Z', '2026-12-28', '2027-01-04'],
    ['weekly', '2024-02-29T00:00:00.000Z', '2024-02-26', '2024-03-04'],
    ['weekly', '1970-01-01T00:00:00.000Z', '1969-12-29', '1970-01-05'],
    ['monthly', '2026-11-01T00:00:00.000Z', '2026-11-01', '2026-12-01'],
    ['monthly', '2026-11-30T23:59:59.999Z', '2026-11-01', '2026-12-01'],
    ['monthly', '2026-01-31T12:00:00.000Z', '2026-01-01', '2026-02-01'],
    ['monthly', '2026-12-31T23:59:59.999Z', '2026-12-01', '2027-01-01'],
    ['monthly', '2024-02-29T12:00:00.000Z', '2024-02-01', '2024-03-01'],
    ['monthly', '2000-02-29T12:00:00.000Z', '2000-02-01', '2000-03-01'],
    ['monthly', '2100-02-28T12:00:00.000Z', '2100-02-01', '2100-03-01'],
    ['monthly', '0099-12-31T12:00:00.000Z', '0099-12-01', '0100-01-01'],
    ['daily', '0000-02-29T12:00:00.000Z', '0000-02-29', '0000-03-01'],
    ['weekly', '0001-01-03T12:00:00.000Z', '0001-01-01', '0001-01-08'],
  ] as const)('%s: %s is in [%s, %s)', (cadence, at, from, until) => {
    expect(budgetWindow(cadence, new Date(at))).toEqual({
      from: new Date(`${from}T00:00:00.000Z`),
      until: new Date(`${until}T00:00:00.000Z`),
    });
  });
});

describe('budget windows tile time', () => {
  it('a window always contains the instant that it was computed for, as a half-open range', () => {
    fc.assert(
      fc.property(aCadence, anInstant, (cadence, at) => {
        const { from, until } = budgetWindow(cadence, at);
        return from <= at && at < until;
      }),
      { numRuns: 1000 },
    );
  });

  it('the end of a window is the start of the next, and its first and last instants belong to it', () => {
    fc.assert(
      fc.property(aCadence, anInstant, (cadence, at) => {
        const window = budgetWindow(cadence, at);
        expect(budgetWindow(cadence, window.until).from).toEqual(window.until);
        expect(budgetWindow(cadence, new Date(window.until.getTime() - 1))).toEqual(window);
        expect(budgetWindow(cadence, window.from)).toEqual(window);
      }),
      { numRuns: 500 },
    );
  });

  it('a window starts at 00:00:00: daily on any day, weekly on Monday, monthly on the first day', () => {
    fc.assert(
      fc.property(anInstant, (at) => {
        for (const cadence of cadences)
          expect(budgetWindow(cadence, at).from.toISOString()).toMatch(/T00:00:00\.000Z$/);
        expect(budgetWindow('weekly', at).from.getUTCDay()).toBe(1);
        expect(budgetWindow('monthly', at).from.getUTCDate()).toBe(1);
      }),
    );
  });

  it('a window lasts one day, seven days, or 28 to 31 days', () => {
    fc.assert(
      fc.property(anInstant, (at) => {
        const days = cadences.map((cadence) => {
          const { from, until } = budgetWindow(cadence, at);
          return (until.getTime() - from.getTime()) / day;
        });
        expect(days.slice(0, 2)).toEqual([1, 7]);
        expect([28, 29, 30, 31]).toContain(days[2]);
      }),
    );
  });
});
