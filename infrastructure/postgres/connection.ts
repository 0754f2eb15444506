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

/** How long closing a connection may wait for the server. */
const closingMs = 5_000;

/** A connection to a server, which is a session there. */
export interface Connection {
  readonly id: string;
  readonly isOpen: () => boolean;
  /** Runs any statement, as slonik sends it: values as the driver encodes them, rows as objects by column. */
  readonly query: (text: string, values: readonly unknown[]) => Promise<QueryResult>;
  /** Runs a statement that is sent many times; its rows are the texts of its columns. */
  readonly call: (statement: NamedStatement, values: readonly SentValue[]) => Promise<readonly TextRow[]>;
  /** Closes the connection; never rejects. Not meant to be awaited: on a dead network it takes seconds. */
  readonly close: () => Promise<void>;
  /** Calls `listener` when either side closes the connection, with the error if any. Returns a function to unsubscribe. */
  readonly whenClosed: (listener: (error: Error | undefined) => void) => () => void;
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
  /** Names of the statements that the server has already prepared. */
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
   * Passes the driver a callback, so that it creates no promise itself. The driver creates its promise after the query
   * that it belongs to. Once one such query has reached V8's old generation, every later one follows it there with its
   * rows, until a full garbage collection: a twentieth of everything that a busy process allocates.
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

  whenClosed(listener: (error: Error | undefined) => void): () => void {
    return this.listeners.add(listener);
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
    for (const listener of this.listeners.values())
      listener(error === undefined ? undefined : inLibrarysWords(error));
  }
}

/** Slonik and the code on top of it look for these kinds of errors, and drivers are expected to produce them. */
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
