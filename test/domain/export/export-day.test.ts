import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { exportDays, readExportDay, firstOpenDay, windowOfDay } from '../../../domain/export/export-day.ts';

describe('a day of an export', () => {
  it.each(['2026-02-30', '2026-2-01', '26-02-01', '2026-02-01T00:00:00Z', '2026-13-01', '', '2025-02-29'])(
    'is not valid: %s',
    (text) => {
      expect(readExportDay(text)).toBeUndefined();
    },
  );

  it('is complete one minute after its end by the database clock', () => {
    expect(firstOpenDay(new Date('2026-11-02T00:00:59.999Z'))).toBe('2026-11-01');
    expect(firstOpenDay(new Date('2026-11-02T00:01:00.000Z'))).toBe('2026-11-02');
  });

  it('is one of a half-open range, whose days are consecutive and 24 hours long', () =>
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 0, max: 400 }), (first, count) => {
        const day = (index: number): string => new Date(index * 86_400_000).toISOString().slice(0, 10);
        const days = exportDays(day(first), day(first + count)) ?? [];
        expect(days).toHaveLength(count);
        expect(days.map((each) => windowOfDay(each).from.getTime())).toEqual(
          days.map((_, index) => (first + index) * 86_400_000),
        );
        for (const each of days) {
          const { from, until } = windowOfDay(each);
          expect(until.getTime() - from.getTime()).toBe(86_400_000);
          expect(readExportDay(each)).toBe(each);
        }
      }),
    ));

  it('is one of a range of ten years, but not of one that is a few days longer', () => {
    expect(exportDays('2016-01-01', '2026-01-01')).toHaveLength(3653);
    expect(exportDays('2016-01-01', '2026-01-09')).toBeUndefined();
    expect(exportDays('2006-01-01', '2026-01-01')).toBeUndefined();
  });
});
