import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Dialect } from './dialect.ts';
import type { Body } from './request-body.ts';

/** The delays of answers in milliseconds, unless a directive sets others. */
export interface Pace {
  readonly latencyMs: number;
  readonly chunkDelayMs: number;
}

/** A request to answer, with its body read. */
export interface Call {
  readonly headers: IncomingHttpHeaders;
  readonly body: Body;
  readonly response: ServerResponse;
  readonly pace: Pace;
  readonly dialect: Dialect;
  /** The number of the request, from 1, unique within the server. */
  readonly serial: number;
  /** Closes the socket on purpose: the request does not count as aborted by the client. */
  readonly breakOff: () => void;
}

/** Answers a call. Settles when nothing more will be written. */
export type Family = (call: Call) => void | Promise<void>;
