import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import OpenAI, { APIError, RateLimitError } from 'openai';
import {
  type SeenRequest,
  startSimulatedUpstream,
  type SimulatedUpstream,
} from '../../tools/simulated-upstream/server.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, queries, startGateway, type TestGateway } from '../support/gateway.ts';
import { eventually, finalTracesIn, outcomesOf, tracesIn } from './traces.ts';

const database = withDatabase();
const query = queries(database.url);
const traceOf = tracesIn(query);
const finalTraceOf = finalTracesIn(query, () => gateway);
const key = aKey();
const narrowKey = aKey();
const poorKey = aKey();
let upstream: SimulatedUpstream;
let gateway: TestGateway;
let seen: SeenRequest[] = [];

/** A model whose upstream behaves as the directives say; its price is that of `simulated-fast`. */
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

const models = [
  { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] },
  { id: 'unpriced', routes: [{ provider: 'up', upstream_model: 'simulated-other' }] },
  { id: 'same', routes: [{ provider: 'up', upstream_model: 'same' }] },
  behaving('tools', 'tools'),
  behaving('parallel', 'parallel-tools'),
  behaving('reasoning', 'reasoning'),
  behaving('endless', 'chunk-delay-ms=20&chunks=1000&usage=last'),
  behaving('digits', 'digits'),
  behaving('refuses', 'status=400&message=The messages are too long.'),
  behaving('unknown-there', 'status=404&message=There is no such deployment.'),
  behaving('limited', 'status=429&retry-after=7&message=Slow down.'),
  behaving('our-fault', 'status=401&message=Incorrect API key provided: upstream-token-0123456789'),
  behaving('fails', 'status=500'),
  behaving('away', 'status=503'),
  behaving('breaks', 'error-at=2&message=The model fell over.'),
  behaving('cut', 'break=2'),
  behaving('adapted', '', {
    extra_headers: { 'X-Tenant': 'gateway', authorization2: 'kept' },
    extra_body: {
      metadata: { team: 'platform', nested: { limit: 2 } },
      stop: ['END'],
      temperature: null,
      user: 'gateway',
    },
  }),
];

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ port: 0, onRequest: (request) => void seen.push(request) });
  gateway = await startGateway(
    basicConfig(upstream.url, key, {
      more: {
        models,
        users: [
          { email: 'a@example.com', name: 'A' },
          {
            email: 'poor@example.com',
            name: 'Poor',
            budget: { cadence: 'daily', amount_10000: 0, hard_limit: true },
          },
        ],
        api_keys: [
          { name: 'dev', owner: 'user:a@example.com', value: key },
          { name: 'narrow', owner: 'user:a@example.com', value: narrowKey, allowed_models: ['tools'] },
          { name: 'poor', owner: 'user:poor@example.com', value: poorKey },
        ],
      },
    }),
    database.url(),
  );
});
afterAll(async () => {
  await gateway?.stop();
  await upstream?.close();
});
beforeEach(() => {
  seen = [];
});

const client = (apiKey = key) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 });
const idHeader = (requestId: string) => ({ headers: { 'x-request-id': requestId } });
const hello = [{ role: 'user' as const, content: 'Hello' }];
const costOf = (usage: OpenAI.CompletionUsage | null | undefined): string =>
  String(BigInt(usage?.prompt_tokens ?? 0) * 150_000n + BigInt(usage?.completion_tokens ?? 0) * 600_000n);

const tools: OpenAI.ChatCompletionTool[] = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: {
    name,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, unit: { enum: ['celsius', 'fahrenheit'] } },
      required: ['city', 'unit'],
    },
  },
}));

