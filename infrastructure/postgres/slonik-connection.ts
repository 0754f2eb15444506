import { EventEmitter } from 'node:events';
import type { Driver } from 'slonik';
import type { Connection } from './connection.ts';
import type { ConnectionSource } from './connection-share.ts';
import { answeredWithin, anyTime } from './within-time.ts';

/** A connection as slonik's drivers provide it. */
type LibraryConnection = Awaited<ReturnType<Driver['createClient']>>;

/**
 * A connection for as long as slonik's pool has it, from checkout to release; to slonik each is a new one. Statements
 * through slonik and those that bypass it (`prepared`) thereby share the same connections.
 */
export class SlonikConnection implements LibraryConnection {
  readonly on: LibraryConnection['on'];
  readonly off: LibraryConnection['off'];
  readonly removeListener: LibraryConnection['removeListener'];
  private readonly connection: Connection;
  private readonly connections: ConnectionSource;
  private readonly answerMs: number;
  private readonly events = new EventEmitter();
  private readonly unwatch: () => void;
  private is: 'ACQUIRED' | 'DESTROYED' = 'ACQUIRED';

  /** A statement without an answer after `answerMs` is abandoned; slonik then destroys the failed connection. */
  constructor(connection: Connection, connections: ConnectionSource, answerMs: number) {
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

  /** Returns false if the connection was already released or destroyed. */
  private leave(): boolean {
    if (this.is === 'DESTROYED') return false;
    this.is = 'DESTROYED';
    this.unwatch();
    this.events.emit('destroy');
    return true;
  }

  /** Notifies the holder of a broken connection at once, even between two statements. */
  private readonly broke = (error: Error | undefined): void => {
    if (error !== undefined && this.events.listenerCount('error') > 0) this.events.emit('error', error);
  };
}

type Command = Awaited<ReturnType<LibraryConnection['query']>>['command'];
