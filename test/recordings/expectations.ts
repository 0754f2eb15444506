import { expect } from '@jest/globals';
import type { UsageFacts } from './library.ts';
import { isLoose, type Loose, type ReceivedStream } from './received.ts';
import { type Answer, picousdPerToken } from './rehearsal.ts';

/** A failed request, as its caller and its rows show it. */
export interface ExpectedFailure {
  readonly status: number;
  readonly message?: string | RegExp;
  readonly attempt: 'provider_error' | 'stream_start_error' | 'stream_error';
  /** The status of the upstream in the attempt; not checked unless given. */
  readonly upstreamStatus?: number | null;
  /** The labels of the upstream; none unless given. */
  readonly labels?: ExpectedLabels;
}

/** The upstream's names for a failure that callers receive (rule 35.11). */
export interface ExpectedLabels {
  readonly code?: string;
  readonly param?: string;
  /** `error.type` of the messages family. */
  readonly type?: string;
}

/** Checks the error body of a family. */
type ExpectError = (body: unknown, message: string | RegExp | undefined) => void;

/** The envelope with all of its four keys and nothing else (rule 34.1). */
function expectEnvelope(
  body: unknown,
  message: string | RegExp | undefined,
  labels: ExpectedLabels = {},
): void {
  expect(isLoose(body) ? Object.keys(body) : body).toEqual(['error']);
  const error = (body as Loose)['error'];
  expect(error).toEqual({
    message: expect.any(String),
    type: 'upstream_error',
    param: labels.param ?? null,
    code: labels.code ?? 'upstream_error',
  });
  const told = String((error as Loose)['message']);
  expect(told).not.toBe('');
  if (typeof message === 'string') expect(told).toBe(message);
  if (message instanceof RegExp) expect(told).toMatch(message);
}

/** {@link expectEnvelope} with an error code of the upstream. */
export const expectCode =
  (code: string): ExpectError =>
  (body, message) =>
    expectEnvelope(body, message, { code });

/** The `error` event of a responses stream: the envelope, and the members that clients read at the top level. */
export function expectErrorEvent(event: unknown, message: string | RegExp | undefined): void {
  const { type, sequence_number, code, message: words, param, ...envelope } = event as Loose;
  expect({ type, code, param }).toEqual({ type: 'error', code: 'upstream_error', param: null });
  expect(Number.isInteger(sequence_number)).toBe(true);
  expectEnvelope(envelope, message);
  expect(words).toBe((envelope['error'] as Loose)['message']);
}

const messagesTypes: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  404: 'not_found_error',
  413: 'request_too_large',
  422: 'invalid_request_error',
  429: 'rate_limit_error',
};

/**
 * The envelope of the messages family for an upstream's error: its own type, else one by the status that the caller
 * receives (rules 34.2, 35.8).
 */
export const expectMessagesError =
  (status: number, requestId: string, type = messagesTypes[status] ?? 'api_error'): ExpectError =>
  (body, message) => {
    expect(body).toEqual({
      type: 'error',
      error: {
        type,
        message: typeof message === 'string' ? message : expect.stringMatching(message ?? /./),
        details: { error_code: 'upstream_error' },
      },
      request_id: requestId,
    });
  };

/** The end of a stream in any family. */
type Ended = Pick<ReceivedStream, 'payloads' | 'dones' | 'errors'>;

/** An HTTP error before any byte of an answer, with its rows and its one outcome. */
export function expectRefusal(
  answer: Answer,
  expected: ExpectedFailure,
  expectError: ExpectError = (body, message) => expectEnvelope(body, message, expected.labels),
): void {
  expect(answer.headers.get('x-gateway-error')).toBe('upstream_error');
  expect(answer.status).toBe(expected.status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(answer.headers.get('x-request-id')).toBe(answer.requestId);
  expectError(JSON.parse(answer.bytes.toString()), expected.message);
  expectFailureRows(answer, expected);
}

/** A stream whose last event is its one structured error; no `[DONE]` anywhere. */
export function expectStreamFailure(
  answer: Answer,
  received: Ended,
  message?: string | RegExp,
  status = 502,
  expectError: ExpectError = expectEnvelope,
): void {
  expect({ dones: received.dones, errors: received.errors.length }).toEqual({ dones: 0, errors: 1 });
  expectError(JSON.parse(received.payloads.at(-1) ?? 'null'), message);
  expectFailedStream(answer, status);
}

/** The head and the rows of a failed stream, whether the upstream or the gateway sent the error. */
export function expectFailedStream(answer: Answer, status = 502): void {
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expectFailureRows(answer, { status, attempt: 'stream_error', upstreamStatus: 200 });
}

function expectFailureRows({ after }: Answer, expected: ExpectedFailure): void {
  const { logs, attempts, ledger, outcomes } = after;
  expect(logs).toEqual([
    expect.objectContaining({ status_code: expected.status, error_code: 'upstream_error' }),
  ]);
  expect(attempts).toEqual([
    expect.objectContaining({ status: expected.attempt, error_code: 'upstream_error', attempt_number: 1 }),
  ]);
  if (expected.upstreamStatus !== undefined)
    expect(attempts[0]).toMatchObject({ status_code: expected.upstreamStatus });
  expect(ledger).toEqual([]);
  expect(outcomes).toEqual([
    expect.objectContaining({
      outcome: 'upstream_error',
      status: expected.status,
      error_code: 'upstream_error',
    }),
  ]);
}

/** A stream that ends with its one `[DONE]` and no error, logged and accounted with this usage. */
export function expectStreamSuccess(answer: Answer, received: Ended, usage: UsageFacts | undefined): void {
  expect(answer.headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect({ dones: received.dones, errors: received.errors }).toEqual({ dones: 1, errors: [] });
  expect(received.payloads.at(-1)).toBe('[DONE]');
  expectSuccessRows(answer, usage);
}

/** A 200 with its rows: one log row, one attempt, one ledger row with exactly these tokens. */
export function expectSuccessRows(answer: Answer, usage: UsageFacts | undefined): void {
  expect(answer.status).toBe(200);
  const { logs, attempts, ledger, outcomes } = answer.after;
  expect(logs).toEqual([expect.objectContaining({ status_code: 200, error_code: null })]);
  expect(attempts).toEqual([
    expect.objectContaining({ status: 'success', status_code: 200, error_code: null, attempt_number: 1 }),
  ]);
  expect(ledger).toEqual([expect.objectContaining(ledgerRow(usage))]);
  expect(outcomes).toEqual([expect.objectContaining({ outcome: 'success', status: 200 })]);
}

/** An integer in 0 … 2^53 − 1 (rule 36.7). */
const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;

/** The ledger row of a usage; without valid counts, the usage is missing and nothing is estimated. */
function ledgerRow(usage: UsageFacts | undefined): Loose {
  const prompt = count(usage?.prompt_tokens);
  const completion = count(usage?.completion_tokens);
  const total = count(usage?.total_tokens ?? (prompt ?? 0) + (completion ?? 0));
  if (prompt === undefined || completion === undefined || total === undefined)
    return {
      pricing_status: 'usage_missing',
      prompt_tokens: null,
      completion_tokens: null,
      total_tokens: null,
      cost_picousd: null,
    };
  const output = Math.max(completion, total - prompt);
  const cost = BigInt(prompt) * picousdPerToken.input + BigInt(output) * picousdPerToken.output;
  return {
    pricing_status: 'priced',
    prompt_tokens: String(prompt),
    completion_tokens: String(completion),
    total_tokens: String(total),
    cost_picousd: String(cost),
  };
}
