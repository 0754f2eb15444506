import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { type Aftermath, aftermaths } from '../recordings/aftermath.ts';
import { withDatabase } from '../support/database.ts';
import {
  aKey,
  basicConfig,
  type ConfigFile,
  queries,
  startGateway,
  type TestGateway,
} from '../support/gateway.ts';
import { grammarFault } from '../support/messages-grammar.ts';
import {
  type Replay,
  type ReplayRequest,
  type ReplayUpstream,
  startReplayUpstream,
} from '../support/replay-upstream.ts';
import { messages, responses, type Talk } from './talk.ts';

/** JSON whose shape the test knows. */
// oxlint-disable-next-line typescript/no-explicit-any -- answers are read as a client reads them
export type Loose = any;

export const json = (text: string): Loose => JSON.parse(text);

export interface Asked {
  /** True unless given. */
  readonly stream?: boolean;
  /** Members that override those of the family's smallest body; undefined removes one. */
  readonly body?: Readonly<Record<string, unknown>>;
  /** Changes the text of the body as it is sent. */
  readonly spelled?: (body: string) => string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined sends no key. */
  readonly key?: string | undefined;
  /** The family's own one unless given. */
  readonly path?: string;
}

/** One server-sent event as a client reads it. */
export interface Heard {
  readonly event: string | undefined;
  readonly data: string;
}

export interface Answer {
  readonly requestId: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Of a stream. */
  readonly events: readonly Heard[];
  /** What was sent upstream; undefined if nothing was. */
  readonly upstream: ReplayRequest | undefined;
  readonly after: Aftermath;
}

/**
 * A gateway over sockets, in front of an upstream that answers each request as the test specifies. The
 * upstream finds the response to a request by its trace context, which is sent upstream in every family.
 */
