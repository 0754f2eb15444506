import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type {
  BudgetAlerts,
  BudgetAuthor,
  Budgets,
  ListedAlert,
  OwnerBudget,
  PastBudget,
  StoredBudget,
} from '../../../application/ports/budgets.ts';
import type { Owner } from '../../../domain/identity/caller.ts';
import { remaining } from '../../../domain/budget/alert-mail.ts';
import { fromAmount10000, toUsd } from '../../../domain/money/money.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import type { AdminCall, AdminRoute } from './admin-route.ts';
import { readBudgetTerms } from './budget-input.ts';
import { moneyFields } from './money-fields.ts';
import { presentPage } from './page-body.ts';
import { noQuery, readPage, uuidIn } from './query.ts';

export interface BudgetRoutePorts {
  readonly budgets: Budgets;
  readonly budgetAlerts: BudgetAlerts;
  /** Whether this is the name of a known IANA time zone. */
  readonly isTimeZone: (name: string) => boolean;
}

const root = '/api/v1/admin/spend';

/** How a path names an owner; undefined: nobody can be called so. */
const ownersOf = {
  users: { param: 'user_id', owner: userOf },
  teams: { param: 'team_id', owner: (id: string): Owner => ({ kind: 'team', teamId: id }) },
} as const;

function userOf(id: string): Owner | undefined {
  const userId = uuidIn(id);
  return userId === undefined ? undefined : { kind: 'user', userId };
}

/** Budgets and their alerts. Any changed field closes the old row into history; an identical PUT changes nothing. */
export const budgetRoutes = (ports: BudgetRoutePorts): readonly AdminRoute[] => [
  {
    method: 'GET',
    path: `${root}/budgets`,
    handle: async ({ query }) => {
      const fault = noQuery(query);
      return E.isLeft(fault) ? fault : E.right(presentOwners(await ports.budgets.list()));
    },
  },
  {
    method: 'GET',
    path: `${root}/budget-alerts`,
    handle: async ({ query }) => {
      const ask = readPage(query);
      if (E.isLeft(ask)) return ask;
      return E.right(presentPage(ask.right, await ports.budgetAlerts.page(ask.right), presentAlert));
    },
  },
  ...(['users', 'teams'] as const).flatMap((kind) => ownerRoutes(ports, kind)),
];

function ownerRoutes(
  { budgets, isTimeZone }: BudgetRoutePorts,
  kind: keyof typeof ownersOf,
): readonly AdminRoute[] {
  const { param, owner } = ownersOf[kind];
  const path = `${root}/budgets/${kind}/:${param}`;
  const ownerIn = ({ params }: AdminCall): Owner | undefined => owner(params[param] ?? '');
  return [
    {
      method: 'PUT',
      path,
      handle: async (call) => {
        const fault = noQuery(call.query);
        if (E.isLeft(fault)) return fault;
        const terms = readBudgetTerms(call.body, isTimeZone);
        if (E.isLeft(terms)) return terms;
        const named = ownerIn(call);
        const found = named === undefined ? undefined : await budgets.set(named, terms.right, call.admin);
        return found === undefined ? noOwner(param) : E.right(presentSet(found));
      },
    },
    {
      method: 'DELETE',
      path,
      handle: async (call) => {
        const fault = noQuery(call.query);
        if (E.isLeft(fault)) return fault;
        const named = ownerIn(call);
        const removed = named === undefined ? undefined : await budgets.remove(named, call.admin);
        return named === undefined || removed === undefined
          ? noOwner(param)
          : E.right({ ...ownerIds(named), deactivated: removed.deactivated });
      },
    },
    {
      method: 'GET',
      path: `${path}/history`,
      handle: async (call) => {
        const ask = readPage(call.query);
        if (E.isLeft(ask)) return ask;
        const named = ownerIn(call);
        const found = named === undefined ? undefined : await budgets.history(named, ask.right);
        return found === undefined
          ? noOwner(param)
          : E.right(presentPage(ask.right, found, presentPastBudget));
      },
    },
  ];
}

const noOwner = (param: string): Either<GatewayError, never> =>
  E.left({ code: 'not_found', message: 'There is no owner of this id.', param });

const ownerIds = (owner: Owner): JsonObject => ({
  owner_kind: owner.kind,
  owner_id: owner.kind === 'user' ? owner.userId : owner.teamId,
});

const presentBudget = (budget: StoredBudget): JsonObject => ({
  budget_id: budget.budgetId,
  cadence: budget.cadence,
  amount_10000: Number(budget.amount10000),
  amount_usd: toUsd(fromAmount10000(budget.amount10000)),
  hard_limit: budget.hardLimit,
  timezone: budget.timezone,
  created_at: budget.createdAt.toISOString(),
});

const presentPastBudget = (budget: PastBudget): JsonObject => ({
  ...presentBudget(budget),
  ...authorFields('set_by', budget.setBy),
  deactivated_at: budget.ended?.at.toISOString() ?? null,
  ...authorFields('deactivated_by', budget.ended?.by),
});

/** `admin` with the admin's id and name, `config`, or null where it was not kept. */
const authorFields = (name: string, author: BudgetAuthor | undefined): JsonObject => ({
  [name]: author?.kind ?? null,
  [`${name}_user_id`]: author?.kind === 'admin' ? (author.user?.id ?? null) : null,
  [`${name}_user_name`]: author?.kind === 'admin' ? (author.user?.name ?? null) : null,
});

const presentWindow = ({ currentWindow }: OwnerBudget): JsonObject => ({
  start: currentWindow.from.toISOString(),
  end: currentWindow.until.toISOString(),
  ...moneyFields('spend', currentWindow.spent),
  blocked_answers: {
    count: currentWindow.blockedAnswers.count,
    ...moneyFields('cost', currentWindow.blockedAnswers.cost),
  },
});

const presentSet = (found: OwnerBudget): JsonObject => ({
  ...ownerIds(found.owner),
  budget: found.budget === undefined ? null : presentBudget(found.budget),
  current_window: presentWindow(found),
});

const presentOwners = (all: readonly OwnerBudget[]): JsonObject => ({
  users: all.flatMap((each) =>
    each.owner.kind === 'user'
      ? [{ user_id: each.owner.userId, name: each.name, email: each.email ?? null, ...presentRest(each) }]
      : [],
  ),
  teams: all.flatMap((each) =>
    each.owner.kind === 'team' ? [{ team_id: each.owner.teamId, name: each.name, ...presentRest(each) }] : [],
  ),
});

const presentRest = (each: OwnerBudget): JsonObject => ({
  active: each.active,
  budget: each.budget === undefined ? null : presentBudget(each.budget),
  current_window: presentWindow(each),
  alert_recipients: each.alertRecipients,
});

const presentAlert = (alert: ListedAlert): JsonObject => ({
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
