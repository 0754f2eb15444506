import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Below the ports that systems assign automatically and use for outgoing connections (Linux: from 32768 on).
 */
const ports = [20_000, 32_768] as const;
const maxTries = 100;

/**
 * A port of 127.0.0.1 without a listener, for callers that must know it before something listens there. No
 * other suite gets it by chance meanwhile: suites run in parallel, and a program takes a second to start.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const port = randomInt(...ports);
    if (await isFree(port)) return port;
  }
  throw new Error('no port is free');
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    // Another process listens there.
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
