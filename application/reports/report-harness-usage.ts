import { type HarnessUsage, harnessUsage } from '../../domain/reports/harness-usage.ts';
import { type ReportRange, rangeWindow } from '../../domain/reports/report-window.ts';
import type { Reports } from '../ports/reports.ts';
import type { OverRange } from './report-leaderboard.ts';

/** From the request logs as retained. */
export const reportHarnessUsage =
  (reports: Reports) =>
  (range: ReportRange): Promise<HarnessUsage & OverRange> =>
    reports.onSnapshot(async (snapshot) => {
      const window = rangeWindow(range, snapshot.now);
      const counts = await snapshot.harnessCounts(window);
      return { window, logsSince: snapshot.logsSince, ...harnessUsage(window, counts) };
    });
