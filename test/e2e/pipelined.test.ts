import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig } from '../support/gateway.ts';
import { rawExchange, rawSocket } from './raw-http.ts';
import { simulatedScene } from './simulated-scene.ts';

const key = aKey();
const { gateway } = simulatedScene((url) => basicConfig(url, key));

/** The request ids of the responses on one connection to `count` requests that are sent at once. */
function answersTo(count: number, pathOf: (index: number) => string): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    const socket = rawSocket(gateway().url);
    let text = '';
    const answers = () => Array.from(text.matchAll(/^x-request-id: (\S+)\r$/gim), ([, id = '']) => id);
    socket.setEncoding('latin1');
    socket.on('data', (piece: string) => {
      text += piece;
      if (answers().length === count) socket.destroy();
    });
    // If the server closes the connection with unread data, the client sees a reset.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => resolve(answers()));
    const heads = idsOf(count).map(
      (id, index) =>
        `GET ${pathOf(index)} HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\nx-request-id: ${id}\r\n\r\n`,
    );
    socket.write(heads.join(''));
  });
}

const idsOf = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `r-${index}`);
const paths = ['/readyz', '/healthz', '/v1/models', '/v1/models/fast', '/api/v1/openapi.json', '/nowhere'];

describe('pipelined requests', () => {
  it.each(paths)('are all answered in their order up to 32 per connection: %s', async (path) => {
    expect(await answersTo(32, () => path)).toEqual(idsOf(32));
  });

  it('are answered in their order also if a later one takes less time', async () => {
    expect(await answersTo(32, (index) => paths[index % paths.length] ?? '')).toEqual(idsOf(32));
  });

  it('beyond 32 per connection are not answered, and another client is still served', async () => {
    const floods = Array.from({ length: 8 }, () => answersTo(2000, () => '/api/v1/openapi.json'));
    const other = await rawExchange(gateway().url, {
      method: 'GET',
      path: '/v1/models',
      headers: [['x-api-key', key]],
    });
    expect(other.status).toBe(200);
    for (const answers of await Promise.all(floods)) expect(answers.length).toBeLessThanOrEqual(32);
  });
});
