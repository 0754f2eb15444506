import type { Window } from '../../domain/shared/window.ts';
import { daysWindow, type ReportDays } from '../../domain/reports/report-window.ts';
import { type OwnerKind, type SpendReport, spendReport } from '../../domain/reports/spend-report.ts';
import type { Reports } from '../ports/reports.ts';

export interface SpendQuery {
  readonly days: ReportDays;
  /** The whole report covers only owners of this kind. */
  readonly ownerKind: OwnerKind;
}

/** The spend report over N UTC days ending with today. */
export const reportSpend =
  (reports: Reports) =>
  ({ days, ownerKind }: SpendQuery): Promise<SpendReport & { readonly window: Window }> =>
    reports.onSnapshot(async (snapshot) => {
      const window = daysWindow(days, snapshot.now);
      return { window, ...spendReport(window, await snapshot.ledgerUsage(window, ownerKind)) };
    });
