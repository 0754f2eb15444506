import * as E from 'fp-ts/lib/Either.js';
import type { Reports } from '../../../application/ports/reports.ts';
import { reportHarnessUsage } from '../../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../../application/reports/report-spend.ts';
import type { AdminRoute } from './admin-route.ts';
import { readQuery, word } from './query.ts';
import { presentHarnessUsage, presentLeaderboard, presentSpendReport } from './report-bodies.ts';

export interface ReportRoutePorts {
  readonly reports: Reports;
}

const root = '/api/v1/admin';

const daysOf = { '7': 7, '30': 30 } as const;

const spendShape = {
  days: word(['7', '30'], '7'),
  owner_kind: word(['all', 'user', 'team'], 'all'),
};
const rangeShape = { range: word(['7d', '31d'], '7d') };

/** Spend report, leaderboard and harness usage; the shortest report over everybody is what is asked for by default. */
export const reportRoutes = ({ reports }: ReportRoutePorts): readonly AdminRoute[] => [
  {
    method: 'GET',
    path: `${root}/spend/report`,
    handle: async ({ query }) => {
      const ask = readQuery(query, spendShape);
      if (E.isLeft(ask)) return ask;
      const { days, owner_kind: ownerKind } = ask.right;
      const report = await reportSpend(reports)({ days: daysOf[days], ownerKind });
      return E.right(presentSpendReport(daysOf[days], ownerKind, report));
    },
  },
  {
    method: 'GET',
    path: `${root}/observability/leaderboard`,
    handle: async ({ query }) => {
      const ask = readQuery(query, rangeShape);
      if (E.isLeft(ask)) return ask;
      const { range } = ask.right;
      return E.right(presentLeaderboard(range, await reportLeaderboard(reports)(range)));
    },
  },
  {
    method: 'GET',
    path: `${root}/observability/harness-usage`,
    handle: async ({ query }) => {
      const ask = readQuery(query, rangeShape);
      if (E.isLeft(ask)) return ask;
      const { range } = ask.right;
      return E.right(presentHarnessUsage(range, await reportHarnessUsage(reports)(range)));
    },
  },
];
