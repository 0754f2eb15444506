import { text } from 'node:stream/consumers';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A mail as its recipient sees it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Names in lower case, in order; values unfolded and decoded. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly raw: string;
}

export interface MailServer {
  readonly port: number;
  /** Every accepted mail, in order. */
  readonly mails: ReceivedMail[];
  readonly close: () => Promise<void>;
}

/** Called when a mail has arrived completely: it is in `mails` already, and the answer is not sent yet. */
export type OnMail = (mail: ReceivedMail) => void | Promise<void>;

/** A real SMTP server. By default it requires neither TLS nor a login. */
export async function startMailServer(
  options: SMTPServerOptions = {},
  onMail: OnMail = () => undefined,
): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 100,
    onData: (stream, { envelope }, done) => {
      const take = async (): Promise<void> => {
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        const mail = { from, to, ...parseMail(await text(stream)) };
        mails.push(mail);
        await onMail(mail);
        done();
      };
      // A sender that disconnects in the middle of a mail has sent none.
      take().catch((error: unknown) => server.emit('error', error));
    },
    ...options,
  });
  // Some tests disconnect in the middle.
  server.on('error', () => undefined);
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(0, '127.0.0.1', () => {
      const address = listening.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
  return { port, mails, close: () => new Promise((resolve) => server.close(() => resolve())) };
}

type Part = Pick<ReceivedMail, 'headers'> & { readonly body: string };

function parsePart(raw: string): Part {
  const end = raw.indexOf('\r\n\r\n');
  const headers = raw
    .slice(0, end)
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), decodedWords(line.slice(colon + 1).trim())] as const;
    });
  return { headers, body: raw.slice(end + 4) };
}

const valueOf = ({ headers }: Pick<Part, 'headers'>, wanted: string): string =>
  headers.find(([name]) => name === wanted)?.[1] ?? '';

function parseMail(raw: string): Omit<ReceivedMail, 'from' | 'to'> {
  const whole = parsePart(raw);
  const [, boundary = ''] = /boundary="([^"]+)"/.exec(valueOf(whole, 'content-type')) ?? [];
  const parts = whole.body
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => parsePart(part.replaceAll(/^\r\n|\r\n$/g, '')));
  const bodyOf = (type: string): string => {
    const part = parts.find((each) => valueOf(each, 'content-type') === `${type}; charset=utf-8`);
    return part === undefined ? '' : decodedBody(part).replaceAll('\r\n', '\n');
  };
  return {
    raw,
    headers: whole.headers,
    subject: valueOf(whole, 'subject'),
    text: bodyOf('text/plain'),
    html: bodyOf('text/html'),
  };
}

function decodedBody(part: Part): string {
  switch (valueOf(part, 'content-transfer-encoding')) {
    case 'base64':
      return Buffer.from(part.body, 'base64').toString('utf8');
    case 'quoted-printable':
      return bytesOfQuoted(part.body.replaceAll('=\r\n', '')).toString('utf8');
    default:
      return part.body;
  }
}

const bytesOfQuoted = (text: string): Buffer =>
  Buffer.concat(
    text
      .split(/(=[0-9A-F]{2})/)
      .map((piece) =>
        /^=[0-9A-F]{2}$/.test(piece) ? Buffer.from(piece.slice(1), 'hex') : Buffer.from(piece, 'utf8'),
      ),
  );

/** RFC 2047; white space between two encoded words is not part of the text. */
const decodedWords = (text: string): string =>
  text
    .replaceAll(/(\?=)\s+(?==\?)/g, '$1')
    .replaceAll(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
      encoding.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : bytesOfQuoted(word.replaceAll('_', ' ')).toString('utf8'),
    );
