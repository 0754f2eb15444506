import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, describe, expect, it } from '@jest/globals';
import { aKey, basicConfig } from '../support/gateway.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { simulatedScene } from './simulated-scene.ts';
import { eventually } from './traces.ts';

const bound = 20;
const { gateway } = simulatedScene((url) =>
  basicConfig(url, aKey(), { more: { server: { bind: '127.0.0.1:0', max_connections: bound } } }),
);
const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

const stillOpen = () => sockets.filter(({ readableEnded, destroyed }) => !readableEnded && !destroyed);

/** The status of the answer; undefined if the connection was closed without one. */
const health = async (): Promise<number | undefined> =>
  (
    await rawExchange(gateway().url, { method: 'GET', path: '/healthz', framing: 'none' }).catch(
      () => undefined,
    )
  )?.status;

describe('connections over max_connections', () => {
  it('are closed on arrival, and a new one is accepted once an open one has closed', async () => {
    for (let made = 0; made < 3 * bound; made += 1) {
      const socket = rawSocket(gateway().url).on('error', () => undefined);
      sockets.push(socket.resume());
      await once(socket, 'connect');
    }
    await eventually(() => (stillOpen().length <= bound ? true : undefined));
    // The scene itself may hold one or two connections.
    expect(stillOpen().length).toBeGreaterThanOrEqual(bound - 2);
    expect(await health()).toBeUndefined();
    stillOpen()[0]?.destroy();
    expect(await eventually(health)).toBe(200);
  });
});
