import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { testMail } from '../../domain/budget/alert-mail.ts';
import type { GatewayError } from '../../domain/shared/gateway-error.ts';
import type { AdminActor } from '../ports/admin-events.ts';
import type { Mailer } from '../ports/mailer.ts';
import type { TestMails } from '../ports/test-mails.ts';

export interface TestMailPorts {
  readonly mailer: Mailer;
  readonly testMails: TestMails;
  readonly mailReady: () => boolean;
  /** The gateway's address, as people know it. */
  readonly whereFrom: () => string;
}

/** The outcome of a test mail. */
export interface TestMailResult {
  readonly to: string;
  /** Why the mail server did not accept it, without secrets; `undefined` when it did. */
  readonly failure: string | undefined;
}

/** The limit on test mails: each may take a minute, and an admin's address must not be used to flood strangers. */
const most = 5;
const minutes = 10;

const notConfigured: GatewayError = {
  code: 'conflict',
  message: 'There is no `mail` section in the configuration: nothing was sent.',
};

const tooMany: GatewayError = {
  code: 'too_many_attempts',
  message: `At most ${most} test mails in ${minutes} minutes: nothing was sent.`,
  retryAfterSecs: minutes * 60,
};

/** Sends a mail to the admin who asks, and to nobody else, and waits for the mail server's answer. */
export const sendTestMail =
  ({ mailer, testMails, mailReady, whereFrom }: TestMailPorts) =>
  async (admin: AdminActor & { readonly email: string }): Promise<Either<GatewayError, TestMailResult>> => {
    if (!mailReady()) return E.left(notConfigured);
    const to = admin.email;
    if (!(await testMails.record({ to, most, minutes }, admin))) return E.left(tooMany);
    const sent = await mailer.send(to, testMail(whereFrom()));
    return E.right({ to, failure: E.isLeft(sent) ? sent.left : undefined });
  };
