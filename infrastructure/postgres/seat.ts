import { EventEmitter } from 'node:events';
import type { Connection, Connections } from './connections.ts';
import { answeredWithin, anyTime } from './within-time.ts';

/**
 * A connection for as long as slonik's pool has it, from a checkout to its release: to the library each is a new one. So
 * what runs through the library, and what goes past it (`prepared`), share the same connections.
 */
export class Seat implements Connection {
  readonly id: Connection['id'];
  readonly on: Connection['on'];
  readonly off: Connection['off'];
  readonly removeListener: Connection['removeListener'];
  private readonly connection: Connection;
  private readonly connections: Connections;
  private readonly answerMs: number;
  private readonly events = new EventEmitter();
  private is: 'ACQUIRED' | 'DESTROYED' = 'ACQUIRED';

  /** A statement that has no answer after `answerMs` is given up; the library then closes what failed. */
  constructor(connection: Connection, connections: Connections, answerMs: number) {
    this.connection = connection;
    this.connections = connections;
    this.answerMs = answerMs;
    this.id = connection.id;
    this.on = this.events.on.bind(this.events) as Connection['on'];
    this.off = this.events.off.bind(this.events) as Connection['off'];
    this.removeListener = this.off;
    connection.on('error', this.broke);
  }

  readonly state = () => this.is;

  readonly acquire = (): void => undefined;

  readonly query: Connection['query'] = (...asked) => {
    const answer = this.connection.query(...asked);
    return this.answerMs === anyTime ? answer : answeredWithin(answer, this.answerMs);
  };

  readonly stream = (): never => {
    throw new Error('Rows are not streamed.');
  };

  readonly release = async (): Promise<void> => {
    if (this.leave()) this.connections.give(this.connection);
  };

  readonly destroy = async (): Promise<void> => {
    if (this.leave()) this.connections.drop(this.connection);
  };

  /** False: it was left before. */
  private leave(): boolean {
    if (this.is === 'DESTROYED') return false;
    this.is = 'DESTROYED';
    this.connection.off('error', this.broke);
    this.events.emit('destroy');
    return true;
  }

  /** Whoever has it hears at once that it broke, also between two statements. */
  private readonly broke = (error: Error): void => {
    if (this.events.listenerCount('error') > 0) this.events.emit('error', error);
  };
}
