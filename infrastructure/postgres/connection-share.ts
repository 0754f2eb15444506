import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';

/** What a user of connections does with them: takes one, and returns or drops it. */
export type ConnectionSource = Pick<Connections, 'take' | 'give' | 'drop'>;

/** A share of a pool's connections: at most `max` of them are used through it at once, and other callers wait. */
export class ConnectionShare implements ConnectionSource {
  private readonly connections: ConnectionSource;
  private readonly waiting: (() => void)[] = [];
  private free: number;

  constructor(connections: ConnectionSource, max: number) {
    this.connections = connections;
    this.free = max;
  }

  async take(): Promise<Connection> {
    if (this.free > 0) this.free -= 1;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.connections.take().catch((error: unknown) => {
      this.leave();
      throw error;
    });
  }

  give(connection: Connection): void {
    this.connections.give(connection);
    this.leave();
  }

  drop(connection: Connection): void {
    this.connections.drop(connection);
    this.leave();
  }

  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
