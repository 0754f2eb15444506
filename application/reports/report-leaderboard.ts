import type { Window } from '../../domain/shared/window.ts';
import { chartCohort, type Leaderboard, leaderboard, standings } from '../../domain/reports/leaderboard.ts';
import { type ReportRange, rangeWindow } from '../../domain/reports/report-window.ts';
import type { Reports } from '../ports/reports.ts';

/** A report over 12-hour buckets, and the time since which there are request logs for it. */
export interface OverRange {
  readonly window: Window;
  readonly logsSince: Date | undefined;
}

/** Spend, requests and dominant model come from the ledger; averages from the request logs as retained. */
export const reportLeaderboard =
  (reports: Reports) =>
  (range: ReportRange): Promise<Leaderboard & OverRange> =>
    reports.onSnapshot(async (snapshot) => {
      const window = rangeWindow(range, snapshot.now);
      const table = standings(await snapshot.userModelUsage(window));
      const spends = await snapshot.userSpend(window, idsOf(chartCohort(table)));
      const toolCounts = await snapshot.toolCounts(window, idsOf(table));
      return { window, logsSince: snapshot.logsSince, ...leaderboard(window, table, spends, toolCounts) };
    });

const idsOf = (users: readonly { readonly userId: string }[]): readonly string[] =>
  users.map(({ userId }) => userId);
