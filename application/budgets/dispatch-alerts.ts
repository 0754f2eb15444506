import * as E from 'fp-ts/lib/Either.js';
import { alertMail } from '../../domain/budget/alert-mail.ts';
import type { AlertMailTelemetry, AlertQueue } from '../ports/budgets.ts';
import type { Mailer } from '../ports/mailer.ts';

/** Mails sent concurrently: enough for a slow server, and no burden for a small one. */
const atOnce = 5;

export interface Dispatch {
  readonly queue: AlertQueue;
  readonly mailer: Mailer;
  /** Where a mail tells its reader to look; `undefined` when the address of the admin page is not configured. */
  readonly whereToLook: () => string | undefined;
  readonly telemetry: AlertMailTelemetry;
}

/**
 * One round of the dispatcher: at most `batchSize` mails, all finished when it ends. Each delivery is claimed just
 * before its one attempt, so that a process that dies leaves in `sending` only what it was really sending. Then the
 * round reports every mail that has failed since the last report, on any replica.
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
