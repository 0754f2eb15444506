import type { Window } from '../shared/window.ts';
import { ascending, chartRows, descending, inOrder, type RankOrder, ranked } from './ranking.ts';
import { bucketStarts } from './report-window.ts';

/** Request-log rows of one agent harness in one bucket. Grouped by `agent_harness_key`, not raw `User-Agent`. */
export interface HarnessBucketCount {
  readonly bucketStart: Date;
  readonly harnessKey: string;
  readonly harnessLabel: string;
  readonly requestCount: number;
}

export interface RankedHarness {
  readonly rank: number;
  readonly harnessKey: string;
  readonly harnessLabel: string;
  readonly requestCount: number;
}

/** The requests of the chart's harnesses in one bucket, in rank order. */
export interface HarnessBucket {
  readonly bucketStart: Date;
  readonly values: readonly { readonly harnessKey: string; readonly requestCount: number }[];
}

export interface HarnessUsage {
  readonly chartHarnesses: readonly RankedHarness[];
  readonly series: readonly HarnessBucket[];
  readonly leaders: readonly RankedHarness[];
}

/** Ranked by request count, then by key. */
const harnessOrder: RankOrder<Omit<RankedHarness, 'rank'>> = inOrder(
  descending(({ requestCount }) => requestCount),
  ascending(({ harnessKey }) => harnessKey),
);

/**
 * The chart shows the top 5 and the table the top 30; buckets are zero-filled. A harness whose label has changed is
 * shown with its latest one.
 */
export function harnessUsage(window: Window, counts: readonly HarnessBucketCount[]): HarnessUsage {
  const byKey = Map.groupBy(counts, ({ harnessKey }) => harnessKey);
  const leaders = ranked([...byKey.values()].flatMap(harnessTotal), harnessOrder);
  const chartHarnesses = leaders.slice(0, chartRows);
  const countAt = (harnessKey: string, at: Date): number =>
    byKey.get(harnessKey)?.find(({ bucketStart }) => bucketStart.getTime() === at.getTime())?.requestCount ??
    0;
  return {
    chartHarnesses,
    series: bucketStarts(window).map((bucketStart) => ({
      bucketStart,
      values: chartHarnesses.map(({ harnessKey }) => ({
        harnessKey,
        requestCount: countAt(harnessKey, bucketStart),
      })),
    })),
    leaders,
  };
}

function harnessTotal(buckets: readonly HarnessBucketCount[]): readonly Omit<RankedHarness, 'rank'>[] {
  const [latest] = buckets.toSorted(descending(({ bucketStart }) => bucketStart.getTime()));
  if (latest === undefined) return [];
  const requestCount = buckets.reduce((sum, bucket) => sum + bucket.requestCount, 0);
  return [{ harnessKey: latest.harnessKey, harnessLabel: latest.harnessLabel, requestCount }];
}
