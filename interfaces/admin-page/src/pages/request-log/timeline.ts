import type { LoggedDetail } from '../request-logs/request-log.ts';

/** A period or an instant in the life of a request. */
export interface TimelineStep {
  readonly what: string;
  readonly tone: 'good' | 'bad' | 'plain';
  /** Milliseconds since the request was received. */
  readonly fromMs: number;
  /** Equals `fromMs` for an instant. */
  readonly untilMs: number;
  readonly detail: string | undefined;
}

export interface Timeline {
  /** When the request was received, RFC 3339. */
  readonly receivedAt: string;
  readonly totalMs: number;
  readonly steps: readonly TimelineStep[];
}

/**
 * What the row shows: when the request was received, its attempts, when the caller got the first part of a stream, when
 * the answer ended, and when that was recorded.
 */
export function timelineOf({ log, attempts }: Pick<LoggedDetail, 'log' | 'attempts'>): Timeline {
  const recordedAt = Date.parse(log.occurred_at);
  const received = receivedAt(log.request_log_id) ?? recordedAt - log.latency_ms;
  const since = (at: string): number => Math.max(0, Date.parse(at) - received);
  const calls = attempts.map((attempt): TimelineStep => {
    const isGood = attempt.status === 'success';
    const words = [attempt.error_code, attempt.error_detail].filter((text) => text !== null);
    return {
      what: `Attempt ${attempt.attempt_number}: ${attempt.upstream_model} at ${attempt.provider_key}, ${attempt.status.replaceAll('_', ' ')}${attempt.status_code === null ? '' : ` ${attempt.status_code}`}`,
      tone: isGood ? 'good' : 'bad',
      fromMs: since(attempt.started_at),
      untilMs: since(attempt.completed_at),
      detail: words.length === 0 ? undefined : words.join(': '),
    };
  });
  const begun = calls[0]?.fromMs;
  const admission: TimelineStep = {
    what:
      begun === undefined
        ? 'Refused before anything was sent upstream'
        : 'Admission: key, limits, budget, route',
    tone: begun === undefined ? 'bad' : 'plain',
    fromMs: 0,
    untilMs: begun ?? log.latency_ms,
    detail: begun === undefined && log.error_code !== null ? log.error_code : undefined,
  };
  const first = log.first_token_ms;
  const firstToken: readonly TimelineStep[] =
    first === null
      ? []
      : [{ what: 'First token', tone: 'plain', fromMs: first, untilMs: first, detail: undefined }];
  const ended = Math.max(log.latency_ms, ...calls.map(({ untilMs }) => untilMs));
  const settled = Math.max(ended, recordedAt - received);
  const settlement: TimelineStep = {
    what: settlementOf(log.pricing_status),
    tone: 'plain',
    fromMs: ended,
    untilMs: settled,
    detail: undefined,
  };
  return {
    receivedAt: new Date(received).toISOString(),
    totalMs: Math.max(settled, 1),
    steps: [admission, ...calls, ...firstToken, settlement],
  };
}

const settlementOf = (status: LoggedDetail['log']['pricing_status']): string =>
  status === null ? 'Recorded, not in the ledger' : 'Settled in the ledger and recorded';

/** The id is a UUIDv7 that was made when the request was received. It begins with that time in milliseconds. */
function receivedAt(requestLogId: string): number | undefined {
  const hex = /^([\da-f]{8})-([\da-f]{4})-7/i.exec(requestLogId);
  return hex === null ? undefined : Number.parseInt(`${hex[1]}${hex[2]}`, 16);
}
