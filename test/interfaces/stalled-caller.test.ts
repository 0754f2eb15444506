import { EventEmitter } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { answerFlushed, untilFlushed } from '../../interfaces/http/stalled-caller.ts';
import { timed } from '../support/undisturbed.ts';

const patienceMs = 200;
/** More than the buffers of a connection hold. */
const large = 'x'.repeat(64 * 1024 * 1024);
let server: Server;

const request = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n${more}\r\n`;
const connected = (): Socket => connect((server.address() as AddressInfo).port, '127.0.0.1');

beforeAll(async () => {
  const answer: RequestListener = (req, res) => {
    res.end(req.url === '/large' ? large : req.url, 'latin1');
    void untilFlushed(res, 'finish', patienceMs);
  };
  server = createServer(
    (req, res) =>
      void (req.url === '/slow' ? setTimeout(answer, 4 * patienceMs, req, res) : answer(req, res)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void server.close());

describe('a caller that stops reading', () => {
  it.each([
    ['its only answer', request('/large')],
    ['an answer that waited behind another', request('/fast') + request('/large')],
    ['an answer that waited behind a slow one', request('/slow') + request('/large')],
  ])('%s is disconnected', async (_, requests) => {
    const closed = new Promise<void>((resolve) => {
      server.once('connection', (socket) => void socket.once('close', () => resolve()));
    });
    const socket = connected().pause();
    socket.write(requests);
    await closed;
    socket.destroy();
  });
});

describe('a caller that reads a few bytes now and then', () => {
  it('is disconnected after its time limit and a millisecond for each byte, in all', async () => {
    const res = Object.assign(new EventEmitter(), {
      socket: { timeout: 0, setTimeout: () => undefined },
      writableLength: 300,
      destroy: () => res.emit('close'),
    });
    const { allMs } = await timed(() => untilFlushed(res as unknown as ServerResponse, 'drain', patienceMs));
    expect(allMs).toBeGreaterThanOrEqual(patienceMs + 300 - 2);
  });
});

describe('a caller that reads its answers', () => {
  it('is not disconnected while the next answer on the connection is being prepared', async () => {
    const socket = connected();
    socket.write(request('/fast') + request('/slow', 'connection: close\r\n'));
    const answers = await text(socket);
    expect(answers.split('HTTP/1.1 200 OK')).toHaveLength(3);
    expect(answers).toContain('/slow');
  });

  it("has its time limit from when its answer's turn on the connection comes", async () => {
    const socket = { timeout: 0, setTimeout: (ms: number) => void (socket.timeout = ms) };
    const res = Object.assign(new EventEmitter(), {
      socket: null as typeof socket | null,
      writableLength: 0,
    });
    const taken = untilFlushed(res as unknown as ServerResponse, 'finish');
    res.socket = socket;
    res.emit('socket');
    expect(socket.timeout).toBe(60_000);
    // The server has set its own timeout between two answers.
    socket.timeout = 620_000;
    res.emit('finish');
    await taken;
    expect(socket.timeout).toBe(620_000);
  });

  it.each([{ writableFinished: true }, { destroyed: true }])(
    'is not waited for if its answer is %j',
    (over) => {
      const res = Object.assign(new EventEmitter(), { socket: null, ...over });
      expect(answerFlushed(res as unknown as ServerResponse)).toBeUndefined();
    },
  );

  it('is not disconnected later because its answer once waited for it', async () => {
    let destroyed = false;
    const res = Object.assign(new EventEmitter(), {
      socket: { timeout: 0, setTimeout: () => undefined },
      writableLength: 0,
      destroy: () => void (destroyed = true),
    });
    const taken = untilFlushed(res as unknown as ServerResponse, 'drain', 20);
    res.emit('drain');
    await taken;
    await sleep(100);
    expect(destroyed).toBe(false);
  });

  it('leaves no listeners on its answer, however often the buffer was full', async () => {
    const socket = { timeout: 0, setTimeout: (ms: number) => void (socket.timeout = ms) };
    const res = Object.assign(new EventEmitter(), { socket, writableLength: 0 }) as unknown as ServerResponse;
    for (let each = 0; each < 20; each += 1) {
      const taken = untilFlushed(res, 'drain', patienceMs);
      expect(socket.timeout).toBe(patienceMs);
      res.emit('drain');
      await taken;
      expect(socket.timeout).toBe(0);
    }
    expect(res.listenerCount('drain')).toBe(0);
    expect(res.listenerCount('close')).toBe(0);
  });
});
