import type * as t from 'io-ts';
import {
  type Attention,
  type AttentionKind,
  attentionItemKinds,
  attentionKinds,
  type BudgetStanding,
} from '../../../application/ports/overview.ts';
import type { Overview } from '../../../application/reports/report-overview.ts';
import { fromAmount10000, toUsd } from '../../../domain/money/money.ts';
import { type Quantiles, shareBps, type Usage } from '../../../domain/reports/overview.ts';
import {
  arrayOf,
  choiceValue,
  countValue,
  dayText,
  dayValue,
  flagValue,
  instantValue,
  moneyFields,
  moneyValues,
  objectOf,
  orNull,
  textValue,
  usdValue,
} from '../answers.ts';
import { ownerIds, ownerValues } from './budget-bodies.ts';

const spent = { request_count: countValue, ...moneyValues('spend') };
const quantiles = orNull(objectOf({ median: countValue, p95: countValue }));

const usage = {
  ...spent,
  logged_count: countValue,
  errors: objectOf({ caller: countValue, upstream: countValue, gateway: countValue }),
  latency_ms: quantiles,
  first_token_ms: quantiles,
};

const budgetStanding = objectOf({
  ...ownerValues,
  cadence: choiceValue(['daily', 'weekly', 'monthly']),
  amount_10000: countValue,
  amount_usd: usdValue,
  hard_limit: flagValue,
  window_start: instantValue,
  window_end: instantValue,
  ...moneyValues('spend'),
  share_bps: orNull(countValue),
  blocked_answer_count: countValue,
});

const attention = objectOf({
  kind: choiceValue(attentionKinds),
  count: countValue,
  count_is_lower_bound: flagValue,
  items: arrayOf(
    objectOf({ kind: choiceValue(attentionItemKinds), id: textValue, title: textValue, count: countValue }),
  ),
});

export const overviewBody = objectOf({
  now: instantValue,
  window_start: instantValue,
  window_end: instantValue,
  logs_since: orNull(instantValue),
  today: objectOf({ day: dayValue, ...spent }),
  last_day: objectOf(usage),
  hours: arrayOf(objectOf({ hour_start: instantValue, ...usage })),
  top_models: arrayOf(objectOf({ model_key: textValue, ...spent })),
  top_owners: arrayOf(objectOf({ ...ownerValues, ...spent })),
  budgets: objectOf({
    total: countValue,
    above_80_percent: countValue,
    blocked: countValue,
    items: arrayOf(budgetStanding),
  }),
  attention: arrayOf(attention),
  setup: objectOf({
    model_answered: flagValue,
    key_exists: flagValue,
    budget_set: flagValue,
    mail_configured: flagValue,
    telemetry_configured: flagValue,
    own_database: flagValue,
  }),
});

export const presentOverview = (overview: Overview): t.TypeOf<typeof overviewBody> => ({
  now: overview.now.toISOString(),
  window_start: overview.window.from.toISOString(),
  window_end: overview.window.until.toISOString(),
  logs_since: overview.logsSince?.toISOString() ?? null,
  today: { day: dayText(overview.now), ...spentFields(overview.today) },
  last_day: usageFields(overview.lastDay),
  hours: overview.hours.map((hour) => ({ hour_start: hour.hourStart.toISOString(), ...usageFields(hour) })),
  top_models: overview.topModels.map((model) => ({ model_key: model.modelKey, ...spentFields(model) })),
  top_owners: overview.topOwners.map((top) => ({
    ...ownerIds(top.owner),
    owner_name: top.ownerName,
    ...spentFields(top),
  })),
  budgets: {
    total: overview.budgets.total,
    above_80_percent: overview.budgets.above80Percent,
    blocked: overview.budgets.blocked,
    items: overview.budgets.nearest.map(standingFields),
  },
  attention: attentionKinds.map((kind) => attentionFields(kind, overview.attention[kind])),
  setup: {
    model_answered: overview.setup.modelAnswered,
    key_exists: overview.setup.keyExists,
    budget_set: overview.setup.budgetSet,
    mail_configured: overview.setup.mailConfigured,
    telemetry_configured: overview.setup.telemetryConfigured,
    own_database: overview.setup.ownDatabase,
  },
});

const spentFields = ({ requestCount, spend }: Pick<Usage, 'requestCount' | 'spend'>) => ({
  request_count: requestCount,
  ...moneyFields('spend', spend),
});

const usageFields = (of: Usage) => ({
  ...spentFields(of),
  logged_count: of.loggedCount,
  errors: of.errors,
  latency_ms: quantileFields(of.latency),
  first_token_ms: quantileFields(of.firstToken),
});

/** Null when nothing was measured; a real zero stays zero. */
const quantileFields = (found: Quantiles | undefined): t.TypeOf<typeof quantiles> => found ?? null;

const standingFields = (standing: BudgetStanding): t.TypeOf<typeof budgetStanding> => ({
  ...ownerIds(standing.owner),
  owner_name: standing.ownerName,
  cadence: standing.cadence,
  amount_10000: Number(standing.amount10000),
  amount_usd: toUsd(fromAmount10000(standing.amount10000)),
  hard_limit: standing.hardLimit,
  window_start: standing.window.from.toISOString(),
  window_end: standing.window.until.toISOString(),
  ...moneyFields('spend', standing.spent),
  share_bps: shareBps(standing.spent, fromAmount10000(standing.amount10000)) ?? null,
  blocked_answer_count: standing.blockedAnswers,
});

const attentionFields = (
  kind: AttentionKind,
  { count, isLowerBound, items }: Attention,
): t.TypeOf<typeof attention> => ({
  kind,
  count,
  count_is_lower_bound: isLowerBound,
  items: items.map((item) => ({ kind: item.kind, id: item.id, title: item.title, count: item.count })),
});
