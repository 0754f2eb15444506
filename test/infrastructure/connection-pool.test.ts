import { spawnSync } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ConnectionPool } from '../../infrastructure/providers/connection-pool.ts';
import { until } from '../support/otlp-receiver.ts';
import { answered, asked } from '../support/pool-requests.ts';

const timeouts = { connectMs: 10_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 40_000 };

let server: Server;
let pool: ConnectionPool;
let sockets: Socket[] = [];
let open: ServerResponse[] = [];
let paths: (string | undefined)[] = [];
beforeAll(async () => {
  // /open begins an answer, /broken resets the connection, and others answer with the number of their connection.
  server = createServer((req, res) => {
    paths.push(req.url);
    if (req.url === '/broken') return void req.socket.resetAndDestroy();
    const came = String(sockets.indexOf(req.socket));
    // It reads no more of this request, nor of later ones on the connection.
    if (req.url === '/early') req.socket.pause();
    if (req.url !== '/open') return void res.end(came);
    res.write(came);
    open.push(res);
  });
  server.on('connection', (socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server?.closeAllConnections();
  server?.close();
});
beforeEach(() => {
  sockets = [];
  open = [];
  paths = [];
  pool = new ConnectionPool(
    new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`),
    timeouts,
  );
});

/** Requests, `count` at once, whose answers have begun. */
async function streams(count: number) {
  const all = Array.from({ length: count }, () => asked(pool, '/open'));
  await Promise.all(all.map(({ begun }) => begun));
  return all;
}

/** Sends a request and returns the number of its connection; undici reuses one only after a turn of the event loop. */
async function connectionAsked(): Promise<string> {
  const came = await answered(pool);
  await turn();
  await turn();
  return came;
}

/** Ends the open answers, one after the other. */
async function ended(all: Awaited<ReturnType<typeof streams>>): Promise<void> {
  for (const res of open.splice(0)) res.end();
  await Promise.all(all.map(({ answer }) => answer));
  await turn();
  await turn();
}

describe('connections to an upstream', () => {
  it('have one request at a time, and the most recently used one is used next', async () => {
    const all = await streams(3);
    expect(await connectionAsked()).toBe('3');
    expect(await connectionAsked()).toBe('3');
    await ended(all);
    const last = await connectionAsked();
    expect(await connectionAsked()).toBe(last);
    expect(sockets).toHaveLength(4);
    await pool.close();
  });

  it('that the upstream closed are not used again', async () => {
    await ended(await streams(5));
    const before = sockets.length;
    const closed = sockets.map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    for (const socket of sockets) socket.end();
    await Promise.all(closed);
    expect(await connectionAsked()).toBe(String(before));
    expect(await connectionAsked()).toBe(String(before));
    await pool.close();
  });

  it('that are reset while idle fail no request', async () => {
    expect(await connectionAsked()).toBe('0');
    sockets[0]?.resetAndDestroy();
    expect(await connectionAsked()).toBe('1');
    expect(await connectionAsked()).toBe('1');
    await pool.close();
  });

  it('that break during a request fail it without a retry, for the upstream may have begun it', async () => {
    expect(await connectionAsked()).toBe('0');
    await expect(asked(pool, '/broken').answer).rejects.toThrow(/closed|ECONNRESET/);
    expect(await connectionAsked()).toBe('1');
    expect(paths).toEqual(['/', '/broken', '/']);
    await pool.close();
  });

  it('that were closed and cannot be opened again are tried once', async () => {
    const gone = createServer((_, res) => void res.end());
    const connections: Socket[] = [];
    gone.on('connection', (socket) => void connections.push(socket));
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const there = new ConnectionPool(
      new URL(`http://127.0.0.1:${(gone.address() as AddressInfo).port}`),
      timeouts,
    );
    await answered(there);
    await turn();
    await turn();
    let tries = 0;
    const tried = (): void => void (tries += 1);
    channel('undici:client:connectError').subscribe(tried);
    gone.close();
    connections[0]?.destroy();
    await expect(answered(there)).rejects.toThrow('ECONNREFUSED');
    await there.close();
    channel('undici:client:connectError').unsubscribe(tried);
    expect(tries).toBe(1);
  });

  it('whose upstream answers before it has read the whole request are not used again', async () => {
    const refused = asked(pool, '/early', 'x'.repeat(32 * 1024 * 1024));
    expect(await refused.answer).toBe('0');
    await turn();
    await turn();
    expect(await connectionAsked()).toBe('1');
    expect(await connectionAsked()).toBe('1');
    await pool.close();
    sockets[0]?.destroy();
  });

  it('that cannot be opened fail their own request', async () => {
    const nobody = new ConnectionPool(new URL('http://127.0.0.1:1'), timeouts);
    await expect(answered(nobody)).rejects.toThrow('ECONNREFUSED');
    await expect(answered(nobody)).rejects.toThrow('ECONNREFUSED');
    await nobody.close();
  });

  it('to a name with several addresses survive a lost packet where only the first can be reached', async () => {
    const { port, accept } = await serverThatDropsPackets();
    const addresses = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
    const several = new ConnectionPool(new URL(`http://several.example:${port}`), timeouts, (_, __, found) =>
      found(null, addresses),
    );
    const { answer } = asked(several);
    setTimeout(accept, 700);
    expect(await answer).toBe('here');
    await several.destroy();
  });

  it('close with the pool: idle ones at once, others after their answer', async () => {
    const [under, other] = await streams(2);
    open[1]?.end();
    await other?.answer;
    const closing = pool.close();
    expect(pool.closed).toBe(true);
    await until(() => sockets.filter(({ destroyed }) => destroyed).length === 1);
    open[0]?.end();
    expect(await under?.answer).toMatch(/^\d$/);
    await closing;
    await until(() => sockets.every(({ destroyed }) => destroyed));
  });

  it('close at once when the pool is destroyed', async () => {
    const [under] = await streams(1);
    await pool.destroy();
    await expect(under?.answer).rejects.toThrow('destroyed');
    await until(() => sockets.every(({ destroyed }) => destroyed));
  });

  it('are not opened for requests that had not begun when the pool is destroyed', async () => {
    expect(await connectionAsked()).toBe('0');
    const { answer } = asked(pool);
    await pool.destroy();
    await expect(answer).rejects.toThrow('destroyed');
    expect(sockets).toHaveLength(1);
  });

  it('leave less than 2 MB of heap after 1500 at once', () => {
    // A leaked connection keeps about 2 KB; the server's own memory is counted as well.
    expect(heapLeftByConnections(1500)).toBeLessThan(2_000_000);
  });
});

