import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import {
  type SeenRequest,
  type SimulatedUpstream,
  startSimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';
import { eventually, finalTracesIn, outcomesOf, tracesIn } from '../e2e/traces.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { timed } from '../support/undisturbed.ts';

/** A model whose upstream follows the directives; its price is that of `simulated-fast`. */
const behaving = (id: string, directives: string, route: object = {}) => ({
  id,
  routes: [
    {
      provider: 'up',
      upstream_model: 'simulated-fast',
      extra_headers: { 'x-simulate': directives },
      ...route,
    },
  ],
});

/** An upstream that supports usage in streams: messages callers cannot request it, so the route does. */
const tellsUsage = { compatibility: { compat: { supports_stream_usage: true } } };

const models = [
  behaving('fast', ''),
  behaving('counted', '', tellsUsage),
  behaving('cached', 'prompt-tokens=100&cached-tokens=40', tellsUsage),
  behaving('tools', 'tools', tellsUsage),
  behaving('parallel', 'parallel-tools', tellsUsage),
  behaving('reasoning', 'reasoning', tellsUsage),
  behaving('endless', 'chunk-delay-ms=20&chunks=1000'),
  behaving('silent', 'hang=headers'),
  behaving('refuses', 'status=400&message=The messages are too long.&code=context_length_exceeded'),
  behaving('unknown-there', 'status=404&message=There is no such deployment.'),
  behaving('limited', 'status=429&retry-after=3&message=Slow down.'),
  behaving('limited-briefly', 'status=429&retry-after=0.8&message=Slow down.'),
  behaving('our-fault', 'status=401&message=Incorrect API key provided.'),
  behaving('fails', 'status=500&message=The model is broken.'),
  behaving('away', 'status=503&message=The model is away.'),
  behaving('falls-over', 'error-at=2&message=The model fell over.'),
  behaving('too-long-midway', 'error-at=2&message=The messages are too long.&code=context_length_exceeded'),
  behaving('breaks-off', 'break=2'),
  behaving('cut-short', 'cut=2'),
  behaving('malformed', 'garbage=2'),
  behaving('ends-early', 'eof=2'),
  behaving('tools-fall-over', 'tools&error-at=2&message=The model fell over.'),
  behaving('failed', 'terminal=failed&message=The model fell over.'),
  behaving('error-failed', 'terminal=error-failed&message=The model fell over.'),
  behaving('no-family', '', {
    capabilities: { chat_completions: false, responses: false, embeddings: false },
  }),
  { id: 'schema', routes: [{ provider: 'own', upstream_model: 'schema' }] },
  { id: 'error-then-silence', routes: [{ provider: 'own', upstream_model: 'error-then-silence' }] },
];

/** The message that every client sends, and the simulated answers to it and to a tool result. */
export const hello = 'Hello';
export const answerTo = (said: string): string =>
  `This is a simulated answer; no model was asked. You said: "${said}".`;
export const answerAfter = (result: string): string =>
  `This is a simulated answer; no model was asked. The tool returned: "${result}".`;
export const simulatedReasoning =
  'This is simulated reasoning. The caller sent 5 characters, so an answer is due.';

/** Two tools that every client offers; the simulated upstream calls the first, or both. */
export const toolNames = ['weather', 'time'] as const;
export const toolParameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
};
export const toolInput = { city: 'simulated city' };
/** The result of a tool. */
export const resultOf = (name: string): string => `The ${name} of simulated city`;

/** The object that the model `schema` answers every request with. */
export const place = { city: 'Paris', degrees: 21 };
export const placeSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const }, degrees: { type: 'number' as const } },
  required: ['city', 'degrees'],
  additionalProperties: false,
};

/** A PNG image of one pixel. */
export const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const pixelUrl = `data:image/png;base64,${pixel}`;

type KeyName = 'good' | 'narrow' | 'poor' | 'wrong';

/** A request that is refused with an HTTP error, and the error (rules 35.1, 35.10). */
export interface Refusal {
  readonly what: string;
  readonly model: string;
  readonly key: KeyName;
  readonly status: 400 | 401 | 403 | 404 | 429 | 502 | 503;
  /** The gateway's own code. */
  readonly code: string;
  /** `error.code` of the OpenAI envelope, if it is the upstream's. */
  readonly toldCode?: string;
  /** `error.type` of the OpenAI envelope. */
  readonly type: string;
  /** `error.type` in the messages vocabulary. */
  readonly messagesType: string;
  readonly message: string | RegExp;
  readonly retryAfter: RegExp | null;
}

const noRetry = { key: 'good', retryAfter: null } as const;
const upstreamError = { ...noRetry, code: 'upstream_error', type: 'upstream_error' } as const;