describe('the openai client, unmodified: whole answers', () => {
  it('gets a completion, and its rows hold the exact cost', async () => {
    const completion = await client().chat.completions.create(
      { model: 'fast', messages: hello },
      {
        headers: {
          'x-request-id': 'whole-1',
          'x-gateway-service': 'checkout',
          'x-gateway-component': 'basket',
          'x-gateway-env': 'test',
          'x-gateway-tags': 'run=42; branch=feature/x',
        },
      },
    );
    expect(completion.choices[0]?.message.content).toContain('Hello');
    expect(completion._request_id).toBe('whole-1');
    const { logs, attempts, tags, ledger } = await traceOf('whole-1');
    const [user] = await query("select user_id from users where email = 'a@example.com'");
    const [apiKey] = await query("select api_key_id from api_keys where name = 'dev'");
    expect(ledger).toEqual([
      expect.objectContaining({
        ownership_scope_key: `user:${String(user?.['user_id'])}`,
        api_key_id: apiKey?.['api_key_id'],
        user_id: user?.['user_id'],
        team_id: null,
        service_account_id: null,
        model_key: 'fast',
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        prompt_tokens: '5',
        completion_tokens: '17',
        total_tokens: '22',
        pricing_status: 'priced',
        unpriced_reason: null,
        input_picousd_per_token: '150000',
        output_picousd_per_token: '600000',
        pricing_source: 'config pricing.overrides',
        cost_picousd: String(5n * 150_000n + 17n * 600_000n),
      }),
    ]);
    expect(logs).toEqual([
      expect.objectContaining({
        request_id: 'whole-1',
        user_id: user?.['user_id'],
        model_key: 'fast',
        resolved_model_key: 'fast',
        provider_key: 'up',
        status_code: 200,
        error_code: null,
        prompt_tokens: '5',
        completion_tokens: '17',
        total_tokens: '22',
        exposed_tool_count: 0,
        invoked_tool_count: 0,
        referenced_mcp_server_count: null,
        filtered_tool_count: null,
        caller_service: 'checkout',
        caller_component: 'basket',
        caller_env: 'test',
        user_agent_raw: 'OpenAI/JS 7.55.0',
        agent_harness_key: 'openai_sdk',
        metadata_json: {
          operation: 'chat_completions',
          stream: false,
          payload_policy: {
            capture_mode: 'redacted_payloads',
            request_max_bytes: 65_536,
            response_max_bytes: 65_536,
            stream_max_events: 128,
            version: 'builtin:v2',
          },
        },
      }),
    ]);
    expect(logs[0]?.['latency_ms']).toBeGreaterThanOrEqual(0);
    expect(tags).toEqual([
      { tag_key: 'branch', tag_value: 'feature/x' },
      { tag_key: 'run', tag_value: '42' },
    ]);
    expect(attempts).toEqual([
      expect.objectContaining({
        attempt_number: 1,
        provider_key: 'up',
        upstream_model: 'simulated-fast',
        status: 'success',
        status_code: 200,
        error_code: null,
        error_detail: null,
        stream: false,
      }),
    ]);
    expect(outcomesOf(gateway, 'whole-1')).toEqual([
      expect.objectContaining({ outcome: 'success', status: 200, cost_usd: '0.00001095' }),
    ]);
  });

  it('gets a generated request id when it sent none', async () => {
    const completion = await client().chat.completions.create({ model: 'fast', messages: hello });
    expect(completion._request_id).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect((await traceOf(completion._request_id ?? '')).ledger).toHaveLength(1);
  });

  it('is served by a model without a catalogue price, which is recorded as unpriced and costs nothing', async () => {
    await client().chat.completions.create({ model: 'unpriced', messages: hello }, idHeader('unpriced-1'));
    const { ledger } = await traceOf('unpriced-1');
    expect(ledger).toEqual([
      expect.objectContaining({
        pricing_status: 'unpriced',
        unpriced_reason: 'no_catalogue_price',
        prompt_tokens: '5',
        cost_picousd: null,
        input_picousd_per_token: null,
      }),
    ]);
  });

  it('makes a tool-call round trip', async () => {
    const asked = await client().chat.completions.create(
      { model: 'tools', messages: hello, tools },
      idHeader('tools-1'),
    );
    const message = asked.choices[0]!.message;
    const [call] = message.tool_calls ?? [];
    expect(asked.choices[0]?.finish_reason).toBe('tool_calls');
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } });
    expect(JSON.parse(call?.type === 'function' ? call.function.arguments : '')).toEqual({
      city: 'simulated city',
      unit: 'celsius',
    });
    const answered = await client().chat.completions.create(
      {
        model: 'tools',
        tools,
        messages: [...hello, message, { role: 'tool', tool_call_id: call?.id ?? '', content: '21 degrees' }],
      },
      idHeader('tools-2'),
    );
    expect(answered.choices[0]?.message.content).toContain('21 degrees');
    const first = await traceOf('tools-1');
    expect(first.logs).toMatchObject([{ exposed_tool_count: 2, invoked_tool_count: 1 }]);
    expect(first.ledger).toMatchObject([{ cost_picousd: costOf(asked.usage) }]);
    const second = await traceOf('tools-2');
    expect(second.logs).toMatchObject([{ exposed_tool_count: 2, invoked_tool_count: 0 }]);
    expect(second.ledger).toMatchObject([{ cost_picousd: costOf(answered.usage) }]);
  });

  it('gets parallel tool calls with ids of their own', async () => {
    const asked = await client().chat.completions.create(
      { model: 'parallel', messages: hello, tools },
      idHeader('parallel-1'),
    );
    const calls = asked.choices[0]?.message.tool_calls ?? [];
    expect(calls.map((call) => (call.type === 'function' ? call.function.name : ''))).toEqual([
      'get_weather',
      'get_time',
    ]);
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
    expect((await traceOf('parallel-1')).logs).toMatchObject([{ invoked_tool_count: 2 }]);
  });

  it('gets every digit of numbers that no double can hold', async () => {
    const answer = await client().chat.completions.create({ model: 'digits', messages: hello }).asResponse();
    expect(await answer.text()).toContain('"digits":[9007199254740993,0.10]');
  });
});

