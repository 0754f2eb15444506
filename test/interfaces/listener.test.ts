import { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { expect, it, jest } from '@jest/globals';
import { listener } from '../../interfaces/http/listener.ts';

it('bounds the time of headers, and leaves bodies to their pace: a large one over a slow line takes its time', async () => {
  const listen = jest.spyOn(NetServer.prototype, 'listen');
  const door = listener({
    host: '127.0.0.1',
    port: 0,
    handle: async () => undefined,
    newId: () => 'id',
    maxConnections: 1,
    full: () => undefined,
    tls: undefined,
  });
  await door.open(true);
  await door.stop();
  const [server] = listen.mock.contexts;
  listen.mockRestore();
  if (!(server instanceof Server)) throw new Error('nothing listened');
  expect([server.headersTimeout, server.requestTimeout]).toEqual([60_000, 0]);
});
