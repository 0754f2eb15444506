import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { daysWindow } from '../../../domain/reports/report-window.ts';
import { spendByDay, spendCohort } from '../../../domain/reports/spend-by-day.ts';
import { ownerKey, spendReport } from '../../../domain/reports/spend-report.ts';

const window = daysWindow(7, new Date('2026-03-10T12:00:00Z'));
const hourMs = 3_600_000;

/** Rollup rows: a bucket of twelve hours, an owner, a model and a cost. */
const rows = fc.array(
  fc.record({
    bucketStart: fc.nat(13).map((at) => new Date(window.from.getTime() + at * 12 * hourMs)),
    owner: fc.nat(8),
    model: fc.nat(8),
    cost: fc.nat(1000).map(BigInt),
  }),
  { maxLength: 60, size: 'max' },
);

const ownerOf = (n: number) => ({
  ownerKind: n % 2 === 0 ? ('user' as const) : ('team' as const),
  ownerId: `o${n}`,
  ownerName: `Owner ${n}`,
});

describe('spend by day', () => {
  it('has at most five owners and five models, all with spend, and its parts add up to each day', () => {
    fc.assert(
      fc.property(rows, (found) => {
        const usage = found.map((row) => ({ ...row, pricingStatus: 'priced' as const, requestCount: 1 }));
        const report = spendReport(window, {
          buckets: usage,
          owners: usage.map((row) => ({ ...row, ...ownerOf(row.owner) })),
          models: usage.map((row) => ({ ...row, modelKey: `m${row.model}` })),
        });
        const cohort = spendCohort(report);
        const days = spendByDay(report, cohort, {
          owners: found.map((row) => ({ ...row, key: ownerKey(ownerOf(row.owner)), spend: row.cost })),
          models: found.map((row) => ({ ...row, key: `m${row.model}`, spend: row.cost })),
        });
        for (const each of [...cohort.owners, ...cohort.models]) expect(each.spend).toBeGreaterThan(0n);
        const spenders = report.owners.filter(({ spend }) => spend > 0n);
        expect(cohort.owners).toEqual(spenders.slice(0, 5));
        expect(days.map(({ day }) => day)).toEqual(report.daily.map(({ day }) => day));
        for (const { spend, owners, models } of days)
          for (const { values, rest } of [owners, models]) {
            expect(values.reduce((sum, value) => sum + value, rest)).toBe(spend);
            expect(rest).toBeGreaterThanOrEqual(0n);
          }
        for (const [index, owner] of cohort.owners.entries())
          expect(days.reduce((sum, { owners }) => sum + (owners.values[index] ?? 0n), 0n)).toBe(owner.spend);
      }),
    );
  });
});