describe('the openai client, unmodified: streams', () => {
  it('reads a stream to its end, and the ledger holds its exact cost', async () => {
    const stream = await client().chat.completions.create(
      { model: 'fast', messages: hello, stream: true, stream_options: { include_usage: true } },
      idHeader('stream-1'),
    );
    let text = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toContain('Hello');
    expect(usage).toMatchObject({ prompt_tokens: 5, completion_tokens: 17, total_tokens: 22 });
    const { logs, attempts, ledger } = await traceOf('stream-1');
    expect(ledger).toMatchObject([
      { pricing_status: 'priced', cost_picousd: String(5n * 150_000n + 17n * 600_000n) },
    ]);
    expect(logs).toMatchObject([
      {
        status_code: 200,
        total_tokens: '22',
        metadata_json: { operation: 'chat_completions', stream: true },
      },
    ]);
    expect(attempts).toMatchObject([{ status: 'success', status_code: 200, stream: true }]);
    expect(outcomesOf(gateway, 'stream-1')).toMatchObject([{ outcome: 'success', stream: true }]);
  });

  it('writes usage_missing for a stream that brought no usage, and estimates nothing', async () => {
    const stream = await client().chat.completions.create(
      { model: 'fast', messages: hello, stream: true },
      idHeader('stream-2'),
    );
    for await (const chunk of stream) expect(chunk.usage ?? null).toBeNull();
    expect((await traceOf('stream-2')).ledger).toMatchObject([
      { pricing_status: 'usage_missing', prompt_tokens: null, total_tokens: null, cost_picousd: null },
    ]);
  });

  it('assembles the same completion with its stream helper', async () => {
    const completion = await client()
      .chat.completions.stream(
        { model: 'fast', messages: hello, stream_options: { include_usage: true } },
        idHeader('stream-3'),
      )
      .finalChatCompletion();
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop' });
    expect(completion.choices[0]?.message.content).toContain('Hello');
    expect((await traceOf('stream-3')).ledger).toMatchObject([{ cost_picousd: costOf(completion.usage) }]);
  });

  it('assembles streamed tool calls, one or several, and makes the round trip', async () => {
    const asked = await client()
      .chat.completions.stream(
        { model: 'parallel', messages: hello, tools, stream_options: { include_usage: true } },
        idHeader('stream-4'),
      )
      .finalChatCompletion();
    const message = asked.choices[0]!.message;
    const calls = message.tool_calls ?? [];
    expect(asked.choices[0]?.finish_reason).toBe('tool_calls');
    expect(calls.map((call) => (call.type === 'function' ? call.function.name : ''))).toEqual([
      'get_weather',
      'get_time',
    ]);
    const results = calls.map(
      ({ id }): OpenAI.ChatCompletionToolMessageParam => ({
        role: 'tool',
        tool_call_id: id,
        content: `result of ${id}`,
      }),
    );
    const answered = await client()
      .chat.completions.stream({ model: 'parallel', tools, messages: [...hello, message, ...results] })
      .finalContent();
    expect(answered).toContain(`result of ${calls[1]?.id ?? ''}`);
    expect((await traceOf('stream-4')).logs).toMatchObject([
      { exposed_tool_count: 2, invoked_tool_count: 2 },
    ]);
  });

  it('gets reasoning apart from the content, under the canonical name', async () => {
    const stream = await client().chat.completions.create({
      model: 'reasoning',
      messages: hello,
      stream: true,
      stream_options: { include_usage: true },
    });
    let reasoning = '';
    let content = '';
    let usage: OpenAI.CompletionUsage | null | undefined;
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta as { reasoning?: string; content?: string } | undefined;
      reasoning += delta?.reasoning ?? '';
      content += delta?.content ?? '';
      expect(Object.keys(delta ?? {})).not.toContain('reasoning_content');
      usage = chunk.usage ?? usage;
    }
    expect(reasoning).toContain('simulated reasoning');
    expect(content).toContain('simulated answer');
    expect(content).not.toContain('reasoning');
    expect(usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
  });

  it('gets every digit of numbers that no double can hold', async () => {
    const answer = await client()
      .chat.completions.create({ model: 'digits', messages: hello, stream: true })
      .asResponse();
    expect(await answer.text()).toContain('"digits":[9007199254740993,0.10]');
  });

  it('is told of a stream at once: 200, an event stream, never cached or transformed', async () => {
    const answer = await client()
      .chat.completions.create({ model: 'fast', messages: hello, stream: true }, idHeader('stream-5'))
      .asResponse();
    expect(answer.status).toBe(200);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-request-id': 'stream-5',
      'request-id': 'stream-5',
    });
    expect((await answer.text()).endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it('may abort in the middle: the upstream is left, and one row says so', async () => {
    const before = upstream.aborted();
    const stream = await client().chat.completions.create(
      { model: 'endless', messages: hello, stream: true },
      idHeader('abort-1'),
    );
    for await (const chunk of stream) if ((chunk.choices[0]?.delta.content ?? '') !== '') break;
    await eventually(() => (upstream.aborted() === before + 1 ? true : undefined));
    const { logs, attempts, ledger } = await finalTraceOf('abort-1');
    expect(logs).toMatchObject([{ status_code: 499, error_code: 'client_closed' }]);
    expect(attempts).toMatchObject([
      { status: 'stream_error', status_code: 200, error_code: 'client_closed' },
    ]);
    expect(ledger).toMatchObject([{ pricing_status: 'usage_missing' }]);
    expect(outcomesOf(gateway, 'abort-1')).toMatchObject([{ outcome: 'client_closed', status: 499 }]);
  });

  it.each([
    ['breaks', 'The model fell over.'],
    ['cut', 'The connection to the upstream could not be made, or it broke.'],
  ])('throws when the upstream fails in the middle (%s), after what came before', async (model, words) => {
    const stream = await client().chat.completions.create(
      { model, messages: hello, stream: true, stream_options: { include_usage: true } },
      idHeader(`midway-${model}`),
    );
    let text = '';
    const read = async (): Promise<void> => {
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? '';
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error', type: 'upstream_error' });
    expect(text).not.toBe('');
    const { logs, attempts, ledger } = await traceOf(`midway-${model}`);
    expect(logs).toMatchObject([{ status_code: 502, error_code: 'upstream_error' }]);
    expect(attempts).toMatchObject([{ status: 'stream_error', status_code: 200, error_detail: words }]);
    expect(ledger).toEqual([]);
    expect(outcomesOf(gateway, `midway-${model}`)).toMatchObject([{ outcome: 'upstream_error' }]);
  });
});

describe('the openai client, unmodified: errors have its classes', () => {
  const failing = async (
    body: Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'messages'> & { messages?: unknown },
    requestId: string,
    apiKey = key,
  ): Promise<APIError> => {
    const created = client(apiKey).chat.completions.create(
      { messages: hello, ...body } as OpenAI.ChatCompletionCreateParamsNonStreaming,
      idHeader(requestId),
    );
    const error = await created.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error instanceof APIError) return error;
    throw new Error(`no API error: ${String(error)}`);
  };

  it.each([
    [
      'a body that cannot be read',
      'BadRequestError',
      400,
      'invalid_request',
      'messages',
      () => failing({ model: 'fast', messages: 'Hello' }, 'error-1'),
    ],
    [
      'an unknown key',
      'AuthenticationError',
      401,
      'invalid_api_key',
      null,
      () => failing({ model: 'fast' }, 'error-2', aKey()),
    ],
    [
      'a model that the key may not use',
      'PermissionDeniedError',
      403,
      'model_not_granted',
      'model',
      () => failing({ model: 'fast' }, 'error-3', narrowKey),
    ],
    [
      'a model that there is not',
      'NotFoundError',
      404,
      'model_not_found',
      'model',
      () => failing({ model: 'no-such' }, 'error-4'),
    ],
    [
      'a budget that is used up',
      'RateLimitError',
      429,
      'budget_exceeded',
      null,
      () => failing({ model: 'fast' }, 'error-5', poorKey),
    ],
  ] as const)('%s: %s %i %s', async (_what, name, status, code, param, fail) => {
    const before = upstream.requests();
    const error = await fail();
    expect(error).toBeInstanceOf(OpenAI[name]);
    expect({ status: error.status, code: error.code, param: error.param }).toEqual({ status, code, param });
    expect(error.requestID).toMatch(/^error-/);
    expect(upstream.requests()).toBe(before);
  });

  it('does not try again when the budget is used up, and is told when it may', async () => {
    const patient = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: poorKey });
    await expect(
      patient.chat.completions.create({ model: 'fast', messages: hello }, idHeader('error-6')),
    ).rejects.toBeInstanceOf(RateLimitError);
    const { logs, attempts, ledger } = await traceOf('error-6');
    expect(logs).toMatchObject([{ status_code: 429, error_code: 'budget_exceeded' }]);
    expect([...attempts, ...ledger]).toEqual([]);
    const error = await failing({ model: 'fast' }, 'error-7', poorKey);
    expect(error.headers?.get('x-should-retry')).toBe('false');
    expect(error.headers?.get('x-gateway-budget-resets-at')).toMatch(/T00:00:00\.000Z$/);
  });

  it.each([
    ['refuses', 'BadRequestError', 400, 400, 'The messages are too long.'],
    ['unknown-there', 'NotFoundError', 404, 404, 'There is no such deployment.'],
    ['limited', 'RateLimitError', 429, 429, 'Slow down.'],
    ['our-fault', 'InternalServerError', 502, 401, 'Incorrect API key provided: [REDACTED]'],
    ['fails', 'InternalServerError', 502, 500, 'This is a simulated error with status 500.'],
    ['away', 'InternalServerError', 503, 503, 'This is a simulated error with status 503.'],
  ] as const)('an upstream that %s: %s %i', async (model, name, status, upstreamStatus, words) => {
    const before = upstream.requests();
    const error = await failing({ model }, `upstream-${model}`);
    expect(error).toBeInstanceOf(OpenAI[name]);
    const code = model === 'limited' ? 'rate_limit_exceeded' : 'upstream_error';
    expect(error).toMatchObject({ status, code, type: 'upstream_error', param: null });
    expect(error.headers?.get('x-gateway-error')).toBe('upstream_error');
    expect(error.message).toBe(`${status} ${words}`);
    expect(error.headers?.get('retry-after')).toBe(model === 'limited' ? '7' : null);
    expect(upstream.requests()).toBe(before + 1);
    const { logs, attempts, ledger } = await traceOf(`upstream-${model}`);
    expect(logs).toMatchObject([{ status_code: status, error_code: 'upstream_error' }]);
    expect(attempts).toMatchObject([
      {
        status: 'provider_error',
        status_code: upstreamStatus,
        error_code: 'upstream_error',
        error_detail: words,
      },
    ]);
    expect(ledger).toEqual([]);
  });

  it('gets an HTTP error, not a stream, when the upstream fails before a stream begins', async () => {
    await expect(
      client().chat.completions.create(
        { model: 'fails', messages: hello, stream: true },
        idHeader('upstream-stream'),
      ),
    ).rejects.toMatchObject({ status: 502, code: 'upstream_error' });
    expect((await traceOf('upstream-stream')).attempts).toMatchObject([
      { status: 'stream_start_error', status_code: 500, stream: true },
    ]);
  });
});

