import type { EndedAdminCall } from '../application/ports/admin-access.ts';
import type { FinishedMcpCall } from '../application/ports/mcp-telemetry.ts';
import type { FinishedRequest } from '../application/ports/telemetry.ts';
import type { KeyOwner } from '../domain/identity/caller.ts';
import { toUsd } from '../domain/money/money.ts';
import type { ErrorCode } from '../domain/shared/gateway-error.ts';
import { brokenConnection, type DatabaseFault, databaseFault, sqlState } from './postgres/database-fault.ts';
import { errorChain } from './postgres/error-chain.ts';

export interface Log {
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
  /** Resolves when everything logged so far is written, or after one second: a stalled reader gets no longer. */
  readonly flush: () => Promise<void>;
}

/**
 * Lines are collected for this long, or up to this size, and written together: a system call per line costs more than
 * the line.
 */
const flushMs = 100;
const flushChars = 64 * 1024;
/**
 * While standard output is blocked, up to this much is buffered. Lines beyond it, and lines whose write fails, are
 * dropped and counted.
 */
const maxPendingChars = 8 * 1024 * 1024;
/** How long shutdown waits for the reader of the log. Lines not read by then are lost. */
const flushWithinMs = 1000;

/** Structured JSON lines on standard output; never a body, never a secret. */
export function openLog(output: NodeJS.WritableStream = process.stdout): Log {
  let lines: string[] = [];
  let chars = 0;
  let unwritten = 0;
  let dropped = 0;
  /** The number of dropped lines reported by lines that are still buffered. */
  let reported = 0;
  let timer: NodeJS.Timeout | undefined;

  const write = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const text = lines.join('');
    const missing = lines.length + reported;
    lines = [];
    reported = 0;
    chars = 0;
    unwritten += text.length;
    output.write(text, (error) => {
      unwritten -= text.length;
      if (error) dropped += missing;
    });
  };
  const add = (level: string, fields: object, message: string): void => {
    if (chars + unwritten > maxPendingChars) {
      dropped += 1;
      return;
    }
    const members = dropped === 0 ? fields : { ...fields, dropped_lines: dropped };
    reported += dropped;
    dropped = 0;
    const line = `${printable(JSON.stringify({ level, time: new Date().toISOString(), msg: message, ...members }))}\n`;
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
        const late = setTimeout(resolve, flushWithinMs);
        write();
        output.write('', () => {
          clearTimeout(late);
          resolve();
        });
      }),
  };
}

/**
 * JSON escapes no control character above U+001F, but terminals act on those up to U+009F, and on those that set the
 * direction of text, which can show a line as another one.
 */
const controls = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

const printable = (json: string): string =>
  json.replace(controls, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Maximum length of a caller-supplied text in a log line; the tables keep it whole. */
const maxLoggedIdChars = 128;

/** One line for each request: its request id and trace id, outcome, latency and owner. */
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
  upstream_fault: request.upstreamFault,
  latency_ms: request.latencyMs,
  api_key_id: request.caller?.apiKeyId,
  ...ownerFields(request.caller?.keyOwner),
  model: request.modelKey,
  provider: request.resolved?.provider.id,
  pricing_status: request.cost?.pricingStatus,
  cost_usd: request.cost?.pricingStatus === 'priced' ? toUsd(request.cost.cost) : undefined,
  settled: request.settled === 'recorded' ? undefined : request.settled,
  usage_unusable: request.usageUnusable ? true : undefined,
});

/** One line for each message of an MCP caller. */
export const mcpCallLog =
  (log: Log) =>
  (call: FinishedMcpCall, traceId: string | undefined): void =>
    log.info(
      {
        request_id: call.requestId.slice(0, maxLoggedIdChars),
        trace_id: traceId,
        method: call.method?.slice(0, maxLoggedIdChars),
        mcp_server: call.serverId,
        tool: call.tool?.slice(0, maxLoggedIdChars),
        status: call.status,
        error_code: call.errorCode,
        latency_ms: call.latencyMs,
        api_key_id: call.caller?.apiKeyId,
        ...ownerFields(call.caller?.keyOwner),
      },
      'mcp call',
    );

/** One line for each use of a key that is not valid, by its public id, so that it can be found where it is used. */
export const keyRefusedLog =
  (log: Log, clean: (text: string) => string) =>
  (publicId: string, address: string): void =>
    log.info({ public_id: clean(publicId), address }, 'key refused');

/** The key's owner. A service account is logged together with its team, which pays. */
function ownerFields(owner: KeyOwner | undefined) {
  if (owner === undefined) return undefined;
  if (owner.kind === 'user') return { user_id: owner.userId };
  return owner.kind === 'team'
    ? { team_id: owner.teamId }
    : { team_id: owner.teamId, service_account_id: owner.serviceAccountId };
}

