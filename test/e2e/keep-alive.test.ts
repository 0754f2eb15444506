import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Client } from 'pg';
import { streamKeepAlive } from '../../interfaces/http/keep-alive.ts';
import { untilFlushed } from '../../interfaces/http/stalled-caller.ts';
import { aKey, basicConfig, type ConfigFile, startGateway, type TestGateway } from '../support/gateway.ts';
import { grammarFault } from '../support/messages-grammar.ts';
import { heldScene } from './held-scene.ts';
import type { HeldCall } from './held-upstream.ts';
import { beginExchange, rawSocket } from './raw-http.ts';
import { messages, type Talk, talks, wholeStream } from './talk.ts';
import { eventually } from './traces.ts';

const comment = ': keep-alive\n\n';
const ping = 'event: ping\ndata: {"type":"ping"}\n\n';
const aliveIn = (talk: Talk): string => (talk === messages ? ping : comment);

/** The period of 1 s, the 0.25 s in which silence is noticed, and what a busy machine adds. */
const noticedMs = 1400;

const key = aKey();

const configOf = (upstreamUrl: string, stream_keepalive_secs: number): ConfigFile =>
  basicConfig(upstreamUrl, key, { more: { server: { bind: '127.0.0.1:0', stream_keepalive_secs } } });

const { gateway, upstream, databaseUrl } = heldScene((url) => configOf(url, 1));

interface Caller {
  readonly talk: Talk;
  readonly socket: Socket;
  /** The bytes of the answer, including the head and chunk sizes. */
  readonly received: () => string;
  /** The body so far, without chunk sizes. */
  readonly body: () => string;
  readonly receives: (text: string, withinMs?: number) => Promise<true>;
}

function call(talk: Talk, at = gateway()): Caller {
  const socket = beginExchange(at.url, {
    path: talk.path,
    headers: [
      ['authorization', `Bearer ${key}`],
      ['content-type', 'application/json'],
      ['accept-encoding', 'gzip, deflate, br, zstd'],
    ],
    body: JSON.stringify(talk.body(true)),
  });
  let bytes = Buffer.alloc(0);
  socket.on('data', (piece: Buffer) => void (bytes = Buffer.concat([bytes, piece])));
  const received = () => bytes.toString('latin1');
  return {
    talk,
    socket,
    received,
    body: () => unchunked(received()),
    receives: (text, withinMs) => eventually(() => (received().includes(text) ? true : undefined), withinMs),
  };
}

/** The data of all chunks in sequence; the last chunk may be incomplete. */
function unchunked(text: string): string {
  let body = '';
  let at = text.indexOf('\r\n\r\n') + 4;
  for (;;) {
    const end = text.indexOf('\r\n', at);
    const size = Number.parseInt(text.slice(at, end), 16);
    if (end < 0 || !(size > 0)) return body;
    body += text.slice(end + 2, end + 2 + size);
    at = end + 2 + size + 2;
  }
}

/** One caller of each family, with its upstream call. */
async function onePerFamily(): Promise<readonly { readonly caller: Caller; readonly held: HeldCall }[]> {
  const pairs = [];
  for (const talk of talks) pairs.push({ caller: call(talk), held: await upstream().next() });
  return pairs;
}

/** The events of a stream, each as its text; an incomplete event is one of them. */
const eventsOf = (body: string): readonly string[] => body.split('\n\n').filter((event) => event !== '');

const isAlive = (event: string): boolean => [comment, ping].includes(`${event}\n\n`);

/** The keep-alives that a caller has received. */
const aliveAt = ({ body }: Caller): readonly string[] => eventsOf(body()).filter(isAlive);

/** Waits until each caller has `times` keep-alives; returns the maximum that one per second allows so far. */
async function untilAlive(callers: readonly Caller[], times: number): Promise<() => number> {
  const beganAt = performance.now();
  for (const caller of callers)
    await eventually(() => (aliveAt(caller).length >= times ? true : undefined), 10_000);
  return () => Math.ceil((performance.now() - beganAt) / 1000);
}

/** The event with the gateway's own ids replaced, since they differ between answers. */
const said = (event: string): string => event.replaceAll(/msg_[0-9a-f]{32}/g, 'msg_own');

