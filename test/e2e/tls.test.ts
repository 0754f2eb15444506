import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import path from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { startSimulatedUpstream, type SimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { account, makeAdmin } from '../support/admin.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  runGateway,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { selfSigned } from '../support/self-signed.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { timed } from '../support/undisturbed.ts';
import { logged, startCommand, times } from './processes.ts';
import { rawExchange } from './raw-http.ts';
import { eventually } from './traces.ts';

type Pair = ReturnType<typeof selfSigned>;

const database = withDatabase();
const key = aKey();
const admins = selfSigned();
const refused = 'the certificate was refused, and the old one stays';
let callers = selfSigned();
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let folder = '';
/** A silent connection, from the start of the gateway until it is closed; the tests run meanwhile. */
let silence: Promise<{ readonly ms: number }>;

const at = (name: string): string => path.join(folder, name);
const filesOf = (name: string) => ({ cert_file: at(`${name}.pem`), key_file: at(`${name}.key`) });

async function write(name: string, { cert, key: privateKey }: Pair): Promise<void> {
  await writeFile(at(`${name}.pem`), cert);
  await writeFile(at(`${name}.key`), privateKey);
}

const config = (): ConfigFile =>
  basicConfig(upstream.url, key, {
    more: {
      server: {
        bind: '127.0.0.1:0',
        admin_bind: '127.0.0.1:0',
        tls: filesOf('callers'),
        admin_tls: { ...filesOf('admins'), min_version: 'TLSv1.3' },
        shutdown_grace_secs: 1,
      },
    },
  });

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0 });
  folder = await makeTestFolder('tls-listener');
  await write('callers', callers);
  await write('admins', admins);
  gateway = await startGateway(config(), database.url());
  silence = timed(() => once(connectPlain(Number(new URL(gateway.url).port), '127.0.0.1'), 'close'));
  await makeAdmin(database.url());
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});

/** A connection whose handshake is complete. */
async function secured(url: string, options: ConnectionOptions): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  const socket = connect({
    host: hostname,
    port: Number(port),
    ALPNProtocols: ['h2', 'http/1.1'],
    ...options,
  });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** Whether a listener presents the certificate of `pair` to a new connection, which trusts no other. */
async function isShown(url: string, { cert }: Pair): Promise<boolean> {
  const socket = await secured(url, { ca: cert }).catch(() => undefined);
  socket?.destroy();
  return socket !== undefined;
}

/** Which of these suites of TLS 1.2 a listener accepts; all but the first authenticate what is not yet encrypted. */
async function suitesOf(url: string, { cert }: Pair): Promise<readonly string[]> {
  const accepted: string[] = [];
  for (const ciphers of [
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-AES256-SHA384',
    'ECDHE-ECDSA-AES128-SHA256',
    'ECDHE-ECDSA-AES128-SHA',
  ]) {
    const socket = await secured(url, { ca: cert, maxVersion: 'TLSv1.2', ciphers }).catch(() => undefined);
    socket?.destroy();
    if (socket !== undefined) accepted.push(ciphers);
  }
  return accepted;
}

interface Answer {
  readonly status: number | undefined;
  readonly cookie: string | undefined;
  readonly text: string;
}