/** A server whose queue of new connections is full, so that their packets are dropped, until it is told to accept. */
async function serverThatDropsPackets(): Promise<{ readonly port: number; readonly accept: () => void }> {
  const accepts = new Int32Array(new SharedArrayBuffer(4));
  const program = `
    const { parentPort, workerData } = require('node:worker_threads');
    const server = require('node:http').createServer((_, res) => res.end('here'));
    server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port);
      Atomics.wait(workerData, 0, 0);
    });
  `;
  const thread = new Worker(program, { eval: true, workerData: accepts });
  thread.unref();
  const [port] = (await once(thread, 'message')) as [number];
  const waiting = [1, 2].map(() => connect(port, '127.0.0.1').unref());
  await Promise.all(waiting.map((socket) => once(socket, 'connect')));
  const accept = (): void => {
    Atomics.store(accepts, 0, 1);
    Atomics.notify(accepts, 0);
  };
  return { port, accept };
}

/** Growth of the heap in bytes, after `count` concurrent answers and all their connections but one have ended. */
function heapLeftByConnections(count: number): number {
  const url = (file: string) => JSON.stringify(pathToFileURL(path.join(import.meta.dirname, file)).href);
  const program = `
    import { createServer } from 'node:http';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { ConnectionPool } from ${url('../../infrastructure/providers/connection-pool.ts')};
    import { answered, asked } from ${url('../support/pool-requests.ts')};
    const open = [];
    const server = createServer((req, res) => {
      if (req.url === '/') return void res.end('x');
      res.write('x');
      open.push(res);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const timeouts = { connectMs: 10_000, firstByteMs: 20_000, idleMs: 20_000, totalMs: 40_000 };
    const pool = new ConnectionPool(new URL('http://127.0.0.1:' + server.address().port), timeouts);
    const heap = () => (gc(), gc(), process.memoryUsage().heapUsed);
    const peak = async (count) => {
      const all = Array.from({ length: count }, () => asked(pool, '/open'));
      await Promise.all(all.map(({ begun }) => begun));
      const last = open.pop();
      for (const res of open.splice(0)) res.end();
      await sleep(300);
      server.closeIdleConnections();
      await sleep(300);
      last.end();
      await Promise.all(all.map(({ answer }) => answer));
      await sleep(100);
      await answered(pool);
    };
    await peak(100);
    const before = heap();
    await peak(${count});
    process.stdout.write(String(heap() - before));
    process.exit();
  `;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', '--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}
