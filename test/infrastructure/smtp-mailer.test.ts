import { type ChildProcess, spawn } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import { afterAll, afterEach, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { SMTPServerOptions } from 'smtp-server';
import { alertMail } from '../../domain/budget/alert-mail.ts';
import type { MailConfig } from '../../infrastructure/config/server-config.ts';
import { smtpMailer } from '../../infrastructure/mail/smtp-mailer.ts';
import { type MailServer, startMailServer } from '../support/mail-server.ts';
import { selfSigned } from '../support/self-signed.ts';
import { timed } from '../support/undisturbed.ts';
import { eventually } from '../e2e/traces.ts';

const mail = { subject: 'Subject', text: 'Text', html: '<p>HTML</p>' };
const credentials = { username: 'gateway', password: 'pässword-0123456789' };

const opened: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  syncBuiltinESMExports();
  for (const close of opened.splice(0)) await close();
});

async function mailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const server = await startMailServer(options);
  opened.push(server.close);
  return server;
}

const configOf = (port: number, smtp: Partial<MailConfig['smtp']> = {}): MailConfig => ({
  from: 'alerts@example.com',
  smtp: { host: '127.0.0.1', port, starttls: false, credentials: undefined, ...smtp },
});

/** Longer than a busy machine takes. */
const bounds = { connectMs: 20_000, silenceMs: 20_000, attemptMs: 40_000 };
/** Short enough for a test to wait for. */
const brief = { connectMs: 250, silenceMs: 250, attemptMs: 5000 };

const sendBy = (config: MailConfig | undefined, to = 'ada@example.com', over: Partial<typeof bounds> = {}) =>
  smtpMailer(() => config, { ...bounds, ...over }).send(to, mail);

async function reasonOf(...sending: Parameters<typeof sendBy>): Promise<string> {
  const sent = await sendBy(...sending);
  return E.isLeft(sent) ? sent.left : 'it was sent';
}

describe('a mail', () => {
  it('reaches its recipient, with text and HTML', async () => {
    const server = await mailServer();
    expect(await sendBy(configOf(server.port))).toEqual(E.right(undefined));
    const [received, ...more] = server.mails;
    expect(more).toEqual([]);
    expect(received).toMatchObject({
      from: 'alerts@example.com',
      to: ['ada@example.com'],
      subject: 'Subject',
      text: 'Text',
      html: '<p>HTML</p>',
    });
    expect(received?.headers.map(([name]) => name).toSorted()).toEqual([
      'auto-submitted',
      'content-type',
      'date',
      'from',
      'message-id',
      'mime-version',
      'subject',
      'to',
    ]);
  });

  it('never gets an additional header, part or recipient from the name of an owner', async () => {
    const server = await mailServer();
    const send = smtpMailer(() => configOf(server.port));
    const namesOf = (headers: readonly (readonly [string, string])[]) => headers.map(([name]) => name);
    const name = fc
      .array(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 30 }),
          fc.constantFrom('\r\nBcc: x@example.com', '\n\n--', '\r\n.\r\nMAIL FROM:<x@example.com>\r\n', '\0'),
          fc.constantFrom('<script>alert(1)</script>', '</table>', '=?utf-8?b?eA==?=', '李雷 🦊 é'),
        ),
        { maxLength: 8 },
      )
      // Only what PostgreSQL can store.
      .map((pieces) => pieces.join('').replaceAll('\0', '\uFFFD').toWellFormed());
    await send.send('ada@example.com', mail);
    const usual = namesOf(server.mails[0]?.headers ?? []);
    const alertOf = (ownerName: string) =>
      alertMail(
        {
          ownerKind: 'team',
          ownerName,
          cadence: 'daily',
          window: { from: new Date(0), until: new Date(86_400_000) },
          amount: 10n,
          spent: 9n,
          hardLimit: false,
        },
        'https://gateway.example.com',
      );
    await fc.assert(
      fc.asyncProperty(fc.array(name, { minLength: 10, maxLength: 10 }), async (names) => {
        server.mails.length = 0;
        const sent = await Promise.all(
          names.map((each, index) => send.send(`n${index}@example.com`, alertOf(each))),
        );
        expect(sent.every(E.isRight)).toBe(true);
        expect(server.mails).toHaveLength(names.length);
        for (const [index, each] of names.entries()) {
          const alert = alertOf(each);
          const received = server.mails.find(({ to }) => to.includes(`n${index}@example.com`));
          expect(received?.to).toHaveLength(1);
          expect(namesOf(received?.headers ?? [])).toEqual(usual);
          expect(received?.subject).toBe(alert.subject.replaceAll('=?', '= ?'));
          expect(received?.text).toBe(alert.text);
          expect(received?.html).toBe(alert.html);
        }
      }),
      { numRuns: 15, endOnFailure: true },
    );
  });

  it.each([
    'ada@example.com, eve@example.com',
    'ada@example.com> eve@example.com',
    'ada@example.com\r\nRCPT TO:<eve@example.com>',
    'Eve <eve@example.com>, ada@example.com',
    'team:ada@example.com,eve@example.com;',
  ])('is sent to one address or to none: %j', async (to) => {
    const server = await mailServer();
    await sendBy(configOf(server.port), to);
    expect(server.mails.flatMap((each) => each.to).filter((each) => each === 'eve@example.com')).toEqual([]);
    expect(server.mails.every((each) => each.to.length === 1)).toBe(true);
  });

  it('reaches an address with non-ASCII letters', async () => {
    const server = await mailServer();
    expect(await sendBy(configOf(server.port), 'zoë@example.com')).toEqual(E.right(undefined));
    expect(server.mails).toMatchObject([{ to: ['zoë@example.com'] }]);
  });

  it.each([
    ['alerts@example.com', 'example.com'],
    ['alerts@bücher.example', 'xn--bcher-kva.example'],
  ])('from %s is announced with EHLO %s, since servers turn away a loopback address', async (from, name) => {
    const names: string[] = [];
    const server = await mailServer({
      onMailFrom: (_, { hostNameAppearsAs }, done) => {
        names.push(hostNameAppearsAs);
        done();
      },
    });
    expect(await sendBy({ ...configOf(server.port), from })).toEqual(E.right(undefined));
    expect(names).toEqual([name]);
  });

  it('is not sent where mail is not configured', async () => {
    expect(await reasonOf(undefined)).toBe('mail_not_configured');
  });
});