/** Whether the same request would be refused again, so that clients do not retry. */
export const isFinal = ({ status, code }: Refusal): boolean =>
  code === 'budget_exceeded' || [400, 401, 403, 404].includes(status);

/** One of each class of error in the libraries; the gateway sends each, also if the upstream refused. */
export const refusals: readonly Refusal[] = [
  {
    ...noRetry,
    what: 'a model that cannot serve the family',
    model: 'no-family',
    status: 400,
    code: 'invalid_request',
    type: 'invalid_request_error',
    messagesType: 'invalid_request_error',
    message: /^The model `no-family` has no route with the capability/,
  },
  {
    ...noRetry,
    what: 'an unknown key',
    model: 'fast',
    key: 'wrong',
    status: 401,
    code: 'invalid_api_key',
    type: 'authentication_error',
    messagesType: 'authentication_error',
    message: /key/i,
  },
  {
    ...noRetry,
    what: 'a model that the key may not use',
    model: 'fast',
    key: 'narrow',
    status: 403,
    code: 'model_not_granted',
    type: 'permission_error',
    messagesType: 'permission_error',
    message: 'This API key may not use the model `fast`.',
  },
  {
    ...noRetry,
    what: 'an unknown model',
    model: 'no-such-model',
    status: 404,
    code: 'model_not_found',
    type: 'not_found_error',
    messagesType: 'not_found_error',
    message: /^There is no model `no-such-model`\. The nearest that this key may use: `/,
  },
  {
    ...noRetry,
    what: 'a budget that is used up',
    model: 'fast',
    key: 'poor',
    status: 429,
    code: 'budget_exceeded',
    type: 'insufficient_quota',
    messagesType: 'rate_limit_error',
    message: /^Quota exceeded: the monthly budget of 0 USD is used up; it will reset at /,
    // It is sent only in the last minute of a month.
    retryAfter: /^(?:[1-9]\d?)?$/,
  },
  {
    ...upstreamError,
    what: 'an upstream that refuses the request',
    model: 'refuses',
    toldCode: 'context_length_exceeded',
    status: 400,
    messagesType: 'invalid_request_error',
    message: 'The messages are too long.',
  },
  {
    ...upstreamError,
    what: 'an upstream that does not know the model',
    model: 'unknown-there',
    status: 404,
    messagesType: 'not_found_error',
    message: 'There is no such deployment.',
  },
  {
    ...upstreamError,
    what: 'an upstream that limits the rate',
    model: 'limited',
    toldCode: 'rate_limit_exceeded',
    status: 429,
    messagesType: 'rate_limit_error',
    message: 'Slow down.',
    retryAfter: /^3$/,
  },
  {
    ...upstreamError,
    what: "an upstream that rejects the gateway's own key",
    model: 'our-fault',
    status: 502,
    messagesType: 'api_error',
    message: 'Incorrect API key provided.',
  },
  {
    ...upstreamError,
    what: 'an upstream that fails with 500',
    model: 'fails',
    status: 502,
    messagesType: 'api_error',
    message: 'The model is broken.',
  },
  {
    ...upstreamError,
    what: 'an upstream that is unavailable',
    model: 'away',
    status: 503,
    messagesType: 'api_error',
    message: 'The model is away.',
  },
];

const brokenOff = 'The connection to the upstream could not be made, or it broke.';

/** Failures of an upstream after the head of a stream and two pieces of text, with the message to callers. */
export const midStream = [
  ['falls-over', 'The model fell over.'],
  ['breaks-off', brokenOff],
  ['cut-short', brokenOff],
  ['malformed', 'The upstream sent a malformed event.'],
  ['ends-early', 'The upstream ended its stream before the answer was complete.'],
] as const;

/** An attempt with the message to the caller alone: operators also see the code of a broken connection. */
export const withoutFaultCode = <A extends Readonly<Record<string, unknown>>>(attempt: A) => ({
  ...attempt,
  error_detail: String(attempt['error_detail']).replace(/ \([A-Z_]+\)$/, ''),
});

/** The reason with which a failing call rejected. */
export async function reasonOf(call: Promise<unknown>): Promise<unknown> {
  const settled = await call.then(
    (value) => ({ value }),
    (reason: unknown) => ({ reason }),
  );
  if ('reason' in settled) return settled.reason;
  throw new Error(`it succeeded: ${JSON.stringify(settled.value)}`);
}

/**
 * A complete gateway for a suite of one client library, with the simulated upstream behind it. Keys: `good`;
 * `narrow` may use only the model `tools`; `poor` belongs to an owner whose budget is used up; `wrong` is
 * unknown.
 */
export function clientScenario() {
  const database = withDatabase();
  const query = queries(database.url);
  const keys: Readonly<Record<KeyName, string>> = {
    good: aKey(),
    narrow: aKey(),
    poor: aKey(),
    wrong: aKey(),
  };
  const seen: SeenRequest[] = [];
  let upstream: SimulatedUpstream;
  let own: Server;
  let gateway: TestGateway;

  beforeAll(async () => {
    upstream = await startSimulatedUpstream({ port: 0, onRequest: (request) => void seen.push(request) });
    own = await startOwnUpstream((request) => void seen.push(request));
    gateway = await startGateway(
      configured(upstream.url, `http://127.0.0.1:${portOf(own)}/v1`, keys),
      database.url(),
    );
  });
  afterAll(async () => {
    await gateway?.stop();
    await upstream?.close();
    own?.close();
    own?.closeAllConnections();
  });
  beforeEach(() => {
    seen.length = 0;
  });

  const traceOf = tracesIn(query);
  /** Waits for the end of the request: a failure is sent, or a client disconnects, before the rows exist. */
  const logged = finalTracesIn(query, () => gateway);
  return {
    keys,
    /** Requests that have reached an upstream in this test. */
    seen: seen as readonly SeenRequest[],
    /** The body of the last one of them. */
    sent: () => JSON.parse(seen.at(-1)?.body ?? 'null') as Record<string, unknown>,
    url: () => gateway.url,
    traceOf,

    /** A stream that failed midway has one log row with the failure, and no ledger row. */
    expectFailedRow: async (requestId: string | null | undefined, message: string): Promise<void> => {
      const { logs, attempts, ledger } = await logged(requestId ?? 'there is no request id');
      expect(logs).toMatchObject([{ status_code: 502, error_code: 'upstream_error' }]);
      expect(attempts.map(withoutFaultCode)).toMatchObject([
        { status: 'stream_error', status_code: 200, error_detail: message },
      ]);
      expect(ledger).toEqual([]);
    },

    /** `leave` ends a call in flight: the upstream request is aborted at once, and the log row has 499. */
    expectCancelled: async (requestId: string, leave: () => void | Promise<void>): Promise<void> => {
      // Calls of earlier tests may not have ended yet.
      await eventually(() => (upstream.inFlight() === 1 ? true : undefined));
      const before = upstream.aborted();
      const { ms } = await timed(async () => {
        await leave();
        await eventually(() => (upstream.aborted() === before + 1 ? true : undefined));
      });
      // It takes milliseconds on a quiet machine; suites share their cores with others.
      expect(ms).toBeLessThan(1000);
      const { logs } = await logged(requestId);
      expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
      expect(outcomesOf(gateway, requestId)).toMatchObject([{ outcome: 'client_closed', status: 499 }]);
    },

    /** Waits until a call has reached the upstream. */
    arrived: () => eventually(() => (upstream.inFlight() > 0 ? true : undefined)),
  };
}