/** Checks that the stream without its keep-alives has the same events as one without pauses. */
function expectWholeStream({ talk, body }: Caller, quiet: readonly string[]): void {
  const told = eventsOf(body()).filter((event) => !isAlive(event));
  expect(told.map(said)).toEqual(quiet.map(said));
  if (talk !== messages) return;
  const payloads = told.map((event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as unknown);
  expect(grammarFault(payloads)).toBeUndefined();
}

/** A stream of each family whose upstream does not pause. */
async function quietStreams(): Promise<readonly (readonly string[])[]> {
  const pairs = await onePerFamily();
  for (const { caller, held } of pairs) {
    held.head('stream');
    held.write(wholeStream(caller.talk));
    held.end();
  }
  for (const { caller } of pairs) await caller.receives('\r\n0\r\n\r\n');
  return pairs.map(({ caller }) => eventsOf(caller.body()).filter((event) => !isAlive(event)));
}

describe('stream keep-alives', () => {
  it('are sent after the headers while the upstream has sent no event yet', async () => {
    const quiet = await quietStreams();
    const pairs = await onePerFamily();
    for (const { held } of pairs) held.head('stream');
    for (const { caller } of pairs) await caller.receives('\r\n\r\n');
    await untilAlive(
      pairs.map(({ caller }) => caller),
      1,
    );
    for (const { caller, held } of pairs) {
      expect(caller.body().replaceAll(aliveIn(caller.talk), '')).toBe('');
      held.write(wholeStream(caller.talk));
      held.end();
    }
    for (const [index, { caller }] of pairs.entries()) {
      await caller.receives('\r\n0\r\n\r\n');
      expectWholeStream(caller, quiet[index] ?? []);
    }
  });

  it('are sent at most once a second while the upstream pauses inside an event, and split no event', async () => {
    const quiet = await quietStreams();
    const pairs = await onePerFamily();
    for (const { caller, held } of pairs) {
      const stream = wholeStream(caller.talk);
      const middle = stream.indexOf('piece') + 2;
      held.head('stream');
      held.write(stream.slice(0, middle));
    }
    const atMost = await untilAlive(
      pairs.map(({ caller }) => caller),
      2,
    );
    for (const { caller, held } of pairs) {
      const stream = wholeStream(caller.talk);
      held.write(stream.slice(stream.indexOf('piece') + 2));
      held.end();
    }
    for (const [index, { caller }] of pairs.entries()) {
      await caller.receives('\r\n0\r\n\r\n');
      const alive = aliveAt(caller);
      expect(new Set(alive.map((event) => `${event}\n\n`))).toEqual(new Set([aliveIn(caller.talk)]));
      // At most one per second.
      expect(alive.length).toBeLessThanOrEqual(atMost());
      expectWholeStream(caller, quiet[index] ?? []);
    }
  });

  it('are sent while the settlement is slow, before the end of the stream and never after it', async () => {
    const quiet = await quietStreams();
    const pairs = await onePerFamily();
    const blocker = new Client(databaseUrl());
    await blocker.connect();
    await blocker.query('begin; lock table usage_cost_events in access exclusive mode');
    for (const { caller, held } of pairs) {
      held.head('stream');
      held.write(wholeStream(caller.talk));
      held.end();
    }
    await untilAlive(
      pairs.map(({ caller }) => caller),
      1,
    );
    await blocker.query('rollback');
    await blocker.end();
    for (const [index, { caller }] of pairs.entries()) {
      await caller.receives('\r\n0\r\n\r\n');
      const events = eventsOf(caller.body());
      expect(events.some(isAlive)).toBe(true);
      expect(events.slice(events.findLastIndex(isAlive) + 1).map(said)).toEqual(
        quiet[index]
          ?.slice(caller.talk === messages ? -1 : caller.talk.end.stream === '[DONE]' ? -1 : -2)
          .map(said),
      );
      expectWholeStream(caller, quiet[index] ?? []);
    }
  });

  it('are not sent while events flow', async () => {
    const streams = await eventually(eventsFlow, 30_000);
    for (const events of streams) expect(events.filter(isAlive)).toEqual([]);
  });

  /** Sends events five times a second for longer than the period; undefined if a busy machine paused too long. */
  async function eventsFlow(): Promise<readonly (readonly string[])[] | undefined> {
    const pairs = await onePerFamily();
    for (const { held, caller } of pairs) {
      held.head('stream');
      held.write(caller.talk.upstream.begin);
    }
    let longestPauseMs = 0;
    for (let passed = 0; passed < noticedMs; passed += 200) {
      const pausedAt = performance.now();
      for (const { held, caller } of pairs) held.write(caller.talk.upstream.piece);
      await sleep(200);
      longestPauseMs = Math.max(longestPauseMs, performance.now() - pausedAt);
    }
    for (const { held, caller } of pairs) {
      const { finish, usage, done } = caller.talk.upstream;
      held.write(finish + usage + done);
      held.end();
      await caller.receives('\r\n0\r\n\r\n');
    }
    return longestPauseMs < 700 ? pairs.map(({ caller }) => eventsOf(caller.body())) : undefined;
  }

  it('are not sent with stream_keepalive_secs: 0', async () => {
    await gateway().take(configOf(upstream().url, 0));
    const pairs = await onePerFamily();
    for (const { held } of pairs) held.head('stream');
    await sleep(noticedMs);
    for (const { caller } of pairs) expect(caller.body()).toBe('');
    for (const { caller } of pairs) caller.socket.destroy();
    await gateway().take(configOf(upstream().url, 1));
  });
});

describe('the keep-alive timer', () => {
  it('is shared by all streams, and removed when no stream is open', () => {
    jest.useFakeTimers();
    try {
      const heard: string[] = [];
      const alive = streamKeepAlive(() => 15);
      expect(jest.getTimerCount()).toBe(0);
      const first = alive.watch(() => void heard.push('first'));
      const second = alive.watch(() => void heard.push('second'));
      expect(jest.getTimerCount()).toBe(1);
      jest.advanceTimersByTime(14_000);
      second.touch();
      jest.advanceTimersByTime(1_500);
      expect(heard).toEqual(['first']);
      first.over();
      jest.advanceTimersByTime(20_000);
      expect(heard).toEqual(['first', 'second']);
      expect(jest.getTimerCount()).toBe(1);
      second.over();
      second.over();
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not depend on the wall clock, which may be changed', () => {
    jest.useFakeTimers();
    const { now } = Date;
    let offMs = 0;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + offMs);
    try {
      let heard = 0;
      const stream = streamKeepAlive(() => 15).watch(() => void (heard += 1));
      offMs = 3_600_000;
      jest.advanceTimersByTime(14_000);
      expect(heard).toBe(0);
      offMs = -3_600_000;
      jest.advanceTimersByTime(2_000);
      expect(heard).toBe(1);
      stream.over();
    } finally {
      clock.mockRestore();
      jest.useRealTimers();
    }
  });

  it('applies a changed period to streams that are already open', () => {
    jest.useFakeTimers();
    try {
      let seconds = 60;
      let heard = 0;
      const alive = streamKeepAlive(() => seconds);
      const stream = alive.watch(() => void (heard += 1));
      jest.advanceTimersByTime(1_000);
      seconds = 1;
      jest.advanceTimersByTime(1_250);
      expect(heard).toBeGreaterThan(0);
      const before = heard;
      seconds = 0;
      jest.advanceTimersByTime(10_000);
      expect(heard).toBe(before);
      stream.over();
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('an idle connection of a caller', () => {
  it('is kept for 620 seconds, since load balancers keep theirs for up to 600 seconds', async () => {
    const { headers } = await fetch(`${gateway().url}/healthz`);
    expect(headers.get('keep-alive')).toBe('timeout=620');
  });
});

describe('the head of a stream', () => {
  it('is sent before the first event, with no-store and no-transform, and without a content encoding', async () => {
    for (const { caller, held } of await onePerFamily()) {
      held.head('stream');
      // Well before the first keep-alive, which would send the head, too.
      await caller.receives('\r\n\r\n', 700);
      const [head = ''] = caller.received().split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(head).toMatch(/\r\ncontent-type: text\/event-stream; charset=utf-8\r\n/);
      expect(head).toMatch(/\r\ncache-control: no-store, no-transform\r\n/);
      expect(head).not.toMatch(/content-encoding|content-length/i);
      caller.socket.destroy();
    }
  });
});

/** An upstream that sends as fast as it can, and counts the bytes sent. */
interface Flood {
  readonly url: string;
  readonly sent: () => number;
  readonly close: () => Promise<void>;
}

const floodPieces = 240;
const floodText = 'Z'.repeat(64 * 1024);

async function startFlood(): Promise<Flood> {
  let sent = 0;
  const server: Server = createServer((request, response) => {
    request.resume();
    response.on('error', () => undefined);
    const talk = talks.find(({ path }) => request.url?.endsWith(path)) ?? messages;
    const { begin, piece, finish, usage, done } = talk.upstream;
    const big = piece.replace('piece', floodText);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    void (async () => {
      response.write(begin);
      for (let left = floodPieces; left > 0 && !response.destroyed; left -= 1) {
        sent += big.length;
        if (!response.write(big)) await new Promise((resolve) => response.once('drain', resolve));
      }
      response.end(finish + usage + done);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent: () => sent,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

describe('a caller that reads slowly', () => {
  let flood: Flood;
  let flooded: TestGateway;
  beforeAll(async () => {
    flood = await startFlood();
    flooded = await startGateway(configOf(flood.url, 1), databaseUrl());
  });
  afterAll(async () => {
    await flooded?.stop();
    await flood?.close();
  });

  it('pauses the upstream, is sent no keep-alive, and receives the whole stream, in every family', async () => {
    const callers = talks.map((talk) => slowCaller(talk));
    // The upstream stops sending once the socket buffers on both sides of the gateway are full, some megabytes each.
    const taken = await eventually(async () => {
      const before = flood.sent();
      await sleep(noticedMs);
      return before > 0 && flood.sent() === before ? before : undefined;
    }, 20_000);
    expect(taken).toBeLessThan(0.9 * talks.length * floodPieces * floodText.length);
    for (const { talk, socket, text, texts } of callers) {
      socket.resume();
      await eventually(() => (text().endsWith('\r\n0\r\n\r\n') ? true : undefined), 20_000);
      expect(texts()).toBe(floodPieces * floodText.length);
      expect(text()).toContain(talk.end.stream);
      expect(text()).not.toContain(comment);
      expect(text()).not.toContain(ping);
      socket.destroy();
    }
  });

  /** A caller that reads nothing until it is resumed; counts the bytes of the flood and keeps the rest. */
  const slowCaller = (talk: Talk) => {
    const { socket } = call(talk, flooded);
    socket.removeAllListeners('data').pause();
    let text = '';
    let texts = 0;
    socket.on('data', (piece: Buffer) => {
      const [rest = '', ...runs] = piece.toString('latin1').split(/Z+/);
      text += rest + runs.join('');
      texts += piece.filter((byte) => byte === 0x5a).length;
    });
    socket.pause();
    return { talk, socket, text: () => text, texts: () => texts };
  };
});

describe('a caller that stops reading', () => {
  /** A server whose answers are larger than socket buffers; it records how each answer ended. */
  const ends = async (patienceMs: number, what: 'drain' | 'finish'): Promise<Server & { url: string }> => {
    const server = createServer((req, res) => {
      req.resume();
      if (what === 'finish') res.end(Buffer.alloc(64 * 1024 * 1024));
      else res.write(Buffer.alloc(64 * 1024 * 1024));
      void untilFlushed(res, what, patienceMs).then(() => {
        ended.push(res.destroyed && !res.writableFinished ? 'hung up' : 'taken');
        res.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return Object.assign(server, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  };
  let ended: string[] = [];

  it.each(['drain', 'finish'] as const)('is disconnected after the timeout, waiting for %s', async (what) => {
    ended = [];
    const server = await ends(200, what);
    const socket = beginExchange(server.url, { method: 'GET', path: '/' });
    socket.pause();
    await eventually(() => (ended.length > 0 ? true : undefined));
    expect(ended).toEqual(['hung up']);
    socket.destroy();
    server.close();
  });

  it('is disconnected, too, if its answer was queued behind another one on the connection', async () => {
    ended = [];
    const server = await ends(2000, 'drain');
    const socket = rawSocket(server.url);
    socket.on('error', () => undefined);
    // The first answer is read to its end; the second one, which is queued behind it, is not.
    socket.on('data', (piece: Buffer) => {
      if (piece.includes('\r\n0\r\n\r\n')) socket.pause();
    });
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2));
    await eventually(() => (ended.length > 1 ? true : undefined));
    expect(ended).toEqual(['taken', 'hung up']);
    socket.destroy();
    server.close();
  });

  it.each(['drain', 'finish'] as const)(
    'is not disconnected as long as it reads a little again and again (%s)',
    async (what) => {
      ended = [];
      const server = await ends(400, what);
      const socket = beginExchange(server.url, { method: 'GET', path: '/' });
      const from = Date.now();
      // It reads for 2 ms out of every 50 ms, for three times as long as the timeout.
      const pace = setInterval(() => {
        socket.resume();
        setTimeout(() => socket.pause(), 2);
        if (Date.now() - from > 1200) {
          clearInterval(pace);
          setTimeout(() => socket.resume(), 5);
        }
      }, 50);
      socket.pause();
      await eventually(() => (ended.length > 0 ? true : undefined), 20_000);
      expect(ended).toEqual(['taken']);
      socket.destroy();
      server.close();
    },
  );
});
