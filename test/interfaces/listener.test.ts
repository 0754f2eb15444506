import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Server } from 'node:http';
import { connect, Server as NetServer, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { listener, type ListenerTerms } from '../../interfaces/http/listener.ts';

const aDoor = (handle: ListenerTerms['handle']) =>
  listener({
    host: '127.0.0.1',
    port: 0,
    handle,
    newId: () => 'id',
    maxConnections: 1,
    full: () => undefined,
    tls: undefined,
  });

/** Everything received over one connection; each request is sent after the one before it is answered. */
async function overOne(handle: ListenerTerms['handle'], ...requests: readonly string[]): Promise<string> {
  const door = aDoor(handle);
  await door.open(true);
  const socket = connect(Number(new URL(door.url()).port), '127.0.0.1');
  const [first = '', ...later] = requests;
  socket.write(first);
  socket.on('data', () => {
    const next = later.shift();
    if (next !== undefined) socket.write(next);
  });
  const answers = await text(socket);
  await door.stop();
  return answers;
}

const aRequest = 'POST / HTTP/1.1\r\nhost: a\r\n';

it('answers any number of consecutive requests of a connection', async () => {
  const requests = Array.from({ length: 40 }, () => `${aRequest}content-length: 0\r\n\r\n`);
  const last = `${aRequest}content-length: 0\r\nconnection: close\r\n\r\n`;
  const answers = await overOne(async (_, res) => res.end('x'), ...requests, last);
  expect(answers.split('HTTP/1.1 200')).toHaveLength(42);
});

it('does not ask for the body of a request that it has already rejected', async () => {
  const refuse: ListenerTerms['handle'] = async (req, res) => {
    res.writeHead(401).write('no');
    req.resume();
    setImmediate(() => res.end());
  };
  const awaiting = `${aRequest}content-length: 2\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n`;
  expect(await overOne(refuse, awaiting)).not.toContain('100 Continue');
});

/** The timer that Linux has for the connection with this local port, and in how many seconds it expires. */
async function tcpTimer(port: number): Promise<{ readonly timer: string; readonly secs: number }> {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const established = new RegExp(
    `^ *\\d+: [0-9A-F]+:${hex} [0-9A-F]+:[0-9A-F]+ 01 \\S+ (\\d\\d):([0-9A-F]+)`,
    'm',
  );
  const [, timer = '', expires = ''] = established.exec(await readFile('/proc/net/tcp', 'utf8')) ?? [];
  return { timer, secs: Number.parseInt(expires, 16) / 100 };
}

(process.platform === 'linux' ? it : it.skip)(
  'probes connections that are silent for a minute, since load balancers forget them while a model thinks',
  async () => {
    const arrived = Promise.withResolvers<void>();
    const door = aDoor(async () => arrived.resolve());
    await door.open(true);
    const port = Number(new URL(door.url()).port);
    const socket = connect(port, '127.0.0.1');
    socket.write(`${aRequest}content-length: 0\r\n\r\n`);
    await arrived.promise;
    const { timer, secs } = await tcpTimer(port);
    expect(timer).toBe('02');
    expect(secs).toBeGreaterThan(50);
    expect(secs).toBeLessThanOrEqual(60);
    socket.destroy();
    await door.stop();
  },
);

it('has connections closed that answer no probe for two minutes', async () => {
  const asked = jest.spyOn(Socket.prototype, 'setKeepAlive');
  await overOne(async (_, res) => res.end(), `${aRequest}content-length: 0\r\nconnection: close\r\n\r\n`);
  const [, silentMs, everyMs = 0, unanswered = 0] = asked.mock.calls[0] as readonly number[];
  asked.mockRestore();
  expect([silentMs, everyMs * unanswered]).toEqual([60_000, 120_000]);
});

it('limits the time of headers, and not that of bodies', async () => {
  const listen = jest.spyOn(NetServer.prototype, 'listen');
  const door = aDoor(async () => undefined);
  await door.open(true);
  await door.stop();
  const [server] = listen.mock.contexts;
  listen.mockRestore();
  if (!(server instanceof Server)) throw new Error('nothing listened');
  expect([server.headersTimeout, server.requestTimeout]).toEqual([60_000, 0]);
});

it('says in the last answer of each connection that it ends, if the stop comes before the head of that answer', async () => {
  const stopped = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  let requests = 0;
  const door = aDoor(async (_, res) => {
    requests += 1;
    if (requests === 2) arrived.resolve();
    await stopped.promise;
    res.end('x');
  });
  await door.open(true);
  const socket = connect(Number(new URL(door.url()).port), '127.0.0.1');
  socket.write(`${aRequest}content-length: 0\r\n\r\n`.repeat(2));
  await arrived.promise;
  const ended = door.stop();
  stopped.resolve();
  const answers = await text(socket);
  expect(answers.match(/connection: [a-z-]+/gi)).toEqual(['Connection: keep-alive', 'Connection: close']);
  await ended;
});

it('says in the answer that a connection ends, if its request comes after the stop', async () => {
  const door = aDoor(async (_, res) => res.end('x'));
  await door.open(true);
  const socket = connect(Number(new URL(door.url()).port), '127.0.0.1');
  socket.write(`${aRequest}content-length: 0\r\n\r\n`);
  await once(socket, 'readable');
  const ended = door.stop();
  socket.write(`${aRequest}content-length: 0\r\n\r\n`);
  const answers = await text(socket);
  expect(answers.match(/connection: [a-z-]+/gi)).toEqual(['Connection: keep-alive', 'Connection: close']);
  await ended;
});

it('starts at most 32 requests of a connection at once, however many it has answered before', async () => {
  let begun = 0;
  const door = aDoor(async (_, res) => {
    begun += 1;
    if (begun <= 10) res.end('x');
  });
  await door.open(true);
  const socket = connect(Number(new URL(door.url()).port), '127.0.0.1');
  for (let answered = 0; answered < 10; answered += 1) {
    socket.write(`${aRequest}content-length: 0\r\n\r\n`);
    await once(socket, 'data');
  }
  const closed = once(socket, 'close');
  socket.write(`${aRequest}content-length: 0\r\n\r\n`.repeat(40));
  await closed;
  expect(begun).toBe(10 + 32);
  await door.stop();
});

describe('an answer in progress', () => {
  const late: ListenerTerms['handle'] = async (_, res) => {
    res.write('first ');
    await sleep(50);
    res.end('last');
  };
  const notBegun: ListenerTerms['handle'] = async (_, res) => {
    await sleep(50);
    res.end('first last');
  };
  const whole = `${aRequest}content-length: 0\r\n\r\n`;
  it.each([
    ['by bytes that are not HTTP', `${whole}\u0001\r\n\r\n`],
    ['by too many headers', `${whole}${aRequest}${'a: b\r\n'.repeat(1100)}\r\n`],
    ['by another request after `Connection: close`', `${aRequest}connection: close\r\n\r\n${whole}`],
    ['by another request and bytes that are not HTTP', `${whole}${whole}\u0001`],
  ])('is sent completely, and the connection then closes, if its request is followed %s', async (_, sent) => {
    for (const handle of [late, notBegun]) {
      const answers = await overOne(handle, sent);
      const requests = sent.startsWith(whole + whole) ? 2 : 1;
      expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(
        Array.from({ length: requests }, () => 'HTTP/1.1 200'),
      );
      expect(answers.match(/first /g)).toHaveLength(requests);
      expect(answers.match(/last/g)).toHaveLength(requests);
    }
  });

  it('is sent completely if its request is followed by endless bytes, and no listeners accumulate', async () => {
    const flooded = Promise.withResolvers<void>();
    const listeners = Promise.withResolvers<number>();
    const door = aDoor(async (_, res) => {
      res.write('first ');
      await flooded.promise;
      listeners.resolve(res.listenerCount('finish'));
      res.end('last');
    });
    await door.open(true);
    const socket = connect(Number(new URL(door.url()).port), '127.0.0.1');
    socket.write(whole);
    for (let sent = 0; sent < 40; sent += 1) {
      socket.write('\u0001'.repeat(1000));
      await sleep(2);
    }
    flooded.resolve();
    expect(await text(socket)).toContain('last');
    // One of Node's own, and one of this listener's.
    expect(await listeners.promise).toBe(2);
    await door.stop();
  });
});
