import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Arrivals, bodyPace } from '../../interfaces/http/body-pace.ts';
import { openContext } from '../../interfaces/http/request-context.ts';
import { discardRest } from '../../interfaces/http/unread-body.ts';

const maxBytes = 1000;
let server: Server;
let pace: Arrivals;
let answerAfterMs: number;
const requests: IncomingMessage[] = [];

beforeEach(async () => {
  pace = bodyPace();
  answerAfterMs = 0;
  requests.length = 0;
  server = createServer((req, res) => {
    requests.push(req);
    if (answerAfterMs === 0) res.end('answered');
    else setTimeout(() => res.end('answered'), answerAfterMs);
    discardRest(
      openContext(req, res, 0, () => 'id'),
      (stop) => pace(stop),
      maxBytes,
    );
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const headOf = (bytes: number): string => `POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${bytes}\r\n\r\n`;

function connected() {
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('data', (piece) => void (received += piece)).on('error', () => undefined);
  const answers = (): number => received.split('answered').length - 1;
  const answered = async (times: number): Promise<void> => {
    while (answers() < times) await sleep(5);
  };
  const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
  return { socket, answers, answered, closed };
}

describe('what is left of a body whose request was answered', () => {
  it('is discarded up to the limit, and the connection takes the next request', async () => {
    const { socket, answered } = connected();
    socket.write(headOf(maxBytes));
    await answered(1);
    socket.write('x'.repeat(maxBytes));
    // Longer than a connection has that is going to end.
    await sleep(1500);
    socket.write(headOf(0));
    await answered(2);
    socket.destroy();
  });

  it.each([
    ['that was sent before', 0],
    ['that is sent later', 1500],
  ])(
    'is read no further beyond the limit, and its connection ends a second after an answer %s',
    async (_, after) => {
      answerAfterMs = after;
      const { socket, answers, answered, closed } = connected();
      const piece = 'x'.repeat(64 * 1024);
      const write = (): void => {
        while (!socket.destroyed && socket.write(piece));
      };
      const began = performance.now();
      socket.write(headOf(1e9));
      await answered(after === 0 ? 1 : 0);
      socket.on('drain', write);
      write();
      await closed;
      expect(answers()).toBe(1);
      expect(performance.now() - began).toBeGreaterThan(after + 950);
      expect(requests[0]?.socket.bytesRead).toBeLessThan(1024 * 1024);
    },
  );

  it('has to arrive at the pace of any body, or the connection ends', async () => {
    pace = bodyPace({ firstMs: 50, bytesPerSec: 1, lookMs: 10 });
    const { socket, answers, closed } = connected();
    socket.write(headOf(maxBytes));
    await closed;
    expect(answers()).toBe(1);
  });

  it('may take longer as long as it keeps that pace', async () => {
    pace = bodyPace({ firstMs: 200, bytesPerSec: 100, lookMs: 10 });
    const { socket, answered } = connected();
    socket.write(headOf(100));
    for (let sent = 0; sent < 10; sent += 1) {
      await sleep(50);
      socket.write('x'.repeat(10));
    }
    socket.write(headOf(0));
    await answered(2);
    socket.destroy();
  });

  it('is waited for no longer once it has arrived', async () => {
    const over = Promise.withResolvers<void>();
    pace = () => ({ received: () => undefined, paused: () => undefined, over: over.resolve });
    const { socket, answered } = connected();
    socket.write(headOf(2));
    await answered(1);
    socket.write('xx');
    await over.promise;
    socket.destroy();
  });
});
