import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type BucketSpend,
  chartCohort,
  leaderboard,
  standings,
  type UserModelUsage,
  type UserToolCounts,
} from '../../../domain/reports/leaderboard.ts';
import { bucketStarts, rangeWindow } from '../../../domain/reports/report-window.ts';
import { anInstant, someSpend, someUserModelUsage } from './arbitrary-usage.ts';

const usage = (
  userId: string,
  userName: string,
  requestCount: number,
  spend: bigint,
  modelKey = 'fast',
): UserModelUsage => ({ userId, userName, requestCount, spend, modelKey });

const idsOf = (rows: readonly { readonly userId: string }[]): readonly string[] =>
  rows.map(({ userId }) => userId);

const at = new Date('2028-03-01T11:59:59.999Z');
const window = rangeWindow('7d', at);

describe('the ranking of users', () => {
  it('is by total spend, then request count, then user name, then user id', () => {
    const rows = [
      usage('u-1', 'Zoe', 9, 1n),
      usage('u-2', 'Bea', 1, 5n),
      usage('u-3', 'Ann', 2, 5n),
      usage('u-4', 'Ann', 1, 5n),
      usage('u-6', 'Ann', 1, 5n),
      usage('u-5', 'Ann', 1, 5n),
      usage('u-7', 'Ann', 99, 0n),
      usage('u-8', 'Zoe', 1, 3n, 'fast'),
      usage('u-8', 'Zoe', 1, 3n, 'large'),
    ];
    expect(standings(rows).map(({ rank, userId }) => `${rank} ${userId}`)).toEqual([
      '1 u-8',
      '2 u-3',
      '3 u-4',
      '4 u-5',
      '5 u-6',
      '6 u-2',
      '7 u-1',
      '8 u-7',
    ]);
  });

  it('does not depend on the order of the rows', () => {
    fc.assert(
      fc.property(
        someUserModelUsage.chain((rows) =>
          fc.tuple(fc.constant(rows), fc.shuffledSubarray([...rows], { minLength: rows.length })),
        ),
        ([rows, shuffled]) => expect(standings(shuffled)).toEqual(standings(rows)),
      ),
    );
  });

  it('has the top 30 users, and the chart has the top 5 of them', () => {
    fc.assert(
      fc.property(someUserModelUsage, (rows) => {
        const table = standings(rows);
        const users = [...new Set(idsOf(rows))];
        expect(table).toHaveLength(Math.min(30, users.length));
        expect(table.map(({ rank }) => rank)).toEqual(table.map((_, index) => index + 1));
        expect(chartCohort(table)).toEqual(table.slice(0, 5));
        const spendOf = (user: string): bigint =>
          rows.filter(({ userId }) => userId === user).reduce((sum, { spend }) => sum + spend, 0n);
        const requestsOf = (user: string): number =>
          rows.filter(({ userId }) => userId === user).reduce((sum, each) => sum + each.requestCount, 0);
        for (const { userId, spend, requestCount } of table)
          expect([spend, requestCount]).toEqual([spendOf(userId), requestsOf(userId)]);
        const least = table.at(-1)?.spend ?? 0n;
        for (const user of users)
          if (!idsOf(table).includes(user)) expect(spendOf(user)).toBeLessThanOrEqual(least);
        for (const [index, { spend, requestCount }] of table.entries()) {
          const next = table[index + 1];
          if (next === undefined) continue;
          expect(spend).toBeGreaterThanOrEqual(next.spend);
          if (spend === next.spend) expect(requestCount).toBeGreaterThanOrEqual(next.requestCount);
        }
      }),
    );
  });
});

describe('the dominant model', () => {
  it.each([
    ['has the most requests', [usage('u', 'U', 3, 1n, 'b'), usage('u', 'U', 2, 9n, 'a')], 'b'],
    ['then the largest spend', [usage('u', 'U', 2, 1n, 'a'), usage('u', 'U', 2, 9n, 'b')], 'b'],
    ['then the first model key', [usage('u', 'U', 2, 9n, 'b'), usage('u', 'U', 2, 9n, 'a')], 'a'],
  ])('%s', (_, rows, expected) => {
    expect(standings(rows)[0]).toMatchObject({ dominantModel: expected });
  });
});

