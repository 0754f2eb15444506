import { randomUUID } from 'node:crypto';
import { EventEmitter } from 'node:events';
import type { Connection, Connections } from './connections.ts';
import { answeredWithin, anyTime, tooLate } from './within-time.ts';

/**
 * What slonik's pool takes for a connection: it has one from its first statement until it is released. So what runs
 * through the library, and what goes past it (`prepared`), share the same connections. A statement that has no answer
 * after `answerMs`, the wait for a connection included, is given up, and the library closes the seat with its connection.
 */
export class Seat implements Connection {
  readonly on: Connection['on'];
  readonly off: Connection['off'];
  readonly removeListener: Connection['removeListener'];
  private readonly connections: Connections;
  private readonly answerMs: number;
  private readonly name = randomUUID();
  private readonly events = new EventEmitter();
  private is: 'IDLE' | 'ACQUIRED' | 'DESTROYED' = 'IDLE';
  private taking: Promise<Connection> | undefined;
  private taken: Connection | undefined;

  constructor(connections: Connections, answerMs: number) {
    this.connections = connections;
    this.answerMs = answerMs;
    this.on = this.events.on.bind(this.events) as Connection['on'];
    this.off = this.events.off.bind(this.events) as Connection['off'];
    this.removeListener = this.off;
  }

  readonly id = (): string => this.name;

  readonly state = () => this.is;

  readonly acquire = (): void => {
    if (this.is !== 'IDLE') throw new Error(`A seat that is ${this.is} cannot be taken.`);
    this.is = 'ACQUIRED';
    this.events.emit('acquire');
  };

  readonly query: Connection['query'] = (...asked) => {
    const answer = this.ask(asked);
    return this.answerMs === anyTime ? answer : answeredWithin(answer, this.answerMs);
  };

  readonly stream = (): never => {
    throw new Error('Rows are not streamed.');
  };

  readonly release = async (): Promise<void> => {
    if (this.is !== 'ACQUIRED') return;
    const left = this.leave();
    if (left !== undefined) this.connections.give(left);
    this.is = 'IDLE';
    this.events.emit('release');
  };

  readonly destroy = async (): Promise<void> => {
    if (this.is === 'DESTROYED') return;
    this.is = 'DESTROYED';
    const left = this.leave();
    if (left !== undefined) this.connections.drop(left);
    this.events.emit('destroy');
  };

  private async ask(asked: Parameters<Connection['query']>): ReturnType<Connection['query']> {
    this.taking ??= this.take();
    const connection = this.taken ?? (await this.taking);
    return connection.query(...asked);
  }

  private async take(): Promise<Connection> {
    const connection = await this.connections.take();
    if (this.is === 'DESTROYED') {
      this.connections.give(connection);
      throw tooLate();
    }
    this.taken = connection;
    connection.on('error', this.broke);
    return connection;
  }

  private leave(): Connection | undefined {
    const left = this.taken;
    left?.off('error', this.broke);
    this.taken = undefined;
    this.taking = undefined;
    return left;
  }

  /** Whoever has the seat hears at once that its connection broke, also between two statements. */
  private readonly broke = (error: Error): void => {
    if (this.events.listenerCount('error') > 0) this.events.emit('error', error);
  };
}
