import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientConfig, type QueryResult } from 'pg';
import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { LiveList } from '../../domain/shared/live-list.ts';
import { sqlState } from './database-fault.ts';
import { type NamedStatement, type SentValue, StatementCall, type TextRow } from './statement-call.ts';

/** How long a connection that is closed may still wait for the server. */
const closingMs = 5_000;

/** A connection with a server: a session there. */
export interface Connection {
  readonly id: string;
  readonly isOpen: () => boolean;
  /** What the library sends: any statement, its values as the driver spells them, its rows by column. */
  readonly query: (text: string, values: readonly unknown[]) => Promise<QueryResult>;
  /** A statement that is sent many times; its rows are the texts of its columns. */
  readonly call: (statement: NamedStatement, values: readonly SentValue[]) => Promise<readonly TextRow[]>;
  /** Closes it; never rejects. Nobody has to wait for it: on a dead network it takes seconds. */
  readonly close: () => Promise<void>;
  /** Told when it is closed, from which side ever; with the error, where there is one. Gives back what ends that. */
  readonly whenClosed: (tell: (error: Error | undefined) => void) => () => void;
}

let opened = 0;

/** Connects to a server; rejects when it cannot. */
export async function openConnection(options: ClientConfig): Promise<Connection> {
  const connection = new DriverConnection(options);
  await connection.connect();
  return connection;
}

class DriverConnection implements Connection {
  readonly id = `connection ${(opened += 1)}`;
  private readonly client: Client;
  /** Statements that the server knows by their names. */
  private readonly known = new Set<string>();
  private readonly listeners = new LiveList<(error: Error | undefined) => void>();
  private closing: Promise<void> | undefined;

  constructor(options: ClientConfig) {
    this.client = new Client(options);
    this.client.on('error', (error) => this.over(error));
    this.client.on('end', () => this.over(undefined));
  }

  async connect(): Promise<void> {
    await this.client.connect();
  }

  isOpen(): boolean {
    return this.closing === undefined;
  }

  /**
   * The driver is given a callback, and makes no promise itself. Its promise is made after the query that it is of; once
   * one such query has come into V8's old generation, so does each that follows it, with its rows, until the whole heap
   * is collected: a twentieth of all that a busy process allocates.
   */
  query(text: string, values: readonly unknown[]): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      this.client.query(text, [...values], (error: Error | null, result) => {
        if (error !== null) reject(inLibrarysWords(error));
        else if (Array.isArray(result)) reject(new TypeError('a text has several statements'));
        else resolve(result);
      });
    });
  }

  call(statement: NamedStatement, values: readonly SentValue[]): Promise<readonly TextRow[]> {
    return new Promise((resolve, reject) => {
      this.client.query(new StatementCall(statement, values, this.known, resolve, reject));
    });
  }

  close(): Promise<void> {
    this.over(undefined);
    return this.closing ?? Promise.resolve();
  }

  whenClosed(tell: (error: Error | undefined) => void): () => void {
    return this.listeners.add(tell);
  }

  private async end(): Promise<void> {
    await Promise.race([
      this.client.end().catch(() => undefined),
      sleep(closingMs, undefined, { ref: false }),
    ]);
  }

  private over(error: Error | undefined): void {
    if (this.closing !== undefined) return;
    this.closing = this.end();
    for (const tell of this.listeners.values())
      tell(error === undefined ? undefined : inLibrarysWords(error));
  }
}

/** These kinds of errors are looked for, by the library and by what stands on it; drivers are to make them. */
function inLibrarysWords(error: Error): Error {
  if (error.message === 'Connection terminated unexpectedly')
    return new BackendTerminatedUnexpectedlyError(error);
  if (error.message === 'Connection terminated') return new BackendTerminatedError(error);
  const state = sqlState(error);
  if (state === '57P01') return new BackendTerminatedError(error);
  if (state !== '57014') return error;
  return error.message.includes('user request')
    ? new StatementCancelledError(error)
    : new StatementTimeoutError(error);
}
