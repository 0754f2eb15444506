import * as E from 'fp-ts/lib/Either.js';
import type { BudgetAlerts, Budgets } from '../../../application/ports/budgets.ts';
import type { Owner } from '../../../domain/identity/caller.ts';
import { type AdminCall, type AdminRoute, adminRoute, listRoute, notFound } from './admin-route.ts';
import {
  allBudgets,
  budgetAlert,
  ownerIds,
  ownerNamed,
  pastBudget,
  presentAlert,
  presentOwners,
  presentPastBudget,
  presentSet,
  removedBudget,
  setBudget,
} from './budget-bodies.ts';
import { budgetBody, budgetTerms } from './budget-input.ts';
import { uuid } from './query.ts';

export interface BudgetRoutePorts {
  readonly budgets: Budgets;
  readonly budgetAlerts: BudgetAlerts;
  /** Whether this is the name of a known IANA time zone. */
  readonly isTimeZone: (name: string) => boolean;
}

const root = '/api/v1/admin/spend';

export const budgetsRoot = `${root}/budgets`;

/** How a path names an owner. */
export const ownersOf = {
  users: { kind: 'user', param: 'user_id', of: "user's" },
  teams: { kind: 'team', param: 'team_id', of: "team's" },
} as const;

/** Budgets and their alerts. Any changed field closes the old row into history; an identical PUT changes nothing. */
export const budgetRoutes = (ports: BudgetRoutePorts): readonly AdminRoute[] => [
  adminRoute({
    method: 'GET',
    path: budgetsRoot,
    summary: 'Every owner with the current budget and the spend of its current window.',
    answer: allBudgets,
    handle: async () => E.right(await presentOwners(await ports.budgets.list())),
  }),
  listRoute({
    path: `${root}/budget-alerts`,
    summary: 'Budget alerts with their deliveries, newest first.',
    query: { budget_alert_id: uuid },
    item: budgetAlert,
    find: async (asked, page) => E.right(await ports.budgetAlerts.page(asked.budget_alert_id, page)),
    present: presentAlert,
  }),
  ...(['users', 'teams'] as const).flatMap((segment) => ownerRoutes(ports, segment)),
];

function ownerRoutes(
  { budgets, isTimeZone }: BudgetRoutePorts,
  segment: keyof typeof ownersOf,
): readonly AdminRoute[] {
  const { kind, param, of } = ownersOf[segment];
  const path = `${budgetsRoot}/${segment}/:${param}`;
  const ownerIn = (params: AdminCall['params']): Owner | undefined => ownerNamed(kind, params[param] ?? '');
  const noOwner = E.left(notFound('owner', param));
  const noActiveOwner = E.left(notFound('active owner', param));
  return [
    adminRoute({
      method: 'PUT',
      path,
      summary: `Sets a ${of} budget; identical terms change nothing.`,
      body: budgetBody(isTimeZone),
      answer: setBudget,
      errors: ['not_found'],
      handle: async ({ params, body, admin }) => {
        const named = ownerIn(params);
        const found = named === undefined ? undefined : await budgets.set(named, budgetTerms(body), admin);
        return found === undefined ? noActiveOwner : E.right(presentSet(found));
      },
    }),
    adminRoute({
      method: 'DELETE',
      path,
      summary: `Deactivates a ${of} budget.`,
      answer: removedBudget,
      errors: ['not_found'],
      handle: async ({ params, admin }) => {
        const named = ownerIn(params);
        const removed = named === undefined ? undefined : await budgets.remove(named, admin);
        return named === undefined || removed === undefined
          ? noOwner
          : E.right({ ...ownerIds(named), deactivated: removed.deactivated });
      },
    }),
    listRoute({
      path: `${path}/history`,
      summary: `A ${of} budgets with who set each, newest first.`,
      query: {},
      item: pastBudget,
      errors: ['not_found'],
      find: async (_asked, page, params) => {
        const named = ownerIn(params);
        const found = named === undefined ? undefined : await budgets.history(named, page);
        return found === undefined ? noOwner : E.right(found);
      },
      present: presentPastBudget,
    }),
  ];
}
