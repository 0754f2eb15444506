import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type HarnessBucketCount, harnessUsage } from '../../../domain/reports/harness-usage.ts';
import { bucketStarts, rangeWindow } from '../../../domain/reports/report-window.ts';

const window = rangeWindow('7d', new Date('2028-03-01T01:00:00Z'));
const buckets = bucketStarts(window);

const count = (bucket: number, harnessKey: string, requestCount: number, harnessLabel = harnessKey) => ({
  bucketStart: buckets[bucket]!,
  harnessKey,
  harnessLabel,
  requestCount,
});

const someCounts: fc.Arbitrary<readonly HarnessBucketCount[]> = fc
  .uniqueArray(
    fc.record({
      bucket: fc.nat({ max: buckets.length - 1 }),
      harness: fc.nat({ max: 39 }),
      requests: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 100_000 })),
    }),
    { maxLength: 120, size: 'max', selector: ({ bucket, harness }) => bucket * 100 + harness },
  )
  .map((rows) => rows.map(({ bucket, harness, requests }) => count(bucket, `h-${harness}`, requests)));

describe('harness usage', () => {
  it('is ranked by request count, then key', () => {
    const { leaders } = harnessUsage(window, [
      count(0, 'codex', 3),
      count(0, 'opencode', 2),
      count(5, 'claude-code', 1),
      count(5, 'opencode', 2),
      count(13, 'claude-code', 2),
    ]);
    expect(leaders).toEqual([
      { rank: 1, harnessKey: 'opencode', harnessLabel: 'opencode', requestCount: 4 },
      { rank: 2, harnessKey: 'claude-code', harnessLabel: 'claude-code', requestCount: 3 },
      { rank: 3, harnessKey: 'codex', harnessLabel: 'codex', requestCount: 3 },
    ]);
  });

  it('has the most recent label of each harness', () => {
    const { leaders } = harnessUsage(window, [
      count(2, 'codex', 1, 'Codex CLI'),
      count(9, 'codex', 1, 'Codex'),
      count(3, 'codex', 1, 'Codex CLI'),
    ]);
    expect(leaders.map(({ harnessLabel }) => harnessLabel)).toEqual(['Codex']);
  });

  it('has the top 30 in its table and the top 5 in its chart', () => {
    fc.assert(
      fc.property(someCounts, (counts) => {
        const { leaders, chartHarnesses } = harnessUsage(window, counts);
        const keys = [...new Set(counts.map(({ harnessKey }) => harnessKey))];
        const totalOf = (key: string): number =>
          counts.reduce((sum, each) => (each.harnessKey === key ? sum + each.requestCount : sum), 0);
        expect(leaders).toHaveLength(Math.min(30, keys.length));
        expect(chartHarnesses).toEqual(leaders.slice(0, 5));
        for (const { harnessKey, requestCount } of leaders) expect(requestCount).toBe(totalOf(harnessKey));
        const listed = leaders.map(({ harnessKey }) => harnessKey);
        for (const key of keys)
          if (!listed.includes(key)) expect(totalOf(key)).toBeLessThanOrEqual(leaders.at(-1)!.requestCount);
      }),
    );
  });

  it('has every bucket, zero-filled, and each series of the chart adds up to the total of its harness', () => {
    fc.assert(
      fc.property(someCounts, (counts) => {
        const { series, chartHarnesses } = harnessUsage(window, counts);
        expect(series.map(({ bucketStart }) => bucketStart)).toEqual(buckets);
        for (const [place, { harnessKey, requestCount }] of chartHarnesses.entries()) {
          for (const { values } of series) expect(values[place]!.harnessKey).toBe(harnessKey);
          expect(series.reduce((sum, { values }) => sum + values[place]!.requestCount, 0)).toBe(requestCount);
        }
      }),
    );
  });

  it('does not depend on the order of the rows', () => {
    fc.assert(
      fc.property(
        someCounts.chain((rows) =>
          fc.tuple(fc.constant(rows), fc.shuffledSubarray([...rows], { minLength: rows.length })),
        ),
        ([rows, shuffled]) => expect(harnessUsage(window, shuffled)).toEqual(harnessUsage(window, rows)),
      ),
    );
  });
});
