import type * as t from 'io-ts';
import type {
  BudgetAuthor,
  ListedAlert,
  OwnerBudget,
  PastBudget,
  StoredBudget,
} from '../../../application/ports/budgets.ts';
import { remaining } from '../../../domain/budget/alert-mail.ts';
import type { Owner } from '../../../domain/identity/caller.ts';
import { fromAmount10000, toUsd } from '../../../domain/money/money.ts';
import {
  countValue,
  flagValue,
  instantValue,
  arrayOf,
  moneyValues,
  moneyFields,
  numberValue,
  orNull,
  objectOf,
  textValue,
  usdValue,
  uuidValue,
  choiceValue,
} from '../answers.ts';
import { mappedInTurns } from '../in-turns.ts';
import { uuidIn } from './query.ts';

const cadence = choiceValue(['daily', 'weekly', 'monthly']);

/** The members that {@link ownerIds} returns. */
export const ownerIdValues = { owner_kind: choiceValue(['user', 'team']), owner_id: textValue };

/** The same with the owner's name. */
export const ownerValues = { ...ownerIdValues, owner_name: textValue };

const budgetFields = {
  budget_id: uuidValue,
  cadence,
  amount_10000: countValue,
  amount_usd: usdValue,
  hard_limit: flagValue,
  timezone: textValue,
  created_at: instantValue,
};
const budget = objectOf(budgetFields);

const author = choiceValue(['admin', 'config']);

/** A past or current budget, with who set it and who removed it. */
export const pastBudget = objectOf({
  ...budgetFields,
  set_by: orNull(author),
  set_by_user_id: orNull(textValue),
  set_by_user_name: orNull(textValue),
  deactivated_at: orNull(instantValue),
  deactivated_by: orNull(author),
  deactivated_by_user_id: orNull(textValue),
  deactivated_by_user_name: orNull(textValue),
});

const currentWindow = objectOf({
  start: instantValue,
  end: instantValue,
  ...moneyValues('spend'),
  blocked_answers: objectOf({ count: countValue, ...moneyValues('cost') }),
});

/** The budget of an owner after a change. */
export const setBudget = objectOf({
  ...ownerIdValues,
  budget: orNull(budget),
  current_window: currentWindow,
});

export const removedBudget = objectOf({ ...ownerIdValues, deactivated: flagValue });

const ofOwner = {
  active: flagValue,
  budget: orNull(budget),
  current_window: currentWindow,
  alert_recipients: arrayOf(textValue),
};

export const allBudgets = objectOf({
  users: arrayOf(objectOf({ user_id: uuidValue, name: textValue, email: orNull(textValue), ...ofOwner })),
  teams: arrayOf(objectOf({ team_id: textValue, name: textValue, ...ofOwner })),
});

export const budgetAlert = objectOf({
  budget_alert_id: uuidValue,
  ...ownerValues,
  cadence,
  threshold_bps: numberValue,
  window_start: instantValue,
  window_end: instantValue,
  ...moneyValues('spend_before'),
  ...moneyValues('spend_after'),
  ...moneyValues('remaining'),
  created_at: instantValue,
  deliveries: arrayOf(
    objectOf({
      channel: textValue,
      recipient: orNull(textValue),
      delivery_status: choiceValue(['pending', 'sending', 'sent', 'failed']),
      attempted_at: orNull(instantValue),
      sent_at: orNull(instantValue),
      failure_reason: orNull(textValue),
    }),
  ),
});

export const ownerIds = (owner: Owner) => ({
  owner_kind: owner.kind,
  owner_id: owner.kind === 'user' ? owner.userId : owner.teamId,
});

/** The inverse of {@link ownerIds}; `undefined` when no owner can have this id. */
export function ownerNamed(kind: Owner['kind'], id: string): Owner | undefined {
  if (kind === 'team') return { kind, teamId: id };
  const userId = uuidIn(id);
  return userId === undefined ? undefined : { kind, userId };
}

