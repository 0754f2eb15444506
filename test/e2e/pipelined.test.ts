import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig } from '../support/gateway.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const { gateway } = simulatedScene((url) => basicConfig(url, key));

/** The number of responses on one connection to `count` requests that are sent at once. */
function answersTo(count: number, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = rawSocket(gateway().url);
    let text = '';
    const answers = (): number => text.split('HTTP/1.1 ').length - 1;
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      text += piece;
      if (answers() === count) socket.destroy();
    });
    // If the server closes the connection with unread data, the client sees a reset.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => resolve(answers()));
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${aKey()}\r\n\r\n`.repeat(count));
  });
}

describe('pipelined requests', () => {
  it.each(['/healthz', '/readyz', '/v1/models', '/v1/models/fast', '/api/v1/openapi.json', '/nowhere'])(
    'are all answered up to 32 per connection: %s',
    async (path) => {
      expect(await answersTo(32, path)).toBe(32);
    },
  );

  it('beyond 32 per connection are not answered, and another client is still served', async () => {
    const floods = Array.from({ length: 8 }, () => answersTo(2000, '/api/v1/openapi.json'));
    const other = await rawExchange(gateway().url, {
      method: 'GET',
      path: '/v1/models',
      headers: [['x-api-key', key]],
    });
    expect(other.status).toBe(200);
    for (const answers of await Promise.all(floods)) expect(answers).toBeLessThanOrEqual(32);
  });
});
