import pino from 'pino';
import type { FinishedRequest, RequestObserver } from '../application/ports/request-observer.ts';
import { toUsd } from '../domain/money/money.ts';
import { type DatabaseFault, sqlState } from './postgres/database-fault.ts';

export interface Log {
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
  /** Resolves when everything logged so far is written. */
  readonly flush: () => Promise<void>;
}

/** Lines are collected up to this size before they are written, and at least every half second. */
const bufferBytes = 8 * 1024;
const flushMs = 500;

/** Structured JSON lines on standard output; never a body, never a secret. */
export function openLog(): Log {
  const destination = pino.destination({
    fd: 1,
    sync: false,
    minLength: bufferBytes,
    periodicFlush: flushMs,
  });
  const logger = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  return {
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    error: (fields, message) => logger.error(fields, message),
    flush: () =>
      new Promise((resolve) => {
        destination.flush(() => resolve());
      }),
  };
}

/** Characters of a caller's own text in a log line; the tables keep it whole. */
const maxLoggedIdChars = 128;

/** One line for each request: its id, its outcome, its latency. */
export const requestLog = (log: Log): RequestObserver => ({
  finished: (request) => log.info(requestFields(request), 'request'),
});

const requestFields = (request: FinishedRequest) => ({
  request_id: request.requestId.slice(0, maxLoggedIdChars),
  family: request.family,
  stream: request.stream,
  outcome: request.outcome,
  status: request.statusCode,
  error_code: request.errorCode,
  latency_ms: request.latencyMs,
  api_key_id: request.caller?.apiKeyId,
  model: request.modelKey,
  provider: request.providerKey,
  pricing_status: request.cost?.pricingStatus,
  cost_usd: request.cost?.pricingStatus === 'priced' ? toUsd(request.cost.cost) : undefined,
  settled: request.settled === 'recorded' ? undefined : request.settled,
  usage_unusable: request.usageUnusable ? true : undefined,
});

/** A failed statement: what kind of fault, and PostgreSQL's code. Its message may quote values, so it stays out. */
export const databaseFaultLog =
  (log: Log) =>
  (fault: DatabaseFault, error: unknown): void =>
    log.error({ fault, sqlstate: sqlState(error), error: nameOf(error) }, 'database statement failed');

export const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
