import * as E from 'fp-ts/lib/Either.js';
import type { Reports } from '../../../application/ports/reports.ts';
import { reportHarnessUsage } from '../../../application/reports/report-harness-usage.ts';
import { reportLeaderboard } from '../../../application/reports/report-leaderboard.ts';
import { reportSpend } from '../../../application/reports/report-spend.ts';
import { reportSpendByDay } from '../../../application/reports/report-spend-by-day.ts';
import { type AdminRoute, adminRoute } from './admin-route.ts';
import { choiceInput, otherwise } from './inputs.ts';
import {
  harnessUsageBody,
  leaderboardBody,
  presentHarnessUsage,
  presentLeaderboard,
  presentSpendByDay,
  presentSpendReport,
  spendByDayBody,
  spendReportBody,
} from './report-bodies.ts';

export interface ReportRoutePorts {
  readonly reports: Reports;
}

const root = '/api/v1/admin';

const daysOf = { '7': 7, '30': 30 } as const;

const spendShape = {
  days: otherwise(choiceInput(['7', '30']), '7'),
  owner_kind: otherwise(choiceInput(['all', 'user', 'team']), 'all'),
};
const rangeShape = { range: otherwise(choiceInput(['7d', '31d']), '7d') };

/** Spend report, leaderboard and harness usage. The default is the shortest report over all owners. */
export const reportRoutes = ({ reports }: ReportRoutePorts): readonly AdminRoute[] => [
  adminRoute({
    method: 'GET',
    fromReplica: true,
    path: `${root}/spend/report`,
    summary: 'Spend by day, owner and model.',
    query: spendShape,
    answer: spendReportBody,
    handle: async ({ query }) => {
      const { days, owner_kind: ownerKind } = query;
      const report = await reportSpend(reports)({ days: daysOf[days], ownerKind });
      return E.right(presentSpendReport(daysOf[days], ownerKind, report));
    },
  }),
  adminRoute({
    method: 'GET',
    fromReplica: true,
    path: `${root}/spend/days`,
    summary: 'Spend of each day by the owners and models with the highest spend, and by all others together.',
    query: spendShape,
    answer: spendByDayBody,
    handle: async ({ query }) => {
      const { days, owner_kind: ownerKind } = query;
      const found = await reportSpendByDay(reports)({ days: daysOf[days], ownerKind });
      return E.right(presentSpendByDay(daysOf[days], ownerKind, found));
    },
  }),
  adminRoute({
    method: 'GET',
    fromReplica: true,
    path: `${root}/observability/leaderboard`,
    summary: 'The users with the highest spend.',
    query: rangeShape,
    answer: leaderboardBody,
    handle: async ({ query }) => {
      const { range } = query;
      return E.right(presentLeaderboard(range, await reportLeaderboard(reports)(range)));
    },
  }),
  adminRoute({
    method: 'GET',
    fromReplica: true,
    path: `${root}/observability/harness-usage`,
    summary: 'Which agents and clients send the requests.',
    query: rangeShape,
    answer: harnessUsageBody,
    handle: async ({ query }) => {
      const { range } = query;
      return E.right(presentHarnessUsage(range, await reportHarnessUsage(reports)(range)));
    },
  }),
];
