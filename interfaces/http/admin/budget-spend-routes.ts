import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { BudgetDryRun, Budgets, SpendDays, WindowDryRun } from '../../../application/ports/budgets.ts';
import type { Owner } from '../../../domain/identity/caller.ts';
import { type GatewayError, storeUnavailable } from '../../../domain/shared/gateway-error.ts';
import { type AdminRoute, adminRoute, notFound } from './admin-route.ts';
import {
  arrayOf,
  countValue,
  dayText,
  dayValue,
  instantValue,
  moneyFields,
  moneyValues,
  objectOf,
  orNull,
} from '../answers.ts';
import { ownerIds, ownerIdValues, ownerNamed } from './budget-bodies.ts';
import { dryRunBody } from './budget-input.ts';
import { budgetsRoot, ownersOf } from './budget-routes.ts';
import { otherwise } from './inputs.ts';
import { integerParam } from './query.ts';

export interface BudgetSpendRoutePorts {
  readonly budgets: Pick<Budgets, 'spendByDay' | 'dryRun'>;
  readonly isTimeZone: (name: string) => boolean;
}

/** A quarter of a year. */
const maxDays = 92;
const daysShape = { days: otherwise(integerParam(1, maxDays), 30) };

const spendDays = objectOf({
  ...ownerIdValues,
  window_days: countValue,
  window_start: instantValue,
  window_end: instantValue,
  days: arrayOf(
    objectOf({
      day: dayValue,
      request_count: countValue,
      ...moneyValues('spend'),
      blocked_answers: objectOf({ count: countValue, ...moneyValues('cost') }),
    }),
  ),
});

const windowDryRun = objectOf({
  window: objectOf({ start: instantValue, end: instantValue }),
  ...moneyValues('spend'),
  would_block_from: orNull(instantValue),
  blocked_requests: countValue,
  ...moneyValues('blocked_cost'),
});

const budgetDryRun = objectOf({ ...ownerIdValues, last_window: windowDryRun, current_window: windowDryRun });

/** Spend of owners by day, and what another amount would have blocked. */
export const budgetSpendRoutes = (ports: BudgetSpendRoutePorts): readonly AdminRoute[] =>
  (['users', 'teams'] as const).flatMap((segment) => ownerRoutes(ports, segment));

function ownerRoutes(
  { budgets, isTimeZone }: BudgetSpendRoutePorts,
  segment: keyof typeof ownersOf,
): readonly AdminRoute[] {
  const { kind, param, of } = ownersOf[segment];
  const path = `${budgetsRoot}/${segment}/:${param}`;
  const noOwner = E.left(notFound('owner', param));
  return [
    adminRoute({
      method: 'GET',
      path: `${path}/days`,
      summary: `A ${of} spend and blocked answers by UTC day.`,
      query: daysShape,
      answer: spendDays,
      errors: ['not_found'],
      handle: async ({ params, query }) => {
        const named = ownerNamed(kind, params[param] ?? '');
        const found = named === undefined ? undefined : await budgets.spendByDay(named, query.days);
        return named === undefined || found === undefined ? noOwner : E.right(presentDays(named, found));
      },
    }),
    adminRoute({
      method: 'POST',
      path: `${path}/dry-run`,
      summary: `What a hard budget of an amount would have blocked of a ${of} requests; changes nothing.`,
      body: dryRunBody(isTimeZone),
      answer: budgetDryRun,
      errors: ['not_found'],
      isRead: true,
      handle: async ({ params, body: { cadence, amount_10000 } }) => {
        const named = ownerNamed(kind, params[param] ?? '');
        const terms = { cadence, amount10000: BigInt(amount_10000) };
        const found = named === undefined ? undefined : await budgets.dryRun(named, terms);
        if (found === 'too_long') return E.left(tooLong);
        return named === undefined || found === undefined ? noOwner : E.right(presentDryRun(named, found));
      },
    }),
  ];
}

const tooLong: GatewayError = {
  ...storeUnavailable(),
  message:
    'The dry run was given up after 10 seconds: its windows hold too many requests for the database as it is now. ' +
    'Ask for a shorter cadence, or again when the database has less to do.',
};

const presentDays = (owner: Owner, { from, until, days }: SpendDays): t.TypeOf<typeof spendDays> => ({
  ...ownerIds(owner),
  window_days: days.length,
  window_start: from.toISOString(),
  window_end: until.toISOString(),
  days: days.map(({ day, requestCount, spent, blockedAnswers: { count, cost } }) => ({
    day: dayText(day),
    request_count: requestCount,
    ...moneyFields('spend', spent),
    blocked_answers: { count, ...moneyFields('cost', cost) },
  })),
});

const presentDryRun = (
  owner: Owner,
  { lastWindow, currentWindow }: BudgetDryRun,
): t.TypeOf<typeof budgetDryRun> => ({
  ...ownerIds(owner),
  last_window: presentWindow(lastWindow),
  current_window: presentWindow(currentWindow),
});

const presentWindow = (run: WindowDryRun): t.TypeOf<typeof windowDryRun> => ({
  window: { start: run.from.toISOString(), end: run.until.toISOString() },
  ...moneyFields('spend', run.spent),
  would_block_from: run.blocksFrom?.toISOString() ?? null,
  blocked_requests: run.blockedCount,
  ...moneyFields('blocked_cost', run.blockedCost),
});