function ask(
  url: string,
  ca: string,
  more: { body?: object; headers?: Record<string, string>; agent?: Agent } = {},
) {
  const { body, headers, agent = new Agent({ keepAlive: false, ca }) } = more;
  return new Promise<Answer>((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const asked = request(url, {
      method,
      agent,
      headers: { 'content-type': 'application/json', ...headers },
    });
    asked.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      response
        .on('error', reject)
        .on('end', () =>
          resolve({ status: response.statusCode, cookie: response.headers['set-cookie']?.[0], text }),
        );
    });
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const authorization = `Bearer ${key}`;

describe('server.tls', () => {
  it('answers clients over https, with HTTP/1.1 and the certificate of the file', async () => {
    expect(gateway.url).toMatch(/^https:/);
    const { status } = await ask(`${gateway.url}/v1/models`, callers.cert, { headers: { authorization } });
    expect(status).toBe(200);
    const socket = await secured(gateway.url, { ca: callers.cert });
    expect([socket.authorized, socket.alpnProtocol]).toEqual([true, 'http/1.1']);
    socket.destroy();
  });

  it('min_version is the oldest accepted version, TLS 1.2 by default', async () => {
    const old: ConnectionOptions = { maxVersion: 'TLSv1.2' };
    const older: ConnectionOptions = {
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'ALL@SECLEVEL=0',
    };
    const spoken = await secured(gateway.url, { ca: callers.cert, ...old });
    expect(spoken.getProtocol()).toBe('TLSv1.2');
    spoken.destroy();
    await expect(secured(gateway.url, { ca: callers.cert, ...older })).rejects.toThrow(
      /alert protocol version/,
    );
    await expect(secured(gateway.adminUrl, { ca: admins.cert, ...old })).rejects.toThrow(
      /alert protocol version/,
    );
  });

  it('speaks TLS 1.2 only with forward secrecy and authenticated encryption, also after a renewal', async () => {
    expect(await suitesOf(gateway.url, callers)).toEqual(['ECDHE-ECDSA-AES256-GCM-SHA384']);
    callers = selfSigned();
    await write('callers', callers);
    await gateway.take(config());
    expect(await suitesOf(gateway.url, callers)).toEqual(['ECDHE-ECDSA-AES256-GCM-SHA384']);
  });

  it('admin_tls is the certificate of the admin listener, which sets Secure cookies and refuses http origins', async () => {
    expect(await isShown(gateway.adminUrl, callers)).toBe(false);
    const { origin } = new URL(gateway.adminUrl);
    const login = `${origin}/api/v1/auth/login`;
    const { status, cookie } = await ask(login, admins.cert, { body: account, headers: { origin } });
    expect([status, cookie]).toEqual([200, expect.stringMatching(/; Secure$/)]);
    const foreign = { origin: origin.replace('https', 'http') };
    expect(await ask(login, admins.cert, { body: account, headers: foreign })).toMatchObject({ status: 403 });
  });

  it('closes a connection without TLS, and still serves existing and new connections', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: callers.cert });
    const here = async () => (await ask(`${gateway.url}/healthz`, '', { agent })).status;
    expect(await here()).toBe(200);
    const [socket] = Object.values(agent.freeSockets).flat();
    const plain = gateway.url.replace('https', 'http');
    await expect(rawExchange(plain, { method: 'GET', path: '/healthz' })).rejects.toThrow();
    expect(await here()).toBe(200);
    expect(Object.values(agent.freeSockets).flat()).toEqual([socket]);
    agent.destroy();
    expect(await isShown(gateway.url, callers)).toBe(true);
  });
});

describe('a certificate that changes', () => {
  it('is presented to new connections after a reload; existing connections stay open', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: callers.cert });
    const here = async () => (await ask(`${gateway.url}/healthz`, '', { agent })).status;
    expect(await here()).toBe(200);
    const next = selfSigned();
    await write('callers', next);
    await gateway.take(config());
    expect(await isShown(gateway.url, callers)).toBe(false);
    expect(await isShown(gateway.url, next)).toBe(true);
    // A new connection of this agent would not trust the new certificate.
    expect(await here()).toBe(200);
    agent.destroy();
    callers = next;
  });

  it('is also presented without a reload', async () => {
    const next = selfSigned();
    await write('callers', next);
    await eventually(async () => ((await isShown(gateway.url, next)) ? true : undefined));
    callers = next;
    expect(await isShown(gateway.adminUrl, admins)).toBe(true);
  });

  it('is refused if its key does not match: the old one stays, and an error is logged', async () => {
    const next = selfSigned();
    await writeFile(at('callers.pem'), next.cert);
    await expect(gateway.take(config())).rejects.toThrow(
      `${at('callers.key')} is not the key of the certificate in ${at('callers.pem')}`,
    );
    const lines = () => gateway.log.lines.filter(({ message }) => message === refused);
    await eventually(() => (lines().length > 0 ? true : undefined));
    expect(lines()).toMatchObject([
      {
        level: 'error',
        fields: { section: 'server.tls', problem: expect.stringContaining('is not the key') },
      },
    ]);
    expect(await isShown(gateway.url, callers)).toBe(true);
    await write('callers', next);
    await gateway.take(config());
    expect(await isShown(gateway.url, next)).toBe(true);
    callers = next;
  });
});

