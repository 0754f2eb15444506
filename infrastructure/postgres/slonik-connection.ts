import { EventEmitter } from 'node:events';
import type { Driver } from 'slonik';
import type { Connection } from './connection.ts';
import type { Connections } from './connections.ts';
import { answeredWithin, anyTime } from './within-time.ts';

/** A connection as the library's drivers give it. */
type LibraryConnection = Awaited<ReturnType<Driver['createClient']>>;

/**
 * A connection for as long as slonik's pool has it, from a checkout to its release: to the library each is a new one. So
 * what runs through the library, and what goes past it (`prepared`), share the same connections.
 */
export class SlonikConnection implements LibraryConnection {
  readonly on: LibraryConnection['on'];
  readonly off: LibraryConnection['off'];
  readonly removeListener: LibraryConnection['removeListener'];
  private readonly connection: Connection;
  private readonly connections: Connections;
  private readonly answerMs: number;
  private readonly events = new EventEmitter();
  private readonly unwatch: () => void;
  private is: 'ACQUIRED' | 'DESTROYED' = 'ACQUIRED';

  /** A statement that has no answer after `answerMs` is given up; the library then closes what failed. */
  constructor(connection: Connection, connections: Connections, answerMs: number) {
    this.connection = connection;
    this.connections = connections;
    this.answerMs = answerMs;
    this.on = this.events.on.bind(this.events) as LibraryConnection['on'];
    this.off = this.events.off.bind(this.events) as LibraryConnection['off'];
    this.removeListener = this.off;
    this.unwatch = connection.whenClosed(this.broke);
  }

  readonly id = (): string => this.connection.id;

  readonly state = () => this.is;

  readonly acquire = (): void => undefined;

  readonly query: LibraryConnection['query'] = async (text, values = []) => {
    const asked = this.connection.query(text, values);
    const { command, fields, rowCount, rows } = await (this.answerMs === anyTime
      ? asked
      : answeredWithin(asked, this.answerMs));
    const named = fields.map(({ dataTypeID, name }) => ({ dataTypeId: dataTypeID, name }));
    return { command: command as Command, fields: named, rowCount, rows };
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
    this.unwatch();
    this.events.emit('destroy');
    return true;
  }

  /** Whoever has it hears at once that it broke, also between two statements. */
  private readonly broke = (error: Error | undefined): void => {
    if (error !== undefined && this.events.listenerCount('error') > 0) this.events.emit('error', error);
  };
}

type Command = Awaited<ReturnType<LibraryConnection['query']>>['command'];
