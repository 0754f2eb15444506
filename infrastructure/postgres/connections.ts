import type { Connection } from './connection.ts';
import { databaseFault } from './database-fault.ts';
import { tooLate } from './within-time.ts';

/** A connection that has been idle for this long is closed at the next check. */
const idleMs = 60_000;
const lookMs = 15_000;

/** The number of connections, and of statements waiting for one. */
export interface ConnectionCounts {
  readonly used: number;
  readonly idle: number;
  readonly waiting: number;
}

interface Idle {
  readonly connection: Connection;
  readonly since: number;
}

interface Waiting {
  readonly resolve: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The connection pool of a process, shared by all its statements. The most recently returned connection is taken first:
 * its server process is still in the processor's caches, and unneeded connections can be closed. Taking them in turn
 * costs the server a seventh more for each statement.
 */
export class Connections {
  private readonly connect: () => Promise<Connection>;
  private readonly max: number;
  /** Idle connections, the most recently returned last. */
  private readonly idle: Idle[] = [];
  private readonly waiting: Waiting[] = [];
  /** Connections that are open or being opened. */
  private open = 0;
  private opening = 0;
  private look: NodeJS.Timeout | undefined;
  private over = false;

  constructor(connect: () => Promise<Connection>, max: number) {
    this.connect = connect;
    this.max = max;
  }

  counts(): ConnectionCounts {
    const idle = this.idle.length;
    return { used: this.open - this.opening - idle, idle, waiting: this.waiting.length };
  }

  /** Takes a connection, which must be returned with `give` or dropped. Rejects if none can be had. */
  take(): Promise<Connection> {
    const connection = this.lastIdle();
    if (connection !== undefined) return Promise.resolve(connection);
    if (this.over) return Promise.reject(ended());
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.openNext();
    });
  }

  /** Returns a connection as it was when it was taken: nothing may be left behind in its session. */
  give(connection: Connection): void {
    // The server may have closed it in the meantime.
    if (this.over || !connection.isOpen()) return this.drop(connection);
    const next = this.waiting.shift();
    if (next !== undefined) return next.resolve(connection);
    this.idle.push({ connection, since: performance.now() });
    this.look ??= setInterval(() => this.closeUnused(), lookMs).unref();
  }

  /** Closes a connection that must not be reused. The close is not awaited: on a dead network it takes seconds. */
  drop(connection: Connection): void {
    this.open -= 1;
    void connection.close();
    this.openNext();
  }

  /**
   * Runs `work` with a connection of its own and returns the connection afterwards. If there is no result after
   * `withinMs`, which includes the wait for a connection, the promise rejects and the connection is closed.
   */
  use<A>(work: (connection: Connection) => Promise<A>, withinMs: number): Promise<A> {
    return new Promise((resolve, reject) => {
      let connection: Connection | undefined;
      let over = false;
      const end = (isUsable: boolean): void => {
        over = true;
        clearTimeout(timer);
        if (connection === undefined) return;
        if (isUsable) this.give(connection);
        else this.drop(connection);
      };
      const fail = (error: unknown): void => {
        if (over) return;
        // A refused statement leaves its session as it was. One that met another schema may be planned for the old one.
        end(databaseFault(error) === 'refused' || databaseFault(error) === 'stuck');
        reject(error);
      };
      const timer = setTimeout(() => fail(tooLate()), withinMs);
      const begin = (taken: Connection): void => {
        if (over) return this.give(taken);
        connection = taken;
        work(taken).then((given) => {
          if (over) return;
          end(true);
          resolve(given);
        }, fail);
      };
      this.take().then(begin, fail);
    });
  }

  /** Closes all idle connections now, and those in use when they are returned. */
  async end(): Promise<void> {
    this.over = true;
    clearInterval(this.look);
    for (const { reject } of this.waiting.splice(0)) reject(ended());
    const closing = this.idle.splice(0).map(({ connection }) => connection.close());
    this.open -= closing.length;
    await Promise.allSettled(closing);
  }

  private lastIdle(): Connection | undefined {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) {
      if (last.connection.isOpen()) return last.connection;
      this.open -= 1;
    }
    return undefined;
  }

  /** Opens a connection for the longest waiting caller, if the limit allows one more. */
  private openNext(): void {
    if (this.over || this.opening >= this.waiting.length || this.open >= this.max) return;
    this.open += 1;
    this.opening += 1;
    this.connect().then(
      (connection) => {
        this.opening -= 1;
        connection.whenClosed(() => this.forget(connection));
        this.give(connection);
      },
      (error: unknown) => {
        this.opening -= 1;
        this.open -= 1;
        this.waiting.shift()?.reject(error);
        this.openNext();
      },
    );
  }

  /** Removes a connection that the server closed while it was idle. */
  private forget(connection: Connection): void {
    const at = this.idle.findIndex((each) => each.connection === connection);
    if (at < 0) return;
    this.idle.splice(at, 1);
    this.open -= 1;
  }

  private closeUnused(): void {
    const before = performance.now() - idleMs;
    const kept = this.idle.findIndex(({ since }) => since > before);
    const unused = this.idle.splice(0, kept < 0 ? this.idle.length : kept);
    for (const { connection } of unused) this.drop(connection);
  }
}

const ended = (): Error => new Error('Connection pool has ended.');