describe('the chart', () => {
  const aChart = fc
    .tuple(someUserModelUsage, fc.constantFrom('7d' as const, '31d' as const), anInstant)
    .chain(([rows, range, now]) => {
      const over = rangeWindow(range, now);
      const buckets = bucketStarts(over);
      const found = fc.uniqueArray(
        fc.record({
          bucketStart: fc.constantFrom(...buckets),
          userId: fc.constantFrom('u-00', ...idsOf(chartCohort(standings(rows)))),
          spend: someSpend,
        }),
        {
          maxLength: 40,
          size: 'max',
          selector: ({ bucketStart, userId }) => `${bucketStart.getTime()} ${userId}`,
        },
      );
      return fc.record({ rows: fc.constant(rows), over: fc.constant(over), spends: found });
    });

  it('has every bucket, and in each bucket every user of the chart, zero-filled', () => {
    fc.assert(
      fc.property(aChart, ({ rows, over, spends }) => {
        const table = standings(rows);
        const { series, chartUsers, leaders } = leaderboard(over, table, spends, []);
        expect(leaders).toEqual(table.map((standing) => ({ ...standing, toolAverages: expect.anything() })));
        expect(series.map(({ bucketStart }) => bucketStart)).toEqual(bucketStarts(over));
        for (const { values } of series) expect(idsOf(values)).toEqual(idsOf(chartUsers));
        const inSeries = series
          .flatMap(({ bucketStart, values }) => values.map((value) => ({ bucketStart, ...value })))
          .filter(({ spend }) => spend !== 0n);
        const expected = spends.filter(
          ({ userId, spend }) => spend !== 0n && idsOf(chartUsers).includes(userId),
        );
        const inPlace = (one: BucketSpend, other: BucketSpend): number =>
          one.bucketStart.getTime() - other.bucketStart.getTime() || (one.userId < other.userId ? -1 : 1);
        expect(inSeries.toSorted(inPlace)).toEqual(expected.toSorted(inPlace));
      }),
    );
  });
});

describe('the averages of a user', () => {
  const counts = (over: Partial<UserToolCounts['counts']>): UserToolCounts['counts'] => ({
    referencedMcpServer: { sum: 0n, rows: 0n },
    exposedTool: { sum: 0n, rows: 0n },
    invokedTool: { sum: 0n, rows: 0n },
    filteredTool: { sum: 0n, rows: 0n },
    ...over,
  });

  it('use only rows in which the count was recorded: without any it is undefined, and zero stays zero', () => {
    const table = standings([
      usage('u-1', 'Ann', 4, 3n),
      usage('u-2', 'Bea', 1, 2n),
      usage('u-3', 'Cas', 1, 1n),
    ]);
    const { leaders } = leaderboard(
      window,
      table,
      [],
      [
        {
          userId: 'u-1',
          counts: counts({ exposedTool: { sum: 10n, rows: 4n }, invokedTool: { sum: 0n, rows: 4n } }),
        },
        {
          userId: 'u-3',
          counts: counts({
            referencedMcpServer: { sum: 3n, rows: 1n },
            filteredTool: { sum: 3n, rows: 2n },
          }),
        },
      ],
    );
    expect(leaders.map(({ toolAverages }) => toolAverages)).toEqual([
      { referencedMcpServer: undefined, exposedTool: 2.5, invokedTool: 0, filteredTool: undefined },
      {
        referencedMcpServer: undefined,
        exposedTool: undefined,
        invokedTool: undefined,
        filteredTool: undefined,
      },
      { referencedMcpServer: 3, exposedTool: undefined, invokedTool: undefined, filteredTool: 1.5 },
    ]);
  });
});
