import type { AlertMailTelemetry } from '../application/ports/budgets.ts';
import type { Log } from './logging.ts';

export interface AlertMails extends AlertMailTelemetry {
  /** How many mails this process has reported. */
  readonly counts: () => { readonly sent: number; readonly failed: number };
}

/** Counts alert mails, and logs each failed one with its reason. The recipient is in the table, not in the log. */
export function alertMails(log: Log): AlertMails {
  let sent = 0;
  let failed = 0;
  return {
    sent: () => {
      sent += 1;
    },
    failed: ({ deliveryId, budgetAlertId, owner, reason }) => {
      failed += 1;
      const of = owner.kind === 'user' ? { user_id: owner.userId } : { team_id: owner.teamId };
      log.warn(
        { delivery_id: deliveryId, budget_alert_id: budgetAlertId, ...of, reason },
        'budget alert mail failed',
      );
    },
    counts: () => ({ sent, failed }),
  };
}