describe('a silent connection', () => {
  it('is closed after about ten seconds without a handshake', async () => {
    const { ms } = await silence;
    expect(ms).toBeGreaterThan(9000);
    expect(ms).toBeLessThan(20_000);
  });
});

describe('a certificate that cannot be used', () => {
  it('prevents a start, and check-config names the key', async () => {
    const own = await makeTestFolder('tls-wrong');
    const tls = { cert_file: path.join(own, 'cert.pem'), key_file: path.join(own, 'cert.key') };
    await writeFile(tls.cert_file, callers.cert);
    await writeFile(tls.key_file, admins.key);
    const file = path.join(own, 'gateway.yaml');
    await writeFile(file, stringify({ server: { tls } }));
    const checked = await runGateway(['check-config', file], {});
    expect([checked.code, checked.err]).toEqual([
      1,
      `error ${file}:4:15: server.tls.key_file: ${tls.key_file} is not the key of the certificate in ${tls.cert_file}\n`,
    ]);
    const started = await runGateway(['serve'], { GATEWAY_CONFIG: file, DATABASE_URL: database.url() });
    expect([started.code, started.err]).toEqual([1, checked.err]);
  });
});

describe('gateway serve --workers 2 with TLS and two listeners', () => {
  it('serves both with all workers, and stops within 8 seconds despite open handshakes', async () => {
    const file = at('workers.yaml');
    await writeFile(file, stringify(config()));
    const serving = startCommand(['serve', '--workers', '2'], {
      GATEWAY_CONFIG: file,
      DATABASE_URL: database.url(),
    });
    await times(serving, 'listening', 2);
    const [one, other] = logged(serving, 'listening');
    expect([one?.['url'], one?.['admin_url']]).toEqual([other?.['url'], other?.['admin_url']]);
    const [url, adminUrl] = [String(one?.['url']), String(one?.['admin_url'])];
    for (let round = 0; round < 4; round += 1) {
      expect(await ask(`${url}/readyz`, callers.cert)).toMatchObject({ status: 200 });
      expect(await ask(`${adminUrl}/readyz`, admins.cert)).toMatchObject({ status: 200 });
    }
    // Of two connections to each listener every worker has one, and loses it when it dies.
    const open = {
      callers: [await secured(url, { ca: callers.cert }), await secured(url, { ca: callers.cert })],
      admins: [await secured(adminUrl, { ca: admins.cert }), await secured(adminUrl, { ca: admins.cert })],
    };
    process.kill(Number(one?.['pid']), 'SIGKILL');
    await times(serving, 'listening', 3);
    const left = (sockets: readonly TLSSocket[]) => sockets.filter(({ closed }) => !closed).length;
    await eventually(() => (left(open.callers) + left(open.admins) > 2 ? undefined : true));
    expect([left(open.callers), left(open.admins)]).toEqual([1, 1]);
    for (const each of [...open.callers, ...open.admins]) each.destroy();
    const silent = [url, adminUrl].map((each) => connectPlain(Number(new URL(each).port), '127.0.0.1'));
    for (const each of silent) each.on('error', () => undefined);
    await Promise.all(silent.map((each) => once(each, 'connect')));
    const { value, ms } = await timed(() => {
      serving.child.kill('SIGTERM');
      return serving.exited;
    });
    expect(value).toEqual({ code: 0, signal: null });
    // A handshake has 10 seconds.
    expect(ms).toBeLessThan(8000);
    expect(serving.err()).toBe('');
  });
});
