import type { DatabasePool } from 'slonik';
import { dispatchAlerts } from '../application/budgets/dispatch-alerts.ts';
import type { LiveConfig } from '../infrastructure/config/live-config.ts';
import type { Log } from '../infrastructure/logging.ts';
import { type AlertMails, alertMails } from '../infrastructure/alert-mails.ts';
import { smtpMailer } from '../infrastructure/mail/smtp-mailer.ts';
import { alertQueue } from '../infrastructure/postgres/alerts-store.ts';

export interface BudgetAlerting {
  /** One round of the dispatcher. */
  readonly dispatch: ReturnType<typeof dispatchAlerts>;
  /** Mails sent, and failures that this process has reported. */
  readonly counts: AlertMails['counts'];
}

/** The dispatcher of alert mails, with its queue, mailer and telemetry. */
export function budgetAlerting(pool: DatabasePool, config: LiveConfig, log: Log): BudgetAlerting {
  const telemetry = alertMails(log);
  const dispatch = dispatchAlerts({
    queue: alertQueue(pool, config.loaded().config.database.distribution),
    mailer: smtpMailer(() => config.loaded().config.mail),
    whereToLook: () => {
      const { publicBaseUrl } = config.loaded().config.server;
      return publicBaseUrl === undefined ? undefined : `${publicBaseUrl}/admin/budgets`;
    },
    telemetry,
  });
  return { dispatch, counts: telemetry.counts };
}

/** Whether mails can be sent with the configuration in force. */
export const mailReady = (config: LiveConfig) => (): boolean => config.loaded().config.mail !== undefined;
