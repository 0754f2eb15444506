import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isPurgeDue, purgeCutoff, retentions } from '../../../domain/request-log/retention.ts';

const anInstant = fc.date({
  min: new Date('1970-01-01'),
  max: new Date('2299-12-31'),
  noInvalidDate: true,
});
const hour = 3_600_000;
const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

describe('retention windows', () => {
  it('are 1d, 3d and 7d', () => expect(retentions).toEqual(['1d', '3d', '7d']));

  it.each([
    ['1d', '2028-03-01T12:30:00.500Z', '2028-02-29T12:30:00.500Z'],
    ['3d', '2028-03-01T12:30:00.500Z', '2028-02-27T12:30:00.500Z'],
    ['7d', '2028-01-03T00:00:00.000Z', '2027-12-27T00:00:00.000Z'],
  ] as const)('%s at %s keep rows since %s', (retention, now, cutoff) => {
    expect(purgeCutoff(retention, new Date(now))).toEqual(new Date(cutoff));
  });

  it('are multiples of 24 hours, whatever the calendar', () =>
    fc.assert(
      fc.property(fc.constantFrom(...retentions), anInstant, (retention, now) => {
        const age = now.getTime() - purgeCutoff(retention, now).getTime();
        expect(age).toBe(24 * hour * Number(retention.slice(0, -1)));
      }),
    ));
});

describe('the limit of one purge per UTC day', () => {
  it.each([
    [[], '2028-03-01T00:00:00.000Z', true],
    [['2028-03-01T00:00:00.000Z'], '2028-03-01T00:00:00.000Z', false],
    [['2028-03-01T00:00:00.000Z'], '2028-03-01T23:59:59.999Z', false],
    [['2028-03-01T23:59:59.999Z'], '2028-03-02T00:00:00.000Z', true],
    [['2028-03-01T00:00:00.000Z', '2028-03-02T00:00:00.000Z'], '2028-03-01T23:59:59.999Z', false],
    [['2028-02-29T12:00:00.000Z'], '2029-02-28T12:00:00.000Z', true],
    // The clock was a year ahead.
    [['2028-02-29T00:00:00.000Z', '2029-03-01T00:00:00.000Z'], '2028-03-01T00:00:00.000Z', true],
  ])('after purges at %j, one at %s is due: %s', (purges: readonly string[], now, due) => {
    expect(
      isPurgeDue(
        purges.map((at) => new Date(at)),
        new Date(now),
      ),
    ).toBe(due);
  });

  it('allows at most one purge per day, whatever the schedule and the clock do', () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1e12 }),
        fc.array(fc.integer({ min: -30 * hour, max: 30 * hour }), { maxLength: 60, size: 'max' }),
        (start, steps) => {
          const purges: Date[] = [];
          let now = start;
          for (const step of steps) {
            now = Math.max(0, now + step);
            const at = new Date(now);
            if (isPurgeDue(purges, at)) purges.push(at);
          }
          expect(new Set(purges.map(dayOf)).size).toBe(purges.length);
        },
      ),
    ));

  it('never prevents the first purge of a day', () =>
    fc.assert(
      fc.property(anInstant, anInstant, (purge, now) => {
        expect(isPurgeDue([purge], now)).toBe(dayOf(purge) !== dayOf(now));
      }),
    ));
});
