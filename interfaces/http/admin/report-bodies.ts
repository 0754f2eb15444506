import type { OverRange } from '../../../application/reports/report-leaderboard.ts';
import type { Window } from '../../../domain/shared/window.ts';
import type { HarnessUsage, RankedHarness } from '../../../domain/reports/harness-usage.ts';
import type { Leader, Leaderboard, ToolAverages } from '../../../domain/reports/leaderboard.ts';
import { bucketHours, type ReportDays, type ReportRange } from '../../../domain/reports/report-window.ts';
import type { OwnerKind, SpendReport, Tally } from '../../../domain/reports/spend-report.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { moneyFields } from './money-fields.ts';

/** The bodies of reports (rules 40.13, 40.14, 40.18). */
const windowFields = ({ from, until }: Window): JsonObject => ({
  window_start: from.toISOString(),
  window_end: until.toISOString(),
});

export const presentSpendReport = (
  days: ReportDays,
  ownerKind: OwnerKind,
  report: SpendReport & { readonly window: Window },
): Json => ({
  window_days: days,
  owner_kind: ownerKind,
  ...windowFields(report.window),
  totals: tallyFields(report.totals),
  daily: report.daily.map(({ day, requestCount, spend }) => ({
    day: day.toISOString().slice(0, 'YYYY-MM-DD'.length),
    request_count: requestCount,
    ...moneyFields('spend', spend),
  })),
  owners: report.owners.map((owner) => ({
    owner_kind: owner.ownerKind,
    owner_id: owner.ownerId,
    owner_name: owner.ownerName,
    ...tallyFields(owner),
  })),
  models: report.models.map((model) => ({ model_key: model.modelKey, ...tallyFields(model) })),
});

const tallyFields = ({ requestCount, spend, counts }: Tally): JsonObject => ({
  request_count: requestCount,
  ...moneyFields('spend', spend),
  priced_count: counts.priced,
  legacy_estimated_count: counts.legacy_estimated,
  unpriced_count: counts.unpriced,
  usage_missing_count: counts.usage_missing,
});

const rangeFields = (range: ReportRange, { window, logsSince }: OverRange): JsonObject => ({
  range,
  bucket_hours: bucketHours,
  ...windowFields(window),
  logs_since: logsSince?.toISOString() ?? null,
});

export const presentLeaderboard = (range: ReportRange, report: Leaderboard & OverRange): Json => ({
  ...rangeFields(range, report),
  chart_users: report.chartUsers.map(({ rank, userId, userName, spend }) => ({
    rank,
    user_id: userId,
    user_name: userName,
    ...moneyFields('spend', spend),
  })),
  series: report.series.map(({ bucketStart, values }) => ({
    bucket_start: bucketStart.toISOString(),
    values: values.map(({ userId, spend }) => ({ user_id: userId, ...moneyFields('spend', spend) })),
  })),
  leaders: report.leaders.map(leaderFields),
});

const leaderFields = (leader: Leader): JsonObject => ({
  rank: leader.rank,
  user_id: leader.userId,
  user_name: leader.userName,
  ...moneyFields('spend', leader.spend),
  total_requests: leader.requestCount,
  dominant_model: leader.dominantModel,
  tool_cardinality_averages: averageFields(leader.toolAverages),
});

/** Null where no row recorded the dimension; a real zero stays one. */
const averageFields = (averages: ToolAverages): JsonObject => ({
  referenced_mcp_server_count: averages.referencedMcpServer ?? null,
  exposed_tool_count: averages.exposedTool ?? null,
  invoked_tool_count: averages.invokedTool ?? null,
  filtered_tool_count: averages.filteredTool ?? null,
});

export const presentHarnessUsage = (range: ReportRange, report: HarnessUsage & OverRange): Json => ({
  ...rangeFields(range, report),
  chart_harnesses: report.chartHarnesses.map(harnessFields),
  series: report.series.map(({ bucketStart, values }) => ({
    bucket_start: bucketStart.toISOString(),
    values: values.map(({ harnessKey, requestCount }) => ({
      agent_harness_key: harnessKey,
      request_count: requestCount,
    })),
  })),
  leaders: report.leaders.map(harnessFields),
});

const harnessFields = (harness: RankedHarness): JsonObject => ({
  rank: harness.rank,
  agent_harness_key: harness.harnessKey,
  agent_harness_label: harness.harnessLabel,
  request_count: harness.requestCount,
});
