import type * as t from 'io-ts';
import type { OverRange } from '../../../application/reports/report-leaderboard.ts';
import type { SpendByDay } from '../../../application/reports/report-spend-by-day.ts';
import type { Window } from '../../../domain/shared/window.ts';
import type { HarnessUsage, RankedHarness } from '../../../domain/reports/harness-usage.ts';
import type { Leader, Leaderboard, ToolAverages } from '../../../domain/reports/leaderboard.ts';
import { bucketHours, type ReportDays, type ReportRange } from '../../../domain/reports/report-window.ts';
import type { DayCut } from '../../../domain/reports/spend-by-day.ts';
import type { OwnerKind, SpendReport, Tally } from '../../../domain/reports/spend-report.ts';
import {
  countValue,
  dayText,
  dayValue,
  instantValue,
  arrayOf,
  moneyValues,
  moneyFields,
  numberValue,
  orNull,
  objectOf,
  textValue,
  uuidValue,
  choiceValue,
} from '../answers.ts';
import { ownerValues } from './budget-bodies.ts';

const windowMembers = { window_start: instantValue, window_end: instantValue };

const tally = {
  request_count: countValue,
  ...moneyValues('spend'),
  priced_count: countValue,
  legacy_estimated_count: countValue,
  unpriced_count: countValue,
  usage_missing_count: countValue,
};

export const spendReportBody = objectOf({
  window_days: countValue,
  owner_kind: choiceValue(['all', 'user', 'team']),
  ...windowMembers,
  totals: objectOf(tally),
  daily: arrayOf(objectOf({ day: dayValue, request_count: countValue, ...moneyValues('spend') })),
  owners: arrayOf(objectOf({ ...ownerValues, ...tally })),
  models: arrayOf(objectOf({ model_key: textValue, ...tally })),
});

/** The spend of each series on a day, in order, and of all others together. */
const dayCut = objectOf({
  values: arrayOf(objectOf(moneyValues('spend'))),
  rest: objectOf(moneyValues('spend')),
});

export const spendByDayBody = objectOf({
  window_days: countValue,
  owner_kind: choiceValue(['all', 'user', 'team']),
  ...windowMembers,
  chart_owners: arrayOf(objectOf({ ...ownerValues, ...moneyValues('spend') })),
  chart_models: arrayOf(objectOf({ model_key: textValue, ...moneyValues('spend') })),
  days: arrayOf(objectOf({ day: dayValue, ...moneyValues('spend'), owners: dayCut, models: dayCut })),
});

const rangeMembers = {
  range: choiceValue(['7d', '31d']),
  bucket_hours: countValue,
  ...windowMembers,
  logs_since: orNull(instantValue),
};

const leader = objectOf({
  rank: countValue,
  user_id: uuidValue,
  user_name: textValue,
  ...moneyValues('spend'),
  total_requests: countValue,
  dominant_model: orNull(textValue),
  tool_cardinality_averages: objectOf({
    referenced_mcp_server_count: orNull(numberValue),
    exposed_tool_count: orNull(numberValue),
    invoked_tool_count: orNull(numberValue),
    filtered_tool_count: orNull(numberValue),
  }),
});

export const leaderboardBody = objectOf({
  ...rangeMembers,
  chart_users: arrayOf(
    objectOf({ rank: countValue, user_id: uuidValue, user_name: textValue, ...moneyValues('spend') }),
  ),
  series: arrayOf(
    objectOf({
      bucket_start: instantValue,
      values: arrayOf(objectOf({ user_id: uuidValue, ...moneyValues('spend') })),
    }),
  ),
  leaders: arrayOf(leader),
});

const harness = objectOf({
  rank: countValue,
  agent_harness_key: textValue,
  agent_harness_label: textValue,
  request_count: countValue,
});

