import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** A network between a store and its database that a test can interrupt. */
export interface TcpProxy {
  /** Returns `url` as reached through the proxy; from now on the proxy connects to that server. */
  readonly to: (url: string) => string;
  /** Ends every open connection; new ones are accepted. */
  readonly cut: () => void;
  /** Ends every open connection and refuses new ones, until `open`. */
  readonly refuse: () => Promise<void>;
  /** Passes no more bytes on open connections, without any error. */
  readonly freeze: () => void;
  /**
   * Passes no more bytes, on new connections either, until `resume`; then everything that was sent arrives.
   */
  readonly stall: () => void;
  readonly resume: () => void;
  /** Delays everything that is sent by this time; initially 0. */
  readonly lag: (milliseconds: number) => void;
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function tcpProxy(): Promise<TcpProxy> {
  let target = { host: '127.0.0.1', port: 0 };
  let lagMs = 0;
  let stalled = false;
  const pairs = new Set<readonly [Socket, Socket]>();
  const stalls = new Set<() => void>();

  /** Forwards what one side sends. Returns a function that continues after a stall. */
  const relay = (from: Socket, to: Socket): (() => void) => {
    const late = new Transform({
      transform: (chunk: Buffer, _, done) => {
        if (lagMs === 0) done(null, chunk);
        else setTimeout(done, lagMs, null, chunk);
      },
    });
    late.pipe(to);
    const start = (): void => void from.pipe(late);
    if (!stalled) start();
    return start;
  };
  const hold = (socket: Socket): void => {
    socket.unpipe();
    socket.pause();
  };

  const server: Server = createServer((near) => {
    const far = connect(target);
    const pair = [near, far] as const;
    pairs.add(pair);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      // A broken side closes the other; the error itself needs no handling.
      from.on('error', () => to.destroy());
      from.on('close', () => {
        pairs.delete(pair);
        to.destroy();
      });
      const start = relay(from, to);
      stalls.add(start);
      from.once('close', () => stalls.delete(start));
    }
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);

  const cut = (): void => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  const refuse = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    cut();
    await closed;
  };
  return {
    to: (url) => {
      const { hostname, port: targetPort } = new URL(url);
      target = { host: hostname, port: Number(targetPort) };
      const through = new URL(url);
      through.host = `127.0.0.1:${port}`;
      return through.href;
    },
    cut,
    refuse,
    freeze: () => {
      for (const pair of pairs) pair.forEach(hold);
      stalls.clear();
    },
    stall: () => {
      stalled = true;
      for (const pair of pairs) pair.forEach(hold);
    },
    resume: () => {
      stalled = false;
      for (const start of stalls) start();
    },
    lag: (milliseconds) => {
      lagMs = milliseconds;
    },
    open: async () => {
      if (!server.listening) await listen(port);
    },
    close: refuse,
  };
}
