import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { toUsd, type Picodollars } from '../money/money.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { maxRetryAfterSecs } from '../shared/limits.ts';
import type { Budget } from './budget.ts';
import type { Window } from '../shared/window.ts';

/**
 * Before the provider is called: an owner whose counted spend in the active window is at or above the amount
 * of a hard budget is turned away. `closed` is a window that a blocked cost has shut (`close_window`).
 */
export const admit = (
  budget: Budget | undefined,
  spent: Picodollars,
  closed: boolean,
): Either<'full', void> =>
  budget?.hardLimit === true && (closed || spent >= budget.amount) ? E.left('full') : E.right(undefined);

/**
 * Production does not call this: it mirrors `gateway_settle`, which applies the rule in SQL under the scope's lock, and
 * tests hold the SQL against it. After the provider answered: a cost that would take the counted spend over the amount
 * is not written.
 */
export const charge = (
  budget: Budget | undefined,
  spent: Picodollars,
  cost: Picodollars,
): Either<'over', Picodollars> => {
  const after = spent + cost;
  return budget?.hardLimit === true && after > budget.amount ? E.left('over') : E.right(after);
};

/** Before the provider: the budget is used up. */
export const budgetExceeded = (budget: Budget, window: Window, now: Date): GatewayError =>
  refused(window, now, `Quota exceeded: the ${named(budget)} is used up; it ${resets(window)}.`);

/** Before the provider: something may be left of the budget, but a blocked cost has shut its window. */
export const windowShut = (budget: Budget, window: Window, now: Date): GatewayError =>
  refused(
    window,
    now,
    `Quota exceeded: the cost of an earlier answer would have passed what was left of the ${named(budget)}, which ${resets(window)}.`,
  );

/** After the provider: something may be left of the budget, but less than this answer costs. */
export const costExceedsBudget = (budget: Budget, window: Window, now: Date): GatewayError =>
  refused(
    window,
    now,
    `Quota exceeded: the cost of this answer would pass what is left of the ${named(budget)}, which ${resets(window)}.`,
  );

const named = ({ cadence, amount }: Budget): string => `${cadence} budget of ${toUsd(amount)} USD`;

/** By these words and `Quota exceeded` clients stop that read neither headers nor codes. */
const resets = ({ until }: Window): string => `will reset at ${until.toISOString()}`;

/**
 * When to come back is when the window ends. `Retry-After` says so only where that is soon: agents wait for it in
 * silence, however long it is.
 */
function refused({ until }: Window, now: Date, message: string): GatewayError {
  const waitSecs = Math.max(1, Math.ceil((until.getTime() - now.getTime()) / 1000));
  return {
    code: 'budget_exceeded',
    message,
    budgetResetsAt: until.toISOString(),
    ...(waitSecs > maxRetryAfterSecs ? {} : { retryAfterSecs: waitSecs }),
  };
}
