import type { Picodollars } from '../money/money.ts';

/** The alert threshold: 20 % of the amount, in hundredths of a percent. */
export const alertThresholdBps = 2000;

const wholeBps = 10_000n;

/**
 * Production does not call this: it mirrors `budget_alert_due`, which the database applies under the scope's lock when
 * it adds spend or changes a budget, and tests check the SQL against it. An alert is due when the remaining amount of a
 * budget is at or below the threshold.
 */
export const isAlertDue = (amount: Picodollars, spent: Picodollars): boolean =>
  (amount - spent) * wholeBps <= amount * BigInt(alertThresholdBps);
