import * as E from 'fp-ts/lib/Either.js';
import { sendTestMail, type TestMailPorts } from '../../../application/admin/send-test-mail.ts';
import { flagValue, objectOf, orNull, textValue } from '../answers.ts';
import { type AdminRoute, adminRoute } from './admin-route.ts';

/** Tests whether mails arrive. */
export const mailRoutes = (ports: TestMailPorts): readonly AdminRoute[] => [
  adminRoute({
    method: 'POST',
    path: '/api/v1/admin/mail/test',
    summary: 'Sends a test mail to the calling admin, and reports what the mail server answered.',
    answer: objectOf({ to: textValue, sent: flagValue, failure: orNull(textValue) }),
    errors: ['conflict', 'too_many_attempts'],
    handle: async ({ admin }) => {
      const result = await sendTestMail(ports)(admin);
      if (E.isLeft(result)) return result;
      const { to, failure } = result.right;
      return E.right({ to, sent: failure === undefined, failure: failure ?? null });
    },
  }),
];