export function scene(
  config: (upstreamUrl: string, key: string) => ConfigFile = (url, key) => basicConfig(url, key),
  environment: Readonly<Record<string, string>> = {},
) {
  const database = withDatabase();
  const query = queries(database.url);
  const devKey = aKey();
  const replays = new Map<string | undefined, Replay>();
  let upstream: ReplayUpstream;
  let gateway: TestGateway;
  // One connection reads the rows, for one request after the other.
  let looking: Promise<unknown> = Promise.resolve();
  beforeAll(async () => {
    upstream = await startReplayUpstream((request) => replays.get(traceIdOf(request)));
    gateway = await startGateway(config(upstream.url, devKey), database.url(), environment);
  });
  afterAll(async () => {
    await gateway?.stop();
    await upstream?.close();
  });

  /** Resolves with the head of the response; its body is still to be read. */
  const open = async (talk: Talk, replay: Replay, asked: Asked = {}) => {
    const requestId = randomUUID();
    const trace = randomBytes(16).toString('hex');
    replays.set(trace, replay);
    const { stream = true, body = {}, spelled = (text) => text, headers = {}, path = talk.path } = asked;
    const key = 'key' in asked ? asked.key : devKey;
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: {
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        'content-type': 'application/json',
        'x-request-id': requestId,
        traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01`,
        ...headers,
      },
      body: spelled(JSON.stringify({ ...talk.body(stream), ...body })),
    });
    return { requestId, trace, response };
  };

  const ask = async (talk: Talk, replay: Replay, asked: Asked = {}): Promise<Answer> => {
    const { requestId, trace, response } = await open(talk, replay, asked);
    const text = await response.text();
    const after = looking.then(() => aftermaths(query, () => gateway.log.lines)(requestId));
    looking = after;
    return {
      requestId,
      status: response.status,
      headers: response.headers,
      text,
      events: isStream(response.headers) ? eventsIn(text) : [],
      upstream: upstream.requests().find((request) => traceIdOf(request) === trace),
      after: await after,
    };
  };
  return {
    ask,
    open,
    query,
    key: devKey,
    gateway: () => gateway,
    upstream: () => upstream,
    databaseUrl: database.url,
  };
}

/** The trace is the same upstream, although the span differs. */
const traceIdOf = ({ headers }: Pick<ReplayRequest, 'headers'>): string | undefined =>
  headers['traceparent']?.toString().slice(3, 35);

const isStream = (headers: Headers): boolean =>
  headers.get('content-type')?.startsWith('text/event-stream') === true;

export const eventsIn = (text: string): readonly Heard[] =>
  text.split(/\r?\n\r?\n/).flatMap((block) => {
    const lines = block.split(/\r?\n/);
    const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart());
    const name = lines
      .find((line) => line.startsWith('event:'))
      ?.slice(6)
      .trim();
    return data.length === 0 ? [] : [{ event: name, data: data.join('\n') }];
  });

const sse = { 'content-type': 'text/event-stream' };

export const streamed = (body: string, more: Partial<Replay> = {}): Replay => ({
  headers: sse,
  body,
  ...more,
});
export const whole = (body: unknown, more: Partial<Replay> = {}): Replay => ({
  headers: { 'content-type': 'application/json' },
  body: typeof body === 'string' ? body : JSON.stringify(body),
  ...more,
});

/** The payloads of a stream, without `[DONE]`. */
export const payloadsOf = ({ events }: Pick<Answer, 'events'>): readonly Record<string, unknown>[] =>
  events
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Record<string, unknown>);

/** The text that a client of the family reads in a stream. */
export function textOf(talk: Talk, answer: Pick<Answer, 'events'>): string {
  const payloads = payloadsOf(answer) as readonly Loose[];
  if (talk === responses)
    return payloads
      .flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : []))
      .join('');
  if (talk === messages) return payloads.flatMap(({ delta }) => delta?.text ?? []).join('');
  return payloads.flatMap(({ choices }) => choices?.[0]?.delta?.content ?? []).join('');
}

const dones = ({ events }: Answer): number => events.filter(({ data }) => data === '[DONE]').length;

/** The rows of a failed request, which is not billed. */
function expectFailureRows({ after }: Answer, talk: Talk, status: number, attempt: string): void {
  const { logs, attempts, ledger, outcomes } = after;
  expect(logs).toEqual([
    expect.objectContaining({
      status_code: status,
      error_code: 'upstream_error',
      metadata_json: expect.objectContaining({ operation: talk.operation }),
    }),
  ]);
  expect(attempts).toEqual([expect.objectContaining({ status: attempt, error_code: 'upstream_error' })]);
  expect(ledger).toEqual([]);
  expect(outcomes).toEqual([expect.objectContaining({ outcome: 'upstream_error', status })]);
}

const anyMessage = expect.stringMatching(/\S/);

interface FailedStream {
  readonly status?: number;
  readonly told?: boolean;
  /** The upstream's code for the error, if it has one. */
  readonly code?: string;
}

/**
 * A stream that ends with its one structured error in the family's format, and that no event completes.
 * `told`: the error is the upstream's own event, which passes unchanged.
 */
export function expectFailedStream(
  talk: Talk,
  answer: Answer,
  { status = 502, told = false, code = 'upstream_error' }: FailedStream = {},
): void {
  expect(answer.status).toBe(200);
  expect(answer.text).not.toContain('[DONE]');
  for (const complete of ['message_stop', 'message_delta', 'response.completed', 'response.incomplete'])
    expect(answer.text).not.toContain(complete);
  const payloads = payloadsOf(answer);
  expect(payloads.filter(({ error, type }) => (error ?? null) !== null || type === 'error')).toHaveLength(1);
  if (!told) expectErrorEvent(talk, answer, code);
  if (talk === messages) expect(grammarFault(payloads)).toBeUndefined();
  expectFailureRows(answer, talk, status, 'stream_error');
}

function expectErrorEvent(talk: Talk, { events, requestId }: Answer, code: string): void {
  const last = events.at(-1);
  const error = { message: anyMessage, type: 'upstream_error', param: null, code };
  const payload: unknown = JSON.parse(last?.data ?? 'null');
  if (talk === messages) {
    expect(last?.event).toBe('error');
    expect(payload).toEqual({
      type: 'error',
      error: { type: 'api_error', message: anyMessage, details: { error_code: 'upstream_error' } },
      request_id: requestId,
    });
  } else if (talk === responses) {
    expect(last?.event).toBe('error');
    expect(payload).toMatchObject({ type: 'error', code, message: anyMessage, error });
  } else {
    expect(last?.event).toBeUndefined();
    expect(payload).toEqual({ error });
  }
}

/** An HTTP error in the family's envelope, with its rows. */
export function expectRefused(talk: Talk, answer: Answer, status: number, attempt: string): void {
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
  expect(JSON.parse(answer.text)).toEqual(
    talk === messages
      ? {
          type: 'error',
          error: { type: expect.any(String), message: anyMessage, details: { error_code: 'upstream_error' } },
          request_id: answer.requestId,
        }
      : { error: { message: anyMessage, type: 'upstream_error', param: null, code: 'upstream_error' } },
  );
  expectFailureRows(answer, talk, status, attempt);
}

/** The one row of each kind, and a 200. */
export function expectSold({ status, after }: Answer, ledger: object): void {
  expect(status).toBe(200);
  expect(after.logs).toEqual([expect.objectContaining({ status_code: 200, error_code: null })]);
  expect(after.attempts).toEqual([expect.objectContaining({ status: 'success' })]);
  expect(after.ledger).toEqual([expect.objectContaining(ledger)]);
  expect(after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
}

/** A complete stream that has the end of its family once. */
export function expectCompleteStream(talk: Talk, answer: Answer, ledger: object = {}): void {
  expect(answer.text).toContain(talk.end.stream);
  if (talk === messages) {
    expect(dones(answer)).toBe(0);
    expect(grammarFault(payloadsOf(answer).filter(({ type }) => type !== 'ping'))).toBeUndefined();
    expect(answer.events.at(-1)).toEqual({ event: 'message_stop', data: '{"type":"message_stop"}' });
  } else {
    expect(dones(answer)).toBe(1);
    expect(answer.events.at(-1)?.data).toBe('[DONE]');
  }
  expectSold(answer, ledger);
}

/** 10 tokens in, 20 out, at the prices of the basic configuration. */
export const priced = {
  pricing_status: 'priced',
  prompt_tokens: '10',
  completion_tokens: '20',
  cost_picousd: String(10n * 150_000n + 20n * 600_000n),
};
export const usageMissing = { pricing_status: 'usage_missing', cost_picousd: null };
