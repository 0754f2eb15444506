import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';

const whyNot: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there',
  EACCES: 'this process is not allowed to',
  EADDRNOTAVAIL: 'this machine has no such address',
};

/**
 * Resolves when connections are accepted; the error says what to do where they cannot be. A process that is alone on
 * the port accepts them itself, and not through its supervisor.
 */
export function listen(server: Server, host: string, port: number, alone: boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = whyNot[error.code ?? ''] ?? error.message;
      reject(new Error(`The gateway cannot listen on ${host}:${port}: ${why}.`, { cause: error }));
    });
    server.listen({ port, host, exclusive: alone }, () => {
      server.removeAllListeners('error');
      resolve();
    });
  });
}

/**
 * No new connections; those that are open are left alone, and end with their next answer. HTTP's own `close` would
 * also cut off callers that are still reading an answer whose last byte has been handed to the socket.
 */
export const stopListening = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    NetServer.prototype.close.call(server, () => resolve());
  });

/** Where it can be reached: the port is the one that it got. */
export function urlOf(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
