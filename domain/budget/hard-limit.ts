import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { toUsd, type Picodollars } from '../money/money.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { maxRetryAfterSecs } from '../shared/limits.ts';
import type { Budget } from './budget.ts';
import type { Window } from '../shared/window.ts';

/**
 * The check before the provider is called. Under a hard budget an owner is refused when the counted spend of the active
 * window is at or above the amount, or when the window is `closed`: an earlier blocked cost has shut it
 * (`close_window`).
 */
export const admit = (
  budget: Budget | undefined,
  spent: Picodollars,
  closed: boolean,
): Either<'full', void> =>
  budget?.hardLimit === true && (closed || spent >= budget.amount) ? E.left('full') : E.right(undefined);

/**
 * Production does not call this: it mirrors `gateway_settle`, which applies the rule in SQL under the scope's lock, and
 * tests check the SQL against it. The check after the provider has answered: under a hard budget, a cost that would
 * take the counted spend over the amount is not written.
 */
export const charge = (
  budget: Budget | undefined,
  spent: Picodollars,
  cost: Picodollars,
): Either<'over', Picodollars> => {
  const after = spent + cost;
  return budget?.hardLimit === true && after > budget.amount ? E.left('over') : E.right(after);
};

/** The refusal before the provider is called when the budget is used up. */
export const budgetExceeded = (budget: Budget, window: Window, now: Date): GatewayError =>
  refused(window, now, `Quota exceeded: the ${named(budget)} is used up; it ${resets(window)}.`);

/**
 * The refusal before the provider is called when a blocked cost has shut the window, although something may be left of
 * the budget.
 */
export const windowShut = (budget: Budget, window: Window, now: Date): GatewayError =>
  refused(
    window,
    now,
    `Quota exceeded: the cost of an earlier answer would have passed what was left of the ${named(budget)}, which ${resets(window)}.`,
  );

/**
 * The refusal after the provider has answered: something may be left of the budget, but less than this answer costs.
 */
export const costExceedsBudget = (budget: Budget, window: Window, now: Date): GatewayError =>
  refused(
    window,
    now,
    `Quota exceeded: the cost of this answer would pass what is left of the ${named(budget)}, which ${resets(window)}.`,
  );

const named = ({ cadence, amount }: Budget): string => `${cadence} budget of ${toUsd(amount)} USD`;

/** Clients that read neither headers nor codes stop when they see these words and `Quota exceeded`. */
const resets = ({ until }: Window): string => `will reset at ${until.toISOString()}`;

/**
 * The time to retry is the end of the window. `Retry-After` is sent only when that is soon (`maxRetryAfterSecs`),
 * because agents silently wait for as long as it says.
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
