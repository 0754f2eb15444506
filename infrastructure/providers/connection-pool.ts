import type { LookupFunction, Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { LiveList } from '../../domain/shared/live-list.ts';
import type { Timeouts } from '../config/provider-config.ts';
import { connectOptions } from './connect-options.ts';

/**
 * Idle connections are kept this long where the upstream does not say how long it keeps its own. uvicorn, gunicorn and
 * Node close theirs after 5 seconds, and a request that is sent while the upstream closes is lost.
 */
const keepAliveMs = 4_000;

/**
 * Connections to one origin. Each request has a connection to itself: a broken connection fails one request only, and
 * no request waits for the handshake of another. The most recently used connection is reused first, so that surplus
 * ones stay idle and are closed. This class replaces undici's `Pool`, which scans all connections for each request
 * (60 µs with 4,500 streams open) and keeps 2 KB for each connection that it ever had.
 */
export class ConnectionPool {
  private readonly newClient: (opened: (socket: Socket | null) => void) => Client;
  private readonly all = new LiveList<Client>();
  /** Idle clients, the last used at the end. Some may have been closed since. */
  private free: Client[] = [];
  private closedSince = 0;
  private isClosed = false;

  constructor({ origin }: URL, { connectMs, firstByteMs, idleMs }: Timeouts, lookup?: LookupFunction) {
    // One connector for all clients, so that TLS sessions are resumed across connections.
    const connect = buildConnector({ ...connectOptions(connectMs, lookup), allowH2: false });
    this.newClient = (opened) =>
      new Client(origin, {
        connect: (to, done) =>
          connect(to, (...made) => {
            opened(made[1]);
            done(...made);
          }),
        allowH2: false,
        headersTimeout: firstByteMs,
        bodyTimeout: idleMs,
        keepAliveTimeout: keepAliveMs,
      });
  }

  get closed(): boolean {
    return this.isClosed;
  }

  /** Must not be called on a closed pool. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const send = (): void => void this.connected().dispatch(options, handler);
    const free = this.nextFree();
    if (free === undefined) return send();
    free.dispatch(options, new Resendable(handler, free, send));
  }

  /** Requests in flight run to their end. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.all.values().map((client) => closed(client)));
  }

  /** Requests in flight fail. */
  async destroy(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.all.values().map((client) => client.destroy()));
  }

  private nextFree(): Client | undefined {
    let client = this.free.pop();
    while (client?.closed === true) client = this.free.pop();
    return client;
  }

  private connected(): Client {
    let socket: Socket | null = null;
    const client = this.newClient((opened) => (socket = opened));
    const leave = this.all.add(client);
    // A request may be queued on this client until it reconnects: closing it lets that request finish first.
    const lost = (): void => {
      socket = null;
      this.sweep();
      void closed(client).then(leave);
    };
    client.on('drain', () => {
      // The upstream answered before it read the whole request: the next request would wait behind the rest.
      if ((socket?.writableLength ?? 0) > 0) void closed(client);
      else if (!client.closed) this.free.push(client);
    });
    client.on('disconnect', lost);
    client.on('connectionError', lost);
    return client;
  }

  /** Removes closed clients from the free list once they may be half of it: that scans two entries for each at most. */
  private sweep(): void {
    this.closedSince += 1;
    if (this.closedSince * 2 <= this.free.length) return;
    this.free = this.free.filter((client) => !client.closed);
    this.closedSince = 0;
  }
}

/**
 * A request over an idle connection. If the connection breaks before any of the request was written, the upstream has
 * received nothing, and the request is sent over another one. Once written, even in part, it is never sent again.
 */
class Resendable implements Dispatcher.DispatchHandler {
  private readonly to: Dispatcher.DispatchHandler;
  private readonly client: Client;
  /** Released, and the request body with it, once the request is being written: the answer may take minutes. */
  private resend: (() => void) | undefined;

  constructor(to: Dispatcher.DispatchHandler, client: Client, resend: () => void) {
    this.to = to;
    this.client = client;
    this.resend = resend;
  }

  onRequestStart(...args: HandlerArguments<'onRequestStart'>): void {
    this.resend = undefined;
    this.to.onRequestStart?.(...args);
  }

  onResponseStart(...args: HandlerArguments<'onResponseStart'>): void {
    this.to.onResponseStart?.(...args);
  }

  onResponseData(...args: HandlerArguments<'onResponseData'>): void {
    this.to.onResponseData?.(...args);
  }

  onResponseEnd(...args: HandlerArguments<'onResponseEnd'>): void {
    this.to.onResponseEnd?.(...args);
  }

  onResponseError(...args: HandlerArguments<'onResponseError'>): void {
    // A client that is closed by then failed to reconnect, or its pool was closed.
    const { closed: isClosed, destroyed } = this.client;
    if (this.resend === undefined || isClosed || destroyed) this.to.onResponseError?.(...args);
    else this.resend();
  }
}

type HandlerArguments<Event extends keyof Dispatcher.DispatchHandler> = Parameters<
  NonNullable<Dispatcher.DispatchHandler[Event]>
>;

/** Closes a client: at once if it is idle, otherwise when its requests have ended. */
const closed = async (client: Client): Promise<void> => {
  if (!client.destroyed) await client.close();
};
