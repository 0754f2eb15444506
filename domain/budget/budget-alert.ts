import type { Picodollars } from '../money/money.ts';

/** The alert threshold: 20 % of the amount, in hundredths of a percent. */
export const alertThresholdBps = 2000;

const wholeBps = 10_000n;

/**
 * An alert is due when what remains of a budget is at or below the threshold. `budget_alert_due` in the database is
 * this rule again, where spend is added under the scope's lock; a contract test holds the two together.
 */
export const isAlertDue = (amount: Picodollars, spent: Picodollars): boolean =>
  (amount - spent) * wholeBps <= amount * BigInt(alertThresholdBps);
