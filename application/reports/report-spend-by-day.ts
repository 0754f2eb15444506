import { daysWindow } from '../../domain/reports/report-window.ts';
import {
  type DaySpend,
  spendByDay,
  type SpendCohort,
  spendCohort,
} from '../../domain/reports/spend-by-day.ts';
import { spendReport } from '../../domain/reports/spend-report.ts';
import type { Window } from '../../domain/shared/window.ts';
import type { Reports } from '../ports/reports.ts';
import type { SpendQuery } from './report-spend.ts';

export interface SpendByDay {
  readonly window: Window;
  readonly cohort: SpendCohort;
  readonly days: readonly DaySpend[];
}

/** The spend on each of N UTC days ending with today, by the owners who spent most, and on which models. */
export const reportSpendByDay =
  (reports: Reports) =>
  ({ days, ownerKind }: SpendQuery): Promise<SpendByDay> =>
    reports.onSnapshot(async (snapshot) => {
      const window = daysWindow(days, snapshot.now);
      const report = spendReport(window, await snapshot.ledgerUsage(window, ownerKind));
      const cohort = spendCohort(report);
      const spends = {
        owners: await snapshot.ownerSpend(window, cohort.owners),
        models: await snapshot.modelSpend(
          window,
          ownerKind,
          cohort.models.map(({ modelKey }) => modelKey),
        ),
      };
      return { window, cohort, days: spendByDay(report, cohort, spends) };
    });
