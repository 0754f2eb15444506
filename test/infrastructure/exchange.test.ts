import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { chatStream } from '../../domain/chat/chat-stream.ts';
import { overloaded } from '../../domain/shared/gateway-error.ts';
import { maxUpstreamBodyBytes } from '../../domain/shared/limits.ts';
import type { UpstreamFault } from '../../domain/upstream/upstream-fault.ts';
import { andThen, seal } from '../../domain/shared/stream-machine.ts';
import { Deadlines } from '../../infrastructure/providers/deadlines.ts';
import { Exchange, type ExchangeOptions } from '../../infrastructure/providers/exchange.ts';
import { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';
import { executor, type ReadyProvider } from '../../infrastructure/providers/executor.ts';
import type { Endpoint, FanOutDialect } from '../../infrastructure/providers/provider.ts';
import { sseFrames } from '../../infrastructure/providers/wire/sse.ts';
import { timed } from '../support/undisturbed.ts';
import { call } from './platform-embeddings-bench.ts';

const timeouts = { connectMs: 60_000, firstByteMs: 60_000, idleMs: 60_000, totalMs: 120_000 };
const machine = andThen(sseFrames, seal(chatStream({ namespace: 'compat', sanitise: (words) => words })));

let server: Server | undefined;
let pool: ConnectionPool | undefined;
afterEach(async () => {
  await pool?.destroy();
  server?.close();
});

/** An exchange with a server that answers by `says` and leaves its connection open. */
async function exchangeWith(says: (socket: Socket) => void, over: Partial<ExchangeOptions> = {}) {
  const closed = Promise.withResolvers<void>();
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('close', () => closed.resolve());
    socket.once('data', () => says(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  pool = new ConnectionPool(new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`), timeouts);
  const exchange = new Exchange({
    stream: false,
    decode: () => E.left({ kind: 'protocol', message: 'Not to be read.' }),
    events: () => machine.begin(),
    sanitise: (words) => words,
    deadlines: new Deadlines(),
    hold: () => undefined,
    ...timeouts,
    ...over,
  });
  pool.dispatch({ method: 'POST', path: '/', body: '{}' }, exchange);
  return { exchange, closed: closed.promise };
}

const chunked = (head: string): string => `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n${head}\r\n`;
const asChunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

const gzipHead = Buffer.from([31, 139, 8, 0, 0, 0, 0, 0, 0, 3]);
const emptyBlock = Buffer.from([0, 0, 0, 255, 255]);

/** Sends a gzip head and empty blocks, until `bytes` were sent. */
function sendNothing(socket: Socket, bytes: number, then: () => void): void {
  const piece = Buffer.alloc(1_000_000, emptyBlock);
  let sent = 0;
  const more = (): void => {
    if (sent >= bytes) return then();
    sent += piece.length;
    socket.write(asChunk(piece), more);
  };
  socket.write(asChunk(gzipHead), more);
}

/** A gzip block that contains a text uncompressed. */
function storedBlock(text: string): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(text.length, 1);
  head.writeUInt16LE(0xffff - text.length, 3);
  return Buffer.concat([head, Buffer.from(text)]);
}

describe('an exchange with an upstream', () => {
  it('with a silent upstream fails with the total timeout if that is the shorter one', async () => {
    const { exchange, closed } = await exchangeWith(() => undefined, { totalMs: 1000 });
    expect(await exchange.reply).toEqual(E.left({ kind: 'timeout', phase: 'total' }));
    await closed;
  });

  it('that begins during shutdown ends with the others', async () => {
    const deadlines = new Deadlines();
    deadlines.endAll(1000);
    const { exchange, closed } = await exchangeWith(() => undefined, { deadlines });
    expect(await exchange.reply).toEqual(E.left({ kind: 'timeout', phase: 'total' }));
    await closed;
  });

  it.each<[string, (socket: Socket, exchange: Exchange) => unknown, UpstreamFault]>([
    ['is reset', (socket) => socket.resetAndDestroy(), { kind: 'transport', faultCode: 'ECONNRESET' }],
    ['times out', (_, exchange) => exchange.endWithin(0), { kind: 'timeout', phase: 'total' }],
    ['is cancelled', (_, exchange) => exchange.cancel(), { kind: 'transport' }],
  ])('that %s after the head of the answer has its status in the fault', async (_, ends, fault) => {
    const head = Promise.withResolvers<Socket>();
    const { exchange } = await exchangeWith((socket) => {
      socket.write(`${chunked('')}3\r\n{"a\r\n`, () => head.resolve(socket));
    });
    const socket = await head.promise;
    while (!exchange.accepted()) await sleep(5);
    ends(socket, exchange);
    expect(await exchange.reply).toEqual(E.left({ ...fault, status: 200 }));
  });

  it('that is cancelled before it has a connection is not sent, so that it is not billed', async () => {
    let asked = false;
    const { exchange } = await exchangeWith((socket) => {
      asked = true;
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}');
    });
    exchange.cancel();
    expect(await exchange.reply).toEqual(E.left({ kind: 'transport' }));
    await pool?.close();
    expect(asked).toBe(false);
  });

  it('whose answer exceeds the memory limit fails, releases its memory and closes the connection', async () => {
    const held: number[] = [];
    const { exchange, closed } = await exchangeWith((socket) => socket.write(`${chunked('')}3\r\nabc\r\n`), {
      hold: (bytes) => {
        held.push(bytes);
        return bytes > 0 ? overloaded : undefined;
      },
    });
    expect(await exchange.reply).toEqual(E.left({ kind: 'no_room' }));
    expect(held).toEqual([3, 0]);
    await closed;
  });

  it.each([
    ['quota_exceeded', { labels: { code: 'quota_exceeded' } }],
    ['s3cret-code', {}],
  ])('with status 400 and the error code %s in a header has the labels %j', async (code, told) => {
    const { exchange } = await exchangeWith(
      (socket) => socket.write(`HTTP/1.1 400 Bad Request\r\nx-code: ${code}\r\ncontent-length: 2\r\n\r\n{}`),
      {
        errorCode: (headers) => String(headers['x-code']),
        sanitise: (words) => words.replaceAll('s3cret', '[REDACTED]'),
      },
    );
    const message = 'The upstream answered with status 400.';
    expect(await exchange.reply).toEqual(
      E.left({ kind: 'status', status: 400, message, headers: {}, ...told }),
    );
  });

  it.each([
    ['the body', '', '28'],
    ['the header rather than the body', 'retry-after: 9\r\n', '9'],
  ])('with status 429 has retry-after from %s', async (_case, head, seconds) => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '27.3s' }];
    const told = JSON.stringify({ error: { code: 429, message: 'Later.', details } });
    const { exchange } = await exchangeWith((socket) =>
      socket.write(`HTTP/1.1 429 Too Many Requests\r\n${head}content-length: ${told.length}\r\n\r\n${told}`),
    );
    expect(await exchange.reply).toMatchObject({
      left: { status: 429, headers: { 'retry-after': seconds } },
    });
  });

  it('with status 503 has the error message of an event, where the answer is a stream', async () => {
    const told = 'data: {"error":{"message":"It is too hot."}}\n\n';
    const { exchange } = await exchangeWith(
      (socket) =>
        socket.write(
          `HTTP/1.1 503 X\r\ncontent-type: text/event-stream\r\ncontent-length: ${told.length}\r\n\r\n${told}`,
        ),
      { stream: true },
    );
    expect(await exchange.reply).toMatchObject({ left: { status: 503, message: 'It is too hot.' } });
  });

  it('is read whole if it answers with the embeddings of 2048 texts, of 3072 numbers in 23 bytes each', async () => {
    const piece = Buffer.alloc(3072 * 23, ' ');
    const decode: ExchangeOptions['decode'] = ({ length }) => E.right({ value: { length }, text: '' });
    const { exchange } = await exchangeWith(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${2048 * piece.length}\r\n\r\n`);
        for (let text = 0; text < 2048; text += 1) socket.write(piece);
      },
      { decode },
    );
    expect(await exchange.reply).toMatchObject({
      right: { kind: 'whole', answer: { value: { length: 2048 * piece.length } } },
    });
  });

  it('is cut off if its compressed answer is too large, even if it decompresses to nothing', async () => {
    const { exchange, closed } = await exchangeWith((socket) => {
      socket.write(chunked('content-encoding: gzip\r\n'));
      sendNothing(socket, 2 * maxUpstreamBodyBytes, () => undefined);
    });
    expect(await exchange.reply).toEqual(
      E.left({ kind: 'protocol', message: 'The upstream sent an answer that is too large.', status: 200 }),
    );
    await closed;
  });

  it.each([
    ['a whole answer', 'HTTP/1.1 200 OK\r\n', false],
    ['a stream', 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n', true],
    ['an error answer', 'HTTP/1.1 500 No\r\n', false],
  ])('closes its connection if %s is not compressed as its header says', async (_, head, stream) => {
    const { exchange, closed } = await exchangeWith(
      (socket) => {
        const framing = 'content-encoding: gzip\r\ncontent-length: 9000000\r\n\r\n';
        // More than is read at once, and the rest is never sent.
        socket.write(`${head}${framing}${'x'.repeat(1_000_000)}`);
      },
      { stream },
    );
    const reply = await exchange.reply;
    if (E.isRight(reply) && reply.right.kind === 'stream')
      void reply.right.forward(
        () => undefined,
        () => undefined,
      );
    await closed;
  });
});

describe('a stream of an upstream that leaves its connection open', () => {
  const events = 'content-type: text/event-stream\r\n';
  const saying = (body: string) => (socket: Socket) =>
    void socket.write(Buffer.concat([Buffer.from(chunked(events)), asChunk(Buffer.from(body))]));

  const streaming = async (says: (socket: Socket) => void, withinMs = Number.POSITIVE_INFINITY) => {
    const { exchange, closed } = await exchangeWith(says, { stream: true });
    const reply = await exchange.reply;
    if (E.isLeft(reply) || reply.right.kind !== 'stream') throw new Error('It is no stream.');
    const { forward, endWithin } = reply.right;
    endWithin(withinMs);
    return timed(async () => {
      const end = await forward(
        () => undefined,
        () => undefined,
      );
      await closed;
      return end;
    });
  };

  it('is cut off as soon as it fails', async () => {
    const { value, ms } = await streaming(saying('data: {"error":{"message":"no"}}\n\n'));
    expect(value.kind).toBe('failed');
    expect(ms).toBeLessThan(900);
  });

  it('is cut off a second after its last event', async () => {
    const { value, ms, allMs } = await streaming(saying('data: [DONE]\n\n'));
    expect(value.kind).toBe('done');
    expect(allMs).toBeGreaterThan(950);
    expect(ms).toBeLessThan(5000);
  });

  it('is not late with its end while its caller has no room: the rest is read once there is room', async () => {
    const frame = (content: object): Buffer => Buffer.from(`data: ${JSON.stringify(content)}\n\n`);
    const finish = frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }).toString();
    const usage = frame({ choices: [], usage: { total_tokens: 3 } });
    const { exchange } = await exchangeWith(
      (socket) => {
        saying(finish)(socket);
        // The piece after the pause is still taken, so another one follows it.
        setTimeout(() => socket.write(asChunk(Buffer.from(': \n\n'))), 50);
        setTimeout(() => socket.write(asChunk(usage)), 100);
      },
      { stream: true },
    );
    const reply = await exchange.reply;
    if (E.isLeft(reply) || reply.right.kind !== 'stream') throw new Error('It is no stream.');
    const { forward, endWithin } = reply.right;
    const chunks: object[] = [];
    const end = await forward(
      (passed) => {
        chunks.push(...passed.map(({ chunk }) => chunk));
        endWithin(200);
        return chunks.length === 1 ? sleep(700) : undefined;
      },
      () => undefined,
    );
    expect(chunks[1]).toMatchObject({ usage: { total_tokens: 3 } });
    expect(end.kind).toBe('done');
  });

  it.each([
    ['is not ended by its total time while its caller has no room, and for as long after that', 1200, 'done'],
    ['is ended by its total time if its caller has room', 0, 'failed'],
  ])('%s', async (_, noRoomMs, kind) => {
    const { exchange } = await exchangeWith(
      (socket) => {
        saying('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n')(socket);
        setTimeout(() => socket.write(asChunk(Buffer.from('data: [DONE]\n\n'))), 1400);
      },
      { stream: true, totalMs: 1000 },
    );
    const reply = await exchange.reply;
    if (E.isLeft(reply) || reply.right.kind !== 'stream') throw new Error('It is no stream.');
    const end = await reply.right.forward(
      () => (noRoomMs === 0 ? undefined : sleep(noRoomMs)),
      () => undefined,
    );
    expect(end.kind).toBe(kind);
  });

  it('may be longer than the limit of a body, also where it is compressed', async () => {
    const { value } = await streaming((socket) => {
      socket.write(chunked(`${events}content-encoding: gzip\r\n`));
      sendNothing(socket, maxUpstreamBodyBytes, () => socket.write(asChunk(storedBlock('data: [DONE]\n\n'))));
    });
    expect(value.kind).toBe('done');
  });

  const stored = { head: 'content-encoding: gzip\r\n', begins: gzipHead, block: storedBlock };
  const plain = { head: '', begins: Buffer.alloc(0), block: (text: string) => Buffer.from(text) };

  it.each([
    ['in blocks of gzip', stored],
    ['uncompressed', plain],
  ])('is read no faster than the caller reads it: %s', async (_, { head, begins, block }) => {
    const manyBytes = 64 * 1024 * 1024;
    let sent = 0;
    const { exchange } = await exchangeWith(
      (socket) => {
        socket.write(chunked(`${events}${head}`));
        const first = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
        const comments = block(`:${' '.repeat(59_997)}\n\n`);
        const piece = asChunk(Buffer.alloc(16 * comments.length, comments));
        const more = (): void => {
          sent += piece.length;
          if (sent < manyBytes) socket.write(piece, more);
          else socket.write(asChunk(block('data: [DONE]\n\n')));
        };
        socket.write(asChunk(Buffer.concat([begins, block(first)])), more);
      },
      { stream: true },
    );
    const reply = await exchange.reply;
    if (E.isLeft(reply) || reply.right.kind !== 'stream') throw new Error('It is no stream.');
    const taken = Promise.withResolvers<void>();
    const ended = reply.right.forward(
      () => taken.promise,
      () => undefined,
    );
    for (let before = -1; before < sent; await sleep(300)) before = sent;
    expect(sent).toBeLessThan(manyBytes);
    taken.resolve();
    expect((await ended).kind).toBe('done');
  });

  it('fails with "did not finish in time" when its wait is limited', async () => {
    const { value } = await streaming(saying(': thinking\n\n'), 100);
    expect(value).toMatchObject({ error: { message: 'The upstream did not finish in time.' } });
  });
});

describe('a call that is several exchanges', () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc';
  const dialect: FanOutDialect = {
    encodeMany: () =>
      E.right(Array.from({ length: 20 }, () => ({ path: '/', headers: {}, body: '{}', inputs: 1 }))),
    decodeMany: (parts) => E.right({ value: {}, text: Buffer.concat(parts.map(({ body }) => body)) }),
  };

  /** Twenty exchanges with a server that answers each after `afterMs`, in two pieces. */
  async function several(afterMs: number, totalMs: number) {
    const say = async (socket: Socket): Promise<void> => {
      await sleep(afterMs);
      socket.write(answer.slice(0, -2));
      await sleep(20);
      socket.write(answer.slice(-2));
    };
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => void say(socket));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const baseUrl = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const endpoint: Endpoint = { baseUrl, authenticate: (request) => request };
    pool = new ConnectionPool(baseUrl, timeouts);
    const ready = {
      config: { timeouts: { ...timeouts, totalMs } },
      provider: { endpoints: [endpoint], speak: () => ({ endpoint, dialect }) },
      sanitise: (words: string) => words,
      pools: new Map([[endpoint, pool]]),
    } as unknown as ReadyProvider;
    const prepared = executor(() => ready).prepare(call('model', { input: 'x' }));
    if (E.isLeft(prepared)) throw new Error(prepared.left.message);
    const held: number[] = [];
    const { reply } = prepared.right.begin({}, (bytes) => void held.push(bytes));
    return { reply: await reply, held };
  }

  it('holds the memory of all of them', async () => {
    const { reply, held } = await several(0, timeouts.totalMs);
    expect(reply).toMatchObject(E.right({ kind: 'whole' }));
    expect(held.at(-1)).toBe(60);
    expect(held).toEqual([...held].toSorted((one, other) => one - other));
  });

  it('has the total timeout of one exchange', async () => {
    const { reply } = await several(400, 1000);
    expect(reply).toMatchObject(E.left({ kind: 'timeout', phase: 'total' }));
  });
});
