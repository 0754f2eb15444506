import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig } from '../support/gateway.ts';
import { heldScene } from './held-scene.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { eventually } from './traces.ts';

const [greedyKey, otherKey] = [aKey(), aKey()];
const route = { provider: 'up', upstream_model: 'simulated-fast' };
const { gateway, upstream } = heldScene((url) =>
  basicConfig(url, greedyKey, {
    more: {
      // Room for three lists of these models, each of 5 KB, and not for four.
      server: {
        bind: '127.0.0.1:0',
        max_in_flight: 40,
        max_in_flight_per_owner: 3,
        body_max_bytes: 1000,
        max_buffered_bytes: 17_000,
      },
      models: ['fast', ...Array.from({ length: 29 }, (_, index) => `m-${index}`)].map((id) => ({
        id,
        routes: [route],
      })),
      users: [
        { email: 'a@example.com', name: 'A' },
        { email: 'b@example.com', name: 'B' },
      ],
      api_keys: [
        { name: 'greedy', owner: 'user:a@example.com', value: greedyKey },
        { name: 'other', owner: 'user:b@example.com', value: otherKey },
      ],
    },
  }),
);

const body = '{"model":"fast","messages":[{"role":"user","content":"Hi"}]}';
const chat =
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-api-key: ${greedyKey}\r\n` +
  `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const list = `GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: ${greedyKey}\r\n\r\n`;

async function models(key: string) {
  const { status, headers } = await rawExchange(gateway().url, {
    method: 'GET',
    path: '/v1/models',
    headers: [['x-api-key', key]],
  });
  return { status, error: headers['x-gateway-error'] };
}

describe('lists of models that their caller does not read', () => {
  it('take places of their owner and room, until they are read', async () => {
    const socket = rawSocket(gateway().url);
    let text = '';
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => (text += piece));
    // Pipelined answers wait for the one before.
    socket.write(chat + list + list);
    const call = await upstream().next();
    await eventually(async () => ((await models(greedyKey)).status === 429 ? true : undefined));
    expect(await models(greedyKey)).toEqual({ status: 429, error: 'too_many_requests' });
    const other = rawSocket(gateway().url);
    other.write(chat.replace(greedyKey, otherKey) + list.replace(greedyKey, otherKey));
    const otherCall = await upstream().next();
    await eventually(async () => ((await models(otherKey)).status === 503 ? true : undefined));
    expect(await models(otherKey)).toEqual({ status: 503, error: 'overloaded' });
    for (const each of [call, otherCall]) each.refuse(500);
    await eventually(() => (text.match(/"object":"list"/g)?.length === 2 ? true : undefined));
    expect(await models(greedyKey)).toEqual({ status: 200, error: undefined });
    expect(await models(otherKey)).toEqual({ status: 200, error: undefined });
    socket.destroy();
    other.destroy();
  });
});