const trusted = getCACertificates('default');
const own = selfSigned();
afterAll(() => setDefaultCACertificates(trusted));

describe('mail is sent as it is configured', () => {
  const login: SMTPServerOptions = {
    authOptional: false,
    onAuth: ({ username, password }, _session, done) => {
      if (username === credentials.username && password === credentials.password)
        done(null, { user: username });
      else done(new Error('Authentication failed'));
    },
  };

  it('over STARTTLS with a login', async () => {
    setDefaultCACertificates([...trusted, own.cert]);
    let secure = false;
    const server = await mailServer({
      ...own,
      ...login,
      disabledCommands: [],
      onMailFrom: (_address, session, done) => {
        ({ secure } = session);
        done();
      },
    });
    for (const host of ['127.0.0.1', 'localhost'])
      expect(await sendBy(configOf(server.port, { host, starttls: true, credentials }))).toEqual(
        E.right(undefined),
      );
    expect(secure).toBe(true);
    expect(server.mails).toHaveLength(2);
  });

  it('without TLS, with a login', async () => {
    const server = await mailServer({ ...login, allowInsecureAuth: true });
    expect(await sendBy(configOf(server.port, { credentials }))).toEqual(E.right(undefined));
    expect(server.mails).toHaveLength(1);
  });

  it('without TLS also where the server offers it, with an untrusted certificate', async () => {
    const server = await mailServer({
      ...selfSigned(),
      ...login,
      disabledCommands: [],
      allowInsecureAuth: true,
    });
    expect(await sendBy(configOf(server.port, { credentials }))).toEqual(E.right(undefined));
    expect(server.mails).toHaveLength(1);
  });

  it('never without TLS where STARTTLS is configured', async () => {
    const server = await mailServer({ ...login, allowInsecureAuth: true });
    expect(await reasonOf(configOf(server.port, { starttls: true, credentials }))).toMatch(/STARTTLS/);
    expect(server.mails).toEqual([]);
  });

  it('never over STARTTLS to a server with an untrusted certificate', async () => {
    const server = await mailServer({ ...selfSigned(), ...login, disabledCommands: [] });
    expect(await reasonOf(configOf(server.port, { starttls: true, credentials }))).toMatch(/certificate/i);
    expect(server.mails).toEqual([]);
  });

  it.each(['PLAIN', 'LOGIN'])(
    'with a wrong password it fails, and the reason contains no secret (%s)',
    async (method) => {
      const wrong = { username: 'gateway', password: 'wrong/secret"&0123456789' };
      const encoded = [wrong.password, `\0${wrong.username}\0${wrong.password}`].map((text) =>
        Buffer.from(text).toString('base64'),
      );
      const spelled = [encodeURIComponent(wrong.password), JSON.stringify(wrong.password)];
      const server = await mailServer({
        ...login,
        allowInsecureAuth: true,
        authMethods: [method],
        onAuth: ({ password }, _session, done) =>
          done(new Error(`no such login: ${password}, sent as ${[...encoded, ...spelled].join(' or ')}`)),
      });
      const reason = await reasonOf(configOf(server.port, { credentials: wrong }));
      expect(reason).toMatch(/^Invalid login: 535 .*no such login: \[REDACTED\], sent as/);
      for (const secret of [wrong.password, ...encoded, ...spelled]) expect(reason).not.toContain(secret);
      expect(server.mails).toEqual([]);
    },
  );
});

