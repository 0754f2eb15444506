import * as E from 'fp-ts/lib/Either.js';
import { alertMail } from '../../domain/budget/alert-mail.ts';
import type { AlertMailTelemetry, AlertQueue } from '../ports/budgets.ts';
import type { Mailer } from '../ports/mailer.ts';

/** Mails under way at once: enough for a slow server, no burden for a small one. */
const atOnce = 5;

export interface Dispatch {
  readonly queue: AlertQueue;
  readonly mailer: Mailer;
  /** What a mail says about where to look; undefined where nobody has said how people reach the admin page. */
  readonly whereToLook: () => string | undefined;
  readonly telemetry: AlertMailTelemetry;
}

/**
 * One round of the dispatcher: at most `batchSize` mails, none of them under way any more when it is over. Each
 * delivery is claimed just before its one attempt, so that what a dying process leaves in `sending` is what it was
 * really sending. Then the round reports every mail that has failed since the last report, on any replica.
 */
export const dispatchAlerts =
  ({ queue, mailer, whereToLook, telemetry }: Dispatch) =>
  async (batchSize: number, shouldContinue: () => boolean): Promise<void> => {
    await queue.giveUpStuck();
    let left = batchSize;
    const worker = async (): Promise<void> => {
      while (left > 0 && shouldContinue()) {
        left -= 1;
        const claimed = await queue.claim();
        if (claimed === undefined) return;
        const sent = await mailer.send(claimed.recipient, alertMail(claimed.alert, whereToLook()));
        if (E.isRight(sent)) {
          await queue.sent(claimed.deliveryId);
          telemetry.sent();
        } else await queue.failed(claimed.deliveryId, sent.left);
      }
    };
    const ends = await Promise.allSettled(Array.from({ length: Math.min(atOnce, batchSize) }, worker));
    for (const failure of await queue.takeFailures()) telemetry.failed(failure);
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  };