describe('what the upstream receives', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    fetch(`${gateway.url}/v1/chat/completions?beta=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body,
    });

  it('only the headers that are its business: nothing of the caller but W3C trace context', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const answer = await post(JSON.stringify({ model: 'fast', messages: hello }), {
      cookie: 'session=secret',
      'x-api-key': key,
      'x-request-id': 'headers-1',
      'x-gateway-service': 'checkout',
      'x-forwarded-for': '10.1.2.3',
      'anthropic-beta': 'flag',
      'anthropic-version': '2023-06-01',
      'openai-organization': 'org',
      baggage: 'user=1',
      traceparent,
      tracestate: 'vendor=1',
      'x-secret': 'canary',
    });
    expect(answer.status).toBe(200);
    const { path, headers, body } = seen[0]!;
    expect(path).toBe('/v1/chat/completions');
    expect(headers).toEqual({
      host: new URL(upstream.url).host,
      connection: 'keep-alive',
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'model-gateway',
      authorization: 'Bearer upstream-token-0123456789',
      traceparent,
      tracestate: 'vendor=1',
    });
  });

  it.each([
    ['no trace context at all', {}],
    ['a malformed one', { traceparent: '00-xyz', tracestate: 'vendor=1' }],
    ['a state alone', { tracestate: 'vendor=1' }],
  ])('no trace context when the caller sent %s', async (_what, headers) => {
    await post(JSON.stringify({ model: 'fast', messages: hello }), headers);
    expect(seen[0]?.headers).not.toHaveProperty('traceparent');
    expect(seen[0]?.headers).not.toHaveProperty('tracestate');
  });

  it.each([
    ['compact', '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"n":1}'],
    [
      'as a person would write it',
      '\n{\n  "messages" : [ {"content": "Hi \\u00e9 \\/ é 😀", "role": "user"} ] ,\n\t"model" :  "fast",\r\n  "seed": 1 }\n',
    ],
    [
      'with numbers that no double can hold',
      '{"seed":12345678901234567890,"temperature":1.0,"top_p":1E-2,"x":[-0,0.10,1e400],"model":"fast","messages":[{"role":"user","content":"Hi","n":98765432109876543210.123456789}]}',
    ],
    [
      'with keys that only look alike further down',
      '{"model":"fast","messages":[{"role":"user","content":"Hi"}],"metadata":{"model":"fast","a":1,"a":2,"constructor":{"prototype":1}}}',
    ],
    [
      'with the name spelled with escapes',
      '{"\\u006dodel":"f\\u0061st","messages":[{"role":"user","content":"Hi"}]}',
    ],
  ])('the body byte for byte, but for the model: %s', async (_how, body) => {
    const answer = await post(body);
    expect(answer.status).toBe(200);
    const expected = body.replace(
      /((?:"|\\u006d)(?:m?odel)"\s*:\s*)"f(?:a|\\u0061)st"/,
      '$1"simulated-fast"',
    );
    expect(expected).not.toBe(body);
    expect(seen[0]?.body).toBe(expected);
  });

  it('the very bytes when the model has the same name there', async () => {
    const body = ' { "messages":[{"role":"user","content":"Hi"}], "model":"same" } ';
    await post(body);
    expect(seen[0]?.body).toBe(body);
  });

  it('extra_body last of all: objects merge deeply, arrays, scalars and null replace', async () => {
    await post(
      '{"model":"adapted","messages":[{"role":"user","content":"Hi"}],"temperature":0.70,"stop":["A","B"],' +
        '"user":{"id":1},"metadata":{"own":12345678901234567890,"nested":{"limit":1,"kept":0.10},"team":"x"}}',
    );
    expect(seen[0]?.body).toBe(
      '{"model":"simulated-fast","messages":[{"role":"user","content":"Hi"}],"temperature":null,"stop":["END"],' +
        '"user":"gateway","metadata":{"own":12345678901234567890,"nested":{"limit":2,"kept":0.10},"team":"platform"}}',
    );
  });

  it('extra_body where the caller said nothing, and extra_headers beside the authentication', async () => {
    await post('{"model":"adapted","messages":[{"role":"user","content":"Hi"}],"metadata":7}');
    const { body, headers } = seen[0]!;
    expect(JSON.parse(body)).toEqual({
      model: 'simulated-fast',
      messages: [{ role: 'user', content: 'Hi' }],
      metadata: { team: 'platform', nested: { limit: 2 } },
      stop: ['END'],
      temperature: null,
      user: 'gateway',
    });
    expect(headers).toMatchObject({
      'x-tenant': 'gateway',
      authorization2: 'kept',
      authorization: 'Bearer upstream-token-0123456789',
    });
  });

  it('no body at all when extra_body would merge into a level that repeats a key', async () => {
    const answer = await post(
      '{"model":"adapted","messages":[{"role":"user","content":"Hi"}],"metadata":{"nested":{"limit":1,"l\\u0069mit":2}}}',
    );
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({
      error: { code: 'invalid_request', param: 'metadata.nested.limit' },
    });
    expect(seen).toEqual([]);
  });
});
