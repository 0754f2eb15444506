import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { countsTowardSpend } from '../../../domain/ledger/usage-cost-event.ts';
import { bucketStarts, daysWindow } from '../../../domain/reports/report-window.ts';
import { type LedgerUsage, type Tally, spendReport } from '../../../domain/reports/spend-report.ts';
import { aStatus, someSpend, statuses } from './arbitrary-usage.ts';

const window = daysWindow(7, new Date('2028-03-01T09:00:00Z'));
const buckets = bucketStarts(window);

/** Ledger rows, and the three groupings of them that a store returns. */
const aLedger = fc
  .array(
    fc.record({
      bucketStart: fc.constantFrom(...buckets),
      ownerKind: fc.constantFrom('user' as const, 'team' as const),
      ownerId: fc.constantFrom('o-1', 'o-2', 'o-3'),
      modelKey: fc.constantFrom('fast', 'large', 'small'),
      pricingStatus: aStatus,
      requestCount: fc.constant(1),
      cost: someSpend,
    }),
    { maxLength: 60, size: 'max' },
  )
  .map((rows) => ({ rows, usage: cutsOf(rows) }));

type Row = LedgerUsage['buckets'][number] &
  Omit<LedgerUsage['owners'][number], 'ownerName'> &
  LedgerUsage['models'][number];

const cutsOf = (rows: readonly Row[]): LedgerUsage => ({
  buckets: rows,
  owners: rows.map((row) => ({ ...row, ownerName: `name of ${row.ownerKind}` })),
  models: rows,
});

const sums = (tallies: readonly Tally[]) => ({
  requestCount: tallies.reduce((sum, { requestCount }) => sum + requestCount, 0),
  spend: tallies.reduce((sum, { spend }) => sum + spend, 0n),
  counts: Object.fromEntries(
    statuses.map((status) => [status, tallies.reduce((sum, { counts }) => sum + counts[status], 0)]),
  ),
});

/** What a report has to say of these rows, in which each is one request. */
const tallyOf = (rows: readonly Row[]) => ({
  requestCount: rows.length,
  spend: rows.reduce((sum, row) => (countsTowardSpend[row.pricingStatus] ? sum + row.cost : sum), 0n),
  counts: Object.fromEntries(
    statuses.map((status) => [status, rows.filter((row) => row.pricingStatus === status).length]),
  ),
});

describe('the spend report', () => {
  it('has totals and breakdowns that add up to the ledger, with the spend of rows that count only', () => {
    fc.assert(
      fc.property(aLedger, ({ rows, usage }) => {
        const report = spendReport(window, usage);
        expect(report.totals).toEqual(tallyOf(rows));
        for (const part of [report.daily, report.owners, report.models])
          expect(sums(part)).toEqual(report.totals);
      }),
    );
  });

  it('has each day, owner and model once, each with its own requests, spend and counts', () => {
    fc.assert(
      fc.property(aLedger, ({ rows, usage }) => {
        const { daily, owners, models } = spendReport(window, usage);
        expect(daily.map(({ day }) => day.toISOString().slice(0, 10))).toEqual([
          '2028-02-24',
          '2028-02-25',
          '2028-02-26',
          '2028-02-27',
          '2028-02-28',
          '2028-02-29',
          '2028-03-01',
        ]);
        const textOf = (date: Date): string => date.toISOString().slice(0, 10);
        for (const { day, ...tally } of daily)
          expect(tally).toEqual(tallyOf(rows.filter((row) => textOf(row.bucketStart) === textOf(day))));
        const ownersOf = (all: readonly Pick<Row, 'ownerKind' | 'ownerId'>[]): readonly string[] =>
          all.map(({ ownerKind, ownerId }) => `${ownerKind} ${ownerId}`);
        expect(ownersOf(owners).toSorted()).toEqual([...new Set(ownersOf(rows))].toSorted());
        for (const { ownerKind, ownerId, ownerName, ...tally } of owners) {
          const own = rows.filter((row) => row.ownerKind === ownerKind && row.ownerId === ownerId);
          expect({ ownerName, ...tally }).toEqual({ ownerName: `name of ${ownerKind}`, ...tallyOf(own) });
        }
        expect(models.map(({ modelKey }) => modelKey).toSorted()).toEqual(
          [...new Set(rows.map(({ modelKey }) => modelKey))].toSorted(),
        );
        for (const { modelKey, ...tally } of models)
          expect(tally).toEqual(tallyOf(rows.filter((row) => row.modelKey === modelKey)));
      }),
    );
  });

  it('sorts owners by spend, then requests, then name, then kind and id, and models by spend, then requests, then key', () => {
    const row = (
      ownerId: string,
      ownerName: string,
      modelKey: string,
      requestCount: number,
      cost: bigint,
    ) => ({
      bucketStart: buckets[0]!,
      ownerKind: 'user' as const,
      ownerId,
      ownerName,
      modelKey,
      pricingStatus: 'priced' as const,
      requestCount,
      cost,
    });
    const rows = [
      row('u-1', 'Zoe', 'd', 1, 1n),
      row('u-2', 'Ann', 'c', 1, 1n),
      row('u-4', 'Zoe', 'b', 2, 1n),
      row('u-3', 'Zoe', 'a', 1, 9n),
    ];
    const [zoe] = rows;
    const namesakes = [
      { ...zoe!, ownerId: 'u-0' },
      { ...zoe!, ownerId: 'u-9', ownerKind: 'team' as const },
    ];
    const { owners, models } = spendReport(window, {
      buckets: rows,
      owners: [...rows, ...namesakes],
      models: rows,
    });
    expect(owners.map(({ ownerId }) => ownerId)).toEqual(['u-3', 'u-4', 'u-2', 'u-9', 'u-0', 'u-1']);
    expect(models.map(({ modelKey }) => modelKey)).toEqual(['a', 'b', 'c', 'd']);
  });
});
