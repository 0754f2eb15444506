import { setTimeout as sleep } from 'node:timers/promises';
import * as E from 'fp-ts/lib/Either.js';
import type { Mailer } from '../../application/ports/mailer.ts';
import { sanitiseMessage } from '../../domain/upstream/upstream-fault.ts';
import type { MailConfig } from '../config/server-config.ts';

/** Each step of a mail may take this long; the library's own bounds are minutes. */
const stepTimeoutMs = 10_000;
/** The one port on which TLS comes before the first word. */
const implicitTlsPort = 465;
/** One attempt ends within 60 s (CONTRACT §6). */
const attemptTimeoutMs = 55_000;

/** Mail over SMTP, one connection for each attempt. The library is loaded with the first mail. */
export const smtpMailer = (config: () => MailConfig | undefined): Mailer => ({
  send: async (to, mail) => {
    const settings = config();
    if (settings === undefined) return E.left('mail_not_configured');
    const { createTransport } = await import('nodemailer');
    const transport = createTransport(transportOf(settings));
    const giveUp = new AbortController();
    try {
      await Promise.race([
        transport.sendMail({ from: settings.from, to, ...mail }),
        sleep(attemptTimeoutMs, undefined, { signal: giveUp.signal, ref: false }).then(() => {
          throw new Error('the mail server did not finish in time');
        }),
      ]);
      return E.right(undefined);
    } catch (error) {
      return E.left(reasonOf(error, settings));
    } finally {
      giveUp.abort();
      transport.close();
    }
  },
});

const transportOf = ({ smtp }: MailConfig) => ({
  host: smtp.host,
  port: smtp.port,
  secure: smtp.port === implicitTlsPort,
  requireTLS: smtp.starttls,
  ignoreTLS: !smtp.starttls,
  connectionTimeout: stepTimeoutMs,
  greetingTimeout: stepTimeoutMs,
  socketTimeout: stepTimeoutMs,
  dnsTimeout: stepTimeoutMs,
  ...(smtp.credentials === undefined
    ? {}
    : { auth: { user: smtp.credentials.username, pass: smtp.credentials.password } }),
});

/** What the server or the network said, without the password. */
function reasonOf(error: unknown, { smtp }: MailConfig): string {
  const message = error instanceof Error ? error.message : String(error);
  const secrets = smtp.credentials === undefined ? [] : [smtp.credentials.password];
  return sanitiseMessage(message, secrets);
}
