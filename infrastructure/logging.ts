import type { FinishedRequest } from '../application/ports/telemetry.ts';
import { toUsd } from '../domain/money/money.ts';
import { type DatabaseFault, sqlState } from './postgres/database-fault.ts';

export interface Log {
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
  /** Resolves when everything logged so far is written. */
  readonly flush: () => Promise<void>;
}

/** Lines are collected for this long, or up to this size, and written together: a system call per line costs more than the line. */
const flushMs = 100;
const flushChars = 64 * 1024;
/** While standard output does not take lines, this much is kept; beyond it lines are dropped, and counted. */
const maxPendingChars = 8 * 1024 * 1024;

/** Structured JSON lines on standard output; never a body, never a secret. */
export function openLog(output: NodeJS.WritableStream = process.stdout): Log {
  let lines: string[] = [];
  let chars = 0;
  let unwritten = 0;
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;

  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = lines.join('');
    lines = [];
    chars = 0;
    unwritten += text.length;
    output.write(text, () => {
      unwritten -= text.length;
    });
  };
  const add = (level: string, fields: object, message: string): void => {
    if (chars + unwritten > maxPendingChars) {
      dropped += 1;
      return;
    }
    const said = dropped === 0 ? fields : { ...fields, dropped_lines: dropped };
    dropped = 0;
    const line = `${printable(JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...said }))}\n`;
    lines.push(line);
    chars += line.length;
    if (chars >= flushChars) write();
    else timer ??= setTimeout(write, flushMs);
  };
  return {
    info: (fields, message) => add('info', fields, message),
    warn: (fields, message) => add('warn', fields, message),
    error: (fields, message) => add('error', fields, message),
    flush: () =>
      new Promise((resolve) => {
        write();
        output.write('', () => resolve());
      }),
  };
}

/** JSON escapes no control character above U+001F, but terminals act on those up to U+009F. */
const controls = /[\u007f-\u009f]/g;

const printable = (json: string): string =>
  json.replace(controls, (each) => `\\u00${each.charCodeAt(0).toString(16)}`);

/** Characters of a caller's own text in a log line; the tables keep it whole. */
const maxLoggedIdChars = 128;

/** One line for each request: its id and its trace's, its outcome, its latency. */
export const requestLog =
  (log: Log) =>
  (request: FinishedRequest, traceId: string | undefined): void =>
    log.info(requestFields(request, traceId), 'request');

const requestFields = (request: FinishedRequest, traceId: string | undefined) => ({
  request_id: request.requestId.slice(0, maxLoggedIdChars),
  trace_id: traceId,
  family: request.family,
  stream: request.stream,
  outcome: request.outcome,
  status: request.statusCode,
  error_code: request.errorCode,
  latency_ms: request.latencyMs,
  api_key_id: request.caller?.apiKeyId,
  model: request.modelKey,
  provider: request.resolved?.provider.id,
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

/** Where a defect happened, without its message: messages may quote what a caller sent. */
export const stackOf = (error: unknown): string | undefined =>
  error instanceof Error
    ? error.stack
        ?.split('\n')
        .filter((line) => /^\s+at /.test(line))
        .slice(0, 5)
        .join('\n')
    : undefined;