function configured(simulatedUrl: string, ownUrl: string, keys: Readonly<Record<KeyName, string>>) {
  const base = basicConfig(simulatedUrl, keys.good);
  return {
    ...base,
    providers: [
      ...(base['providers'] as object[]),
      { id: 'own', type: 'compat', base_url: ownUrl, auth: { mode: 'none' } },
    ],
    models,
    users: [
      { email: 'a@example.com', name: 'A' },
      {
        email: 'poor@example.com',
        name: 'Poor',
        budget: { cadence: 'monthly', amount_10000: 0, hard_limit: true },
      },
    ],
    api_keys: [
      { name: 'good', owner: 'user:a@example.com', value: keys.good },
      { name: 'narrow', owner: 'user:a@example.com', value: keys.narrow, allowed_models: ['tools'] },
      { name: 'poor', owner: 'user:poor@example.com', value: keys.poor },
    ],
  };
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

/**
 * An upstream for cases that the simulated one lacks: it answers with the object `place` as JSON text, never
 * streamed; or, as the model `error-then-silence`, with an `error` event of a responses stream that it keeps
 * open.
 */
async function startOwnUpstream(onRequest: (request: SeenRequest) => void): Promise<Server> {
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url: path = '', headers } = request;
      onRequest({ method, path, headers, body });
      if (body.includes('"error-then-silence"')) {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(errorEvent);
        return;
      }
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(path.endsWith('/responses') ? placeResponse : placeCompletion);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return server;
}

const errorEvent = `event: error\ndata: ${JSON.stringify({
  type: 'error',
  sequence_number: 0,
  error: { type: 'server_error', code: null, message: 'The model fell over.', param: null },
})}\n\n`;

const placeCompletion = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'schema',
  choices: [
    { index: 0, message: { role: 'assistant', content: JSON.stringify(place) }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
});

const placeResponse = JSON.stringify({
  id: 'resp_1',
  object: 'response',
  created_at: 1,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'schema',
  output: [
    {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', annotations: [], text: JSON.stringify(place) }],
    },
  ],
  usage: {
    input_tokens: 5,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 12,
  },
});