describe('the reason of a mail that could not be sent', () => {
  it('is the answer of a server that rejects the recipient', async () => {
    const server = await mailServer({
      onRcptTo: (_address, _session, done) => done(new Error('nobody here is called so')),
    });
    expect(await reasonOf(configOf(server.port))).toMatch(/550 nobody here is called so/);
  });

  it('is the answer of a server that rejects the sender', async () => {
    const server = await mailServer({
      onMailFrom: (_address, _session, done) => done(new Error('we take nothing from you')),
    });
    expect(await reasonOf(configOf(server.port))).toMatch(/550 we take nothing from you/);
  });

  it('is the answer of a server that rejects the content', async () => {
    const server = await mailServer({
      onData: (stream, _session, done) => {
        stream.on('end', () => done(new Error('this looks like spam')));
        stream.resume();
      },
    });
    expect(await reasonOf(configOf(server.port))).toMatch(/450 this looks like spam/);
  });

  it('is the answer of a server that requires a login', async () => {
    const server = await mailServer({ authOptional: false, allowInsecureAuth: true });
    expect(await reasonOf(configOf(server.port))).toMatch(/530/);
  });

  it.each(['127.0.0.1', 'localhost'])('is ECONNREFUSED where no server listens on %s', async (host) => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    expect(await reasonOf(configOf(port, { host }))).toMatch(/ECONNREFUSED/);
  });

  it('names each address of a host on which no server listens', async () => {
    const found = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
    const lookup = ((_host: string, _options: object, done: (error: null, all: object[]) => void) =>
      done(null, found)) as unknown as typeof dns.lookup;
    jest.spyOn(dns, 'lookup').mockImplementation(lookup);
    syncBuiltinESMExports();
    const reason = await reasonOf(configOf(1, { host: 'several.invalid' }));
    expect(reason.split('; ').map((each) => /^connect E[A-Z]+ (127\.0\.0\.1|::1):1/.exec(each)?.[1])).toEqual(
      expect.arrayContaining(found.map(({ address }) => address)),
    );
  });

  it('names a host that does not exist, or is a timeout', async () => {
    expect(await reasonOf(configOf(25, { host: 'mail.invalid' }), undefined, brief)).toMatch(
      /mail\.invalid|timeout/i,
    );
  });
});

/** The answers of a server, by the first word of the command; the end of a mail is `.`. */
const answers: Readonly<Record<string, string>> = {
  greeting: '220 here',
  EHLO: '250-here\r\n250 AUTH PLAIN',
  AUTH: '235 welcome',
  MAIL: '250 ok',
  RCPT: '250 ok',
  DATA: '354 go on',
  '.': '250 taken',
};