export const harnessUsageBody = objectOf({
  ...rangeMembers,
  chart_harnesses: arrayOf(harness),
  series: arrayOf(
    objectOf({
      bucket_start: instantValue,
      values: arrayOf(objectOf({ agent_harness_key: textValue, request_count: countValue })),
    }),
  ),
  leaders: arrayOf(harness),
});

const windowFields = ({ from, until }: Window) => ({
  window_start: from.toISOString(),
  window_end: until.toISOString(),
});

/** The bodies of reports (rules 40.13, 40.14, 40.18). */
export const presentSpendReport = (
  days: ReportDays,
  ownerKind: OwnerKind,
  report: SpendReport & { readonly window: Window },
): t.TypeOf<typeof spendReportBody> => ({
  window_days: days,
  owner_kind: ownerKind,
  ...windowFields(report.window),
  totals: tallyFields(report.totals),
  daily: report.daily.map(({ day, requestCount, spend }) => ({
    day: dayText(day),
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

export const presentSpendByDay = (
  days: ReportDays,
  ownerKind: OwnerKind,
  { window, cohort, days: found }: SpendByDay,
): t.TypeOf<typeof spendByDayBody> => ({
  window_days: days,
  owner_kind: ownerKind,
  ...windowFields(window),
  chart_owners: cohort.owners.map((owner) => ({
    owner_kind: owner.ownerKind,
    owner_id: owner.ownerId,
    owner_name: owner.ownerName,
    ...moneyFields('spend', owner.spend),
  })),
  chart_models: cohort.models.map(({ modelKey, spend }) => ({
    model_key: modelKey,
    ...moneyFields('spend', spend),
  })),
  days: found.map(({ day, spend, owners, models }) => ({
    day: dayText(day),
    ...moneyFields('spend', spend),
    owners: cutFields(owners),
    models: cutFields(models),
  })),
});

const cutFields = ({ values, rest }: DayCut): t.TypeOf<typeof dayCut> => ({
  values: values.map((spend) => moneyFields('spend', spend)),
  rest: moneyFields('spend', rest),
});

const tallyFields = ({ requestCount, spend, counts }: Tally) => ({
  request_count: requestCount,
  ...moneyFields('spend', spend),
  priced_count: counts.priced,
  legacy_estimated_count: counts.legacy_estimated,
  unpriced_count: counts.unpriced,
  usage_missing_count: counts.usage_missing,
});

const rangeFields = (range: ReportRange, { window, logsSince }: OverRange) => ({
  range,
  bucket_hours: bucketHours,
  ...windowFields(window),
  logs_since: logsSince?.toISOString() ?? null,
});

export const presentLeaderboard = (
  range: ReportRange,
  report: Leaderboard & OverRange,
): t.TypeOf<typeof leaderboardBody> => ({
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

const leaderFields = (leading: Leader): t.TypeOf<typeof leader> => ({
  rank: leading.rank,
  user_id: leading.userId,
  user_name: leading.userName,
  ...moneyFields('spend', leading.spend),
  total_requests: leading.requestCount,
  dominant_model: leading.dominantModel,
  tool_cardinality_averages: averageFields(leading.toolAverages),
});

/** Null when no row recorded the dimension; a real zero stays zero. */
const averageFields = (averages: ToolAverages) => ({
  referenced_mcp_server_count: averages.referencedMcpServer ?? null,
  exposed_tool_count: averages.exposedTool ?? null,
  invoked_tool_count: averages.invokedTool ?? null,
  filtered_tool_count: averages.filteredTool ?? null,
});

export const presentHarnessUsage = (
  range: ReportRange,
  report: HarnessUsage & OverRange,
): t.TypeOf<typeof harnessUsageBody> => ({
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

const harnessFields = (ranked: RankedHarness): t.TypeOf<typeof harness> => ({
  rank: ranked.rank,
  agent_harness_key: ranked.harnessKey,
  agent_harness_label: ranked.harnessLabel,
  request_count: ranked.requestCount,
});
