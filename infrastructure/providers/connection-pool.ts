import type { Socket } from 'node:net';
import { buildConnector, Client, type Dispatcher } from 'undici';
import { LiveList } from '../../domain/shared/live-list.ts';
import type { Timeouts } from '../config/provider-config.ts';
import { sharedLookup } from './shared-lookup.ts';

/**
 * Unused connections are kept this long where the upstream does not say how long it keeps its own: uvicorn, gunicorn and
 * Node close theirs after 5 seconds, and a request that meets the close is lost.
 */
const keepAliveMs = 4_000;

/**
 * Connections to one origin. Each request has one of its own: what becomes of it is the fault of one, and none waits for
 * its handshake. The one that was used last is used next, so that those that are not needed get old and are closed.
 * It stands in the place of undici's `Pool`, which looks at each connection for each request (60 µs beside 4,500 streams)
 * and keeps 2 KB of each that there ever was.
 */
export class ConnectionPool {
  private readonly newClient: (opened: (socket: Socket | null) => void) => Client;
  private readonly all = new LiveList<Client>();
  /** Some may have been closed since. */
  private free: Client[] = [];
  private closedSince = 0;
  private isClosed = false;

  constructor({ origin }: URL, { connectMs, firstByteMs, idleMs }: Timeouts) {
    // One for all: TLS sessions are resumed across connections.
    const connect = buildConnector({ timeout: connectMs, lookup: sharedLookup(), allowH2: false });
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

  /** Not of one that is closed. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const send = (): void => void this.connected().dispatch(options, handler);
    const free = this.nextFree();
    if (free === undefined) return send();
    free.dispatch(options, new Resendable(handler, free, send));
  }

  /** What is under way goes on to its end. */
  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.all.values().map((client) => closed(client)));
  }

  /** What is under way fails. */
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
    // Another request may wait for it to connect again: it has its answer before the client is gone.
    const lost = (): void => {
      socket = null;
      this.sweep();
      void closed(client).then(leave);
    };
    client.on('drain', () => {
      // It answered before it took the whole request: the next one would wait behind the rest.
      if ((socket?.writableLength ?? 0) > 0) void closed(client);
      else if (!client.closed) this.free.push(client);
    });
    client.on('disconnect', lost);
    client.on('connectionError', lost);
    return client;
  }

  /** Takes out what was closed, once that may be half of what is free: all together it is looked at twice. */
  private sweep(): void {
    this.closedSince += 1;
    if (this.closedSince * 2 <= this.free.length) return;
    this.free = this.free.filter((client) => !client.closed);
    this.closedSince = 0;
  }
}

/**
 * A request over a connection that was free: one that breaks before anything was written to it has taken nothing, and
 * the request goes over another. What was written, even in part, is never sent again.
 */
class Resendable implements Dispatcher.DispatchHandler {
  private readonly to: Dispatcher.DispatchHandler;
  private readonly client: Client;
  /** Let go of with the request's text, once that is written: the answer may take minutes. */
  private resend: (() => void) | undefined;

  constructor(to: Dispatcher.DispatchHandler, client: Client, resend: () => void) {
    this.to = to;
    this.client = client;
    this.resend = resend;
  }

  onRequestStart(...told: Told<'onRequestStart'>): void {
    this.resend = undefined;
    this.to.onRequestStart?.(...told);
  }

  onResponseStart(...told: Told<'onResponseStart'>): void {
    this.to.onResponseStart?.(...told);
  }

  onResponseData(...told: Told<'onResponseData'>): void {
    this.to.onResponseData?.(...told);
  }

  onResponseEnd(...told: Told<'onResponseEnd'>): void {
    this.to.onResponseEnd?.(...told);
  }

  onResponseError(...told: Told<'onResponseError'>): void {
    // One that is closed by then could not be had again, or its pool is gone.
    const { closed: isClosed, destroyed } = this.client;
    if (this.resend === undefined || isClosed || destroyed) this.to.onResponseError?.(...told);
    else this.resend();
  }
}

type Told<Event extends keyof Dispatcher.DispatchHandler> = Parameters<
  NonNullable<Dispatcher.DispatchHandler[Event]>
>;

/** At once, or when its request is over. */
const closed = async (client: Client): Promise<void> => {
  if (!client.destroyed) await client.close();
};