const presentBudget = (stored: StoredBudget): t.TypeOf<typeof budget> => ({
  budget_id: stored.budgetId,
  cadence: stored.cadence,
  amount_10000: Number(stored.amount10000),
  amount_usd: toUsd(fromAmount10000(stored.amount10000)),
  hard_limit: stored.hardLimit,
  timezone: stored.timezone,
  created_at: stored.createdAt.toISOString(),
});

export const presentPastBudget = (past: PastBudget): t.TypeOf<typeof pastBudget> => ({
  ...presentBudget(past),
  ...authorFields('set_by', past.setBy),
  deactivated_at: past.ended?.at.toISOString() ?? null,
  ...authorFields('deactivated_by', past.ended?.by),
});

type AuthorFields<N extends string> = {
  readonly [K in N | `${N}_user_id` | `${N}_user_name`]: K extends N
    ? 'admin' | 'config' | null
    : string | null;
};

/** `admin` with the admin's id and name, `config`, or null when it was not recorded. */
const authorFields = <N extends string>(name: N, by: BudgetAuthor | undefined): AuthorFields<N> =>
  ({
    [name]: by?.kind ?? null,
    [`${name}_user_id`]: by?.kind === 'admin' ? (by.user?.id ?? null) : null,
    [`${name}_user_name`]: by?.kind === 'admin' ? (by.user?.name ?? null) : null,
  }) as AuthorFields<N>;

const presentWindow = ({ currentWindow: window }: OwnerBudget): t.TypeOf<typeof currentWindow> => ({
  start: window.from.toISOString(),
  end: window.until.toISOString(),
  ...moneyFields('spend', window.spent),
  blocked_answers: {
    count: window.blockedAnswers.count,
    ...moneyFields('cost', window.blockedAnswers.cost),
  },
});

export const presentSet = (found: OwnerBudget): t.TypeOf<typeof setBudget> => ({
  ...ownerIds(found.owner),
  budget: found.budget === undefined ? null : presentBudget(found.budget),
  current_window: presentWindow(found),
});

/** There may be tens of thousands of owners, and the answer has no pages. */
export async function presentOwners(all: readonly OwnerBudget[]): Promise<t.TypeOf<typeof allBudgets>> {
  const slices = await mappedInTurns(all, (slice) => ({
    users: slice.flatMap((each) =>
      each.owner.kind === 'user'
        ? [{ user_id: each.owner.userId, name: each.name, email: each.email ?? null, ...presentRest(each) }]
        : [],
    ),
    teams: slice.flatMap((each) =>
      each.owner.kind === 'team'
        ? [{ team_id: each.owner.teamId, name: each.name, ...presentRest(each) }]
        : [],
    ),
  }));
  return { users: slices.flatMap(({ users }) => users), teams: slices.flatMap(({ teams }) => teams) };
}

const presentRest = (each: OwnerBudget) => ({
  active: each.active,
  budget: each.budget === undefined ? null : presentBudget(each.budget),
  current_window: presentWindow(each),
  alert_recipients: each.alertRecipients,
});

export const presentAlert = (alert: ListedAlert): t.TypeOf<typeof budgetAlert> => ({
  budget_alert_id: alert.budgetAlertId,
  ...ownerIds(alert.owner),
  owner_name: alert.ownerName,
  cadence: alert.cadence,
  threshold_bps: alert.thresholdBps,
  window_start: alert.window.from.toISOString(),
  window_end: alert.window.until.toISOString(),
  ...moneyFields('spend_before', alert.spentBefore),
  ...moneyFields('spend_after', alert.spent),
  ...moneyFields('remaining', remaining(alert)),
  created_at: alert.createdAt.toISOString(),
  deliveries: alert.deliveries.map((each) => ({
    channel: each.channel,
    recipient: each.recipient ?? null,
    delivery_status: each.status,
    attempted_at: each.attemptedAt?.toISOString() ?? null,
    sent_at: each.sentAt?.toISOString() ?? null,
    failure_reason: each.failureReason ?? null,
  })),
});
