import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port that nobody listens on at the moment; for who must know it before it is listened on. */
export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  server.close();
  await once(server, 'close');
  return address.port;
}