/** How an unsuccessful login ended. Any other error code means that it was refused before anything was compared. */
const loginOutcomes: Readonly<Partial<Record<ErrorCode, string>>> = {
  invalid_credentials: 'failed',
  second_factor_required: 'code_wanted',
  too_many_attempts: 'throttled',
};

/**
 * One line for each call of the admin API. The line of a login has its outcome and the e-mail address that it gave.
 * `clean` redacts secrets, because callers may send one in a field that is meant for something else.
 */
export const adminCallLog =
  (log: Log, clean: (text: string) => string) =>
  (call: EndedAdminCall): void => {
    const fields = {
      request_id: clean(call.requestId).slice(0, maxLoggedIdChars),
      method: call.method,
      route: call.route,
      status: call.status,
      error_code: call.errorCode,
      reason: call.reason,
      latency_ms: call.latencyMs,
      user_id: call.userId,
      address: call.address,
    };
    if (!call.isLogin) return log.info(fields, 'admin call');
    const outcome = call.errorCode === undefined ? 'succeeded' : (loginOutcomes[call.errorCode] ?? 'refused');
    log.info({ ...fields, outcome, email: call.email && shown(clean(call.email)) }, 'login');
  };

/** A caller-supplied text, truncated, with characters escaped that steer terminals or hide text. */
const shown = (text: string): string =>
  text
    .slice(0, maxLoggedIdChars)
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (each) => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);

/**
 * Logs a failed statement with the kind of fault and PostgreSQL's code. The message may quote values, so it stays out.
 */
export function databaseFaultLog(log: Log): (fault: DatabaseFault, error: unknown) => void {
  const report = logThrottled(log, 'database statement failed');
  return (fault, error) => report({ fault, sqlstate: sqlState(error), error: causeOf(error) });
}

/** The same for an error whose kind of fault is not determined yet. */
export function statementErrorLog(log: Log): (error: unknown) => void {
  const report = databaseFaultLog(log);
  return (error) => report(databaseFault(error), error);
}

/**
 * The cause of an error, without quoting anything: the code of the system (`ECONNREFUSED`, `EMFILE`, `ENOSPC`) or of
 * PostgreSQL, else how a connection broke, else the kind of error. The message may quote values, so it stays out.
 */
export function causeOf(error: unknown): string {
  const links = errorChain(error);
  const coded = links.find(({ code }) => code !== undefined);
  return (
    coded?.code ??
    brokenConnection(error) ??
    links.find(({ name }) => name !== 'Error')?.name ??
    links[0]?.name ??
    typeof error
  );
}

/** The log fields of a defect: its cause, its message cleaned by `clean`, and where it happened. */
export const defectFields = (error: unknown, clean: (message: string) => string) => ({
  error: causeOf(error),
  message: messageOf(error, clean),
  stack: stackOf(error),
});

const messageOf = (error: unknown, clean: (message: string) => string): string | undefined => {
  const message = errorChain(error)[0]?.message;
  return message === undefined ? undefined : clean(message);
};

/** The stack frames of a defect, without the message that precedes them, which may quote what a caller sent. */
const stackOf = (error: unknown): string | undefined =>
  error instanceof Error
    ? error.stack
        ?.split('\n')
        .filter((line) => /^\s+at /.test(line))
        .slice(0, 5)
        .join('\n')
    : undefined;

/** Logs failures of a retried operation when they begin or their cause changes, not on every attempt. */
export function failuresOf(log: Log, message: string) {
  let reported: string | undefined;
  return {
    failed: (error: unknown): void => {
      const cause = causeOf(error);
      if (cause !== reported) log.error({ error: cause }, message);
      reported = cause;
    },
    worked: (): void => {
      reported = undefined;
    },
  };
}

/** A failure that recurs for as long as its cause lasts is logged again after this time. */
const toldAgainMs = 60_000;

/**
 * Logs failures that recur with every statement or request while their cause lasts. Each kind, identified by its
 * fields, is logged at once and then at most once a minute, with the number of occurrences in between (`more`). The end
 * of a failure is not logged.
 */
export function logThrottled(log: Log, message: string, now = (): number => performance.now()) {
  const reported = new Map<string, { readonly at: number; more: number }>();
  return (kind: Readonly<Record<string, string | undefined>>): void => {
    const key = JSON.stringify(kind);
    const last = reported.get(key);
    if (last !== undefined && now() - last.at < toldAgainMs) {
      last.more += 1;
      return;
    }
    reported.set(key, { at: now(), more: 0 });
    log.error(last === undefined || last.more === 0 ? kind : { ...kind, more: last.more }, message);
  };
}
