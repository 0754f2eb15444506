import { domainToASCII } from 'node:url';
import * as E from 'fp-ts/lib/Either.js';
import type { Mailer } from '../../application/ports/mailer.ts';
import { redactedError } from '../../domain/payload/redact.ts';
import { fewSecrets } from '../../domain/payload/secrets.ts';
import { sanitiseMessage } from '../../domain/upstream/upstream-fault.ts';
import { implicitTlsPort, type MailConfig } from '../config/server-config.ts';
import { meteredConnection } from './metered-connection.ts';

/** How long one attempt may take, in milliseconds; the library's own bounds are minutes. */
export interface MailBounds {
  /** Name look-up, connection, greeting and TLS, together. */
  readonly connectMs: number;
  /** The longest silence of the server: some inspect a mail for a while before they accept it. */
  readonly silenceMs: number;
  /** The whole attempt, which ends within 60 s (rule 41.6). */
  readonly attemptMs: number;
}

const usualBounds: MailBounds = { connectMs: 10_000, silenceMs: 30_000, attemptMs: 55_000 };

/** Mail over SMTP, with one connection for each attempt. The library is loaded with the first mail. */
export const smtpMailer = (
  config: () => MailConfig | undefined,
  bounds: MailBounds = usualBounds,
): Mailer => ({
  send: async (to, mail) => {
    const settings = config();
    if (settings === undefined) return E.left('mail_not_configured');
    const { createTransport } = await import('nodemailer');
    const signal = AbortSignal.timeout(bounds.attemptMs);
    try {
      await createTransport(transportOf(settings, bounds)).sendMail({
        ...mail,
        // A mail program would decode anything that looks like an encoded word (RFC 2047).
        subject: mail.subject.replaceAll('=?', '= ?'),
        from: settings.from,
        // An object is one address, whatever it contains.
        to: { name: '', address: to },
        // RFC 3834: keeps absence notices from being sent in reply.
        headers: { 'Auto-Submitted': 'auto-generated' },
        signal,
      });
      return E.right(undefined);
    } catch (error) {
      return E.left(signal.aborted ? 'The mail server did not finish in time.' : reasonOf(error, settings));
    }
  },
});

const transportOf = ({ from, smtp }: MailConfig, { connectMs, silenceMs }: MailBounds) => ({
  // The library would greet with `[127.0.0.1]` where the machine's name has no dot, as in containers: Google's relay and
  // other servers turn that away.
  name: domainToASCII(from.slice(from.lastIndexOf('@') + 1)),
  host: smtp.host,
  port: smtp.port,
  secure: smtp.port === implicitTlsPort,
  requireTLS: smtp.starttls,
  ignoreTLS: !smtp.starttls,
  getSocket: (_options: unknown, done: Parameters<typeof meteredConnection>[1]) =>
    meteredConnection({ host: smtp.host, port: smtp.port, withinMs: connectMs }, done),
  connectionTimeout: connectMs,
  greetingTimeout: connectMs,
  socketTimeout: silenceMs,
  ...(smtp.credentials === undefined
    ? {}
    : { auth: { user: smtp.credentials.username, pass: smtp.credentials.password } }),
});

/**
 * The error of the server or the network, without the password in any form: plain, escaped, or base64 as it was sent.
 */
function reasonOf(error: unknown, { smtp }: MailConfig): string {
  const { username = '', password } = smtp.credentials ?? {};
  const secrets =
    password === undefined
      ? []
      : [password, ...[password, `\0${username}\0${password}`].map((text) => btoaUtf8(text))];
  return sanitiseMessage(redactedError(wordsOf(error), { secrets: fewSecrets(secrets) }), secrets);
}

const btoaUtf8 = (text: string): string => Buffer.from(text).toString('base64');

/** A host with several addresses fails with one error for each of them, and no message of its own. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0)
    return [...new Set(error.errors.map(wordsOf))].join('; ');
  return error instanceof Error ? error.message : String(error);
}
