import type { Window } from '../shared/window.ts';
import type { Picodollars } from '../money/money.ts';
import { ascending, chartRows, descending, inOrder, type RankOrder, ranked } from './ranking.ts';
import { bucketStarts } from './report-window.ts';

/** One user's usage of one model over the range; rows of every pricing status count as requests. */
export interface UserModelUsage {
  readonly userId: string;
  readonly userName: string;
  readonly modelKey: string;
  readonly requestCount: number;
  readonly spend: Picodollars;
}

/** A user's rank and totals over the range. */
export interface Standing {
  readonly rank: number;
  readonly userId: string;
  readonly userName: string;
  readonly requestCount: number;
  readonly spend: Picodollars;
  readonly dominantModel: string;
}

/** A user's spend in one bucket. */
export interface BucketSpend {
  readonly bucketStart: Date;
  readonly userId: string;
  readonly spend: Picodollars;
}

export type ToolDimension = 'referencedMcpServer' | 'exposedTool' | 'invokedTool' | 'filteredTool';

/** For one dimension: the sum over the request-log rows that recorded it, and the number of those rows. */
export interface RecordedCount {
  readonly sum: bigint;
  readonly rows: bigint;
}

/** The tool counts of a user's request-log rows over the range. */
export interface UserToolCounts {
  readonly userId: string;
  readonly counts: Readonly<Record<ToolDimension, RecordedCount>>;
}

/** `undefined` when no row recorded the dimension. */
export type ToolAverages = Readonly<Record<ToolDimension, number | undefined>>;

export interface Leader extends Standing {
  readonly toolAverages: ToolAverages;
}

/** The spend of the chart's users in one bucket, in rank order. */
export interface LeaderboardBucket {
  readonly bucketStart: Date;
  readonly values: readonly Omit<BucketSpend, 'bucketStart'>[];
}

export interface Leaderboard {
  readonly chartUsers: readonly Standing[];
  readonly series: readonly LeaderboardBucket[];
  readonly leaders: readonly Leader[];
}

type UserTotal = Omit<Standing, 'rank'>;

/** Ranked by total spend. Ties are ordered by request count, then user name, then user id. */
const userOrder: RankOrder<UserTotal> = inOrder(
  descending(({ spend }) => spend),
  descending(({ requestCount }) => requestCount),
  ascending(({ userName }) => userName),
  ascending(({ userId }) => userId),
);

/** The dominant model is chosen by request count, then spend, then model key. */
const modelOrder: RankOrder<UserModelUsage> = inOrder(
  descending(({ requestCount }) => requestCount),
  descending(({ spend }) => spend),
  ascending(({ modelKey }) => modelKey),
);

/** The table: the top 30 users. */
export const standings = (usage: readonly UserModelUsage[]): readonly Standing[] =>
  ranked([...Map.groupBy(usage, ({ userId }) => userId).values()].flatMap(userTotal), userOrder);

function userTotal(models: readonly UserModelUsage[]): readonly UserTotal[] {
  const [dominant] = models.toSorted(modelOrder);
  if (dominant === undefined) return [];
  return [
    {
      userId: dominant.userId,
      userName: dominant.userName,
      requestCount: models.reduce((sum, { requestCount }) => sum + requestCount, 0),
      spend: models.reduce((sum, { spend }) => sum + spend, 0n),
      dominantModel: dominant.modelKey,
    },
  ];
}

/** Chart cohort: the top 5 users. */
export const chartCohort = (table: readonly Standing[]): readonly Standing[] => table.slice(0, chartRows);

/** The table with its averages, and the chart with its zero-filled buckets. */
export function leaderboard(
  window: Window,
  table: readonly Standing[],
  spends: readonly BucketSpend[],
  toolCounts: readonly UserToolCounts[],
): Leaderboard {
  const chartUsers = chartCohort(table);
  const countsOf = new Map(toolCounts.map(({ userId, counts }) => [userId, counts]));
  return {
    chartUsers,
    series: spendSeries(window, chartUsers, spends),
    leaders: table.map((standing) => ({
      ...standing,
      toolAverages: toolAverages(countsOf.get(standing.userId)),
    })),
  };
}

function spendSeries(
  window: Window,
  users: readonly Standing[],
  spends: readonly BucketSpend[],
): readonly LeaderboardBucket[] {
  const found = new Map(spends.map((each) => [placeOf(each.bucketStart, each.userId), each.spend]));
  return bucketStarts(window).map((bucketStart) => ({
    bucketStart,
    values: users.map(({ userId }) => ({ userId, spend: found.get(placeOf(bucketStart, userId)) ?? 0n })),
  }));
}

const placeOf = (bucketStart: Date, id: string): string => `${bucketStart.getTime()} ${id}`;

/** Per-user averages use only the rows that recorded the dimension. */
const toolAverages = (counts: UserToolCounts['counts'] | undefined): ToolAverages => ({
  referencedMcpServer: average(counts?.referencedMcpServer),
  exposedTool: average(counts?.exposedTool),
  invokedTool: average(counts?.invokedTool),
  filteredTool: average(counts?.filteredTool),
});

const average = (recorded: RecordedCount | undefined): number | undefined =>
  recorded === undefined || recorded.rows === 0n ? undefined : Number(recorded.sum) / Number(recorded.rows);