/** A server that answers up to the command `stopAt`, and then does `then`. */
async function scriptedServer(stopAt: string, then: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    let inData = false;
    const answer = (command: string): void => {
      if (command === stopAt) return then(socket);
      inData = command === 'DATA';
      const words = answers[command];
      if (words !== undefined) socket.write(`${words}\r\n`);
    };
    answer('greeting');
    let text = '';
    socket.on('data', (piece: Buffer) => {
      text += piece.toString('latin1');
      for (let end = text.indexOf('\r\n'); end >= 0; end = text.indexOf('\r\n')) {
        const line = text.slice(0, end);
        text = text.slice(end + 2);
        if (!inData || line === '.') answer(line.split(' ')[0] ?? '');
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  opened.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The library skips such lines wherever it waits for an answer. */
function floodWithBlankLines(socket: Socket): void {
  const lines = Buffer.alloc(64 * 1024, '\n');
  const more = (): void => {
    if (!socket.destroyed) socket.write(lines, () => setImmediate(more));
  };
  more();
}

/** A port that accepts no more connections: its process is stopped and its backlog is full. */
async function fullPort(): Promise<{ readonly port: number; readonly close: () => Promise<void> }> {
  const script = `require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 },
    function () { console.log(this.address().port) })`;
  const child: ChildProcess = spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [printed] = (await once(child.stdout!, 'data')) as [Buffer];
  const port = Number(printed.toString());
  child.kill('SIGSTOP');
  const fillers: Socket[] = [];
  for (let full = false; !full && fillers.length < 50; ) {
    const filler = connect(port, '127.0.0.1').on('error', () => undefined);
    fillers.push(filler);
    await Promise.race([once(filler, 'connect'), sleep(150)]);
    // Checked after a pause, because a machine that was paused may report both at once.
    await sleep(50);
    full = filler.connecting;
  }
  return {
    port,
    close: async () => {
      for (const filler of fillers) filler.destroy();
      child.kill('SIGKILL');
    },
  };
}

describe('an attempt to send a mail ends in time', () => {
  it.each(Object.keys(answers))('when the server stops answering at %s', async (stopAt) => {
    const port = await scriptedServer(stopAt, () => undefined);
    const { value, ms } = await timed(() => reasonOf(configOf(port, { credentials }), undefined, brief));
    expect(value).toMatch(/time|greeting/i);
    expect(ms).toBeLessThan(2000);
  });

  it('with a limit of 55 seconds by default', async () => {
    const timeout = jest.spyOn(AbortSignal, 'timeout');
    const server = await mailServer();
    expect(await smtpMailer(() => configOf(server.port)).send('ada@example.com', mail)).toEqual(
      E.right(undefined),
    );
    expect(timeout.mock.calls).toEqual([[55_000]]);
    timeout.mockRestore();
  });

  it('when no connection can be opened', async () => {
    const { port, close } = await fullPort();
    opened.push(close);
    const { value, ms } = await timed(() => reasonOf(configOf(port), undefined, brief));
    expect(value).toMatch(/timeout/i);
    expect(ms).toBeLessThan(2000);
  });

  it.each(['greeting', 'EHLO', 'RCPT', '.'])(
    'when the server keeps sending and never finishes, at %s',
    async (at) => {
      let closed = false;
      const attempt = new AbortController();
      const port = await scriptedServer(at, (socket) => {
        const more = setInterval(() => socket.write('250-and more\r\n'), 50);
        // Its time ends when the server has got this far, however slow the machine is.
        setTimeout(() => attempt.abort(), 200);
        socket.on('close', () => {
          clearInterval(more);
          closed = true;
        });
        socket.on('end', () => socket.end());
      });
      const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(attempt.signal);
      const wide = { connectMs: 60_000, silenceMs: 60_000, attemptMs: 400 };
      expect(await reasonOf(configOf(port, { credentials }), undefined, wide)).toBe(
        'The mail server did not finish in time.',
      );
      expect(timeout.mock.calls).toEqual([[400]]);
      timeout.mockRestore();
      // The attempt does not go on after it is reported as failed: its connection is closed.
      await eventually(() => closed || undefined);
    },
  );

  it.each(['greeting', 'EHLO', '.'])('when the server sends blank lines without end, at %s', async (at) => {
    const port = await scriptedServer(at, floodWithBlankLines);
    const { value, ms } = await timed(() => reasonOf(configOf(port, { credentials })));
    expect(value).toBe('The mail server sent too much.');
    expect(ms).toBeLessThan(2000);
  });

  it('when the server sends blank lines without end over STARTTLS', async () => {
    setDefaultCACertificates([...trusted, own.cert]);
    const port = await scriptedServer('STARTTLS', (socket) => {
      socket.write('220 go on\r\n');
      const secured = new TLSSocket(socket, { ...own, isServer: true });
      secured.on('error', () => undefined).once('secure', () => floodWithBlankLines(secured));
    });
    const { value, ms } = await timed(() => reasonOf(configOf(port, { starttls: true })));
    expect(value).toBe('The mail server sent too much.');
    expect(ms).toBeLessThan(2000);
  });

  it.each(Object.keys(answers))('when the server closes the connection at %s', async (stopAt) => {
    const port = await scriptedServer(stopAt, (socket) => socket.destroy());
    const reason = await reasonOf(configOf(port, { credentials }));
    expect(reason).toMatch(/clos|ECONNRESET|hang up/i);
  });
});
