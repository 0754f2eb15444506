import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { type SimulatedUpstream, startSimulatedUpstream } from '../../tools/simulated-upstream/server.ts';
import { type TcpProxy, tcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, type ConfigFile, startGateway, type TestGateway } from '../support/gateway.ts';
import { grammarFault } from '../support/messages-grammar.ts';
import { rawExchange } from './raw-http.ts';
import {
  type Answer,
  type Asked,
  eventsIn,
  expectCompleteStream,
  json,
  type Loose,
  expectFailedStream,
  expectRefused,
  expectSold,
  payloadsOf,
  priced,
  scene,
  streamed,
  textOf,
  usageMissing,
  whole,
} from './scene.ts';
import { chat, messages, wholeStream } from './talk.ts';
import { eventually } from './traces.ts';

let simulated: SimulatedUpstream;
beforeAll(async () => {
  simulated = await startSimulatedUpstream({ port: 0 });
});
afterAll(() => simulated?.close());

const keys = { narrow: aKey(), poor: aKey(), tight: aKey() };
const budget = (amount_10000: number) => ({ cadence: 'daily', amount_10000, hard_limit: true });

/** Beside `fast`: models of the simulation, of routes that lack something, and of routes that change the body. */
function config(url: string, key: string): ConfigFile {
  const basic = basicConfig(url, key);
  const route = (id: string, over: object) => ({
    id,
    routes: [{ provider: 'up', upstream_model: id, ...over }],
  });
  const sim = (id: string, upstream_model: string) => ({ id, routes: [{ provider: 'sim', upstream_model }] });
  return {
    ...basic,
    server: { bind: '127.0.0.1:0', body_max_bytes: 200_000 },
    accounting: { duplicate_request_ids: 'reject' },
    providers: [
      ...(basic['providers'] as object[]),
      { id: 'sim', type: 'compat', base_url: simulated.url, auth: { mode: 'none' } },
    ],
    models: [
      ...(basic['models'] as object[]),
      sim('text', 'simulated-fast'),
      sim('slow', 'simulated-fast?latency-ms=400'),
      sim('thinking', 'simulated-reasoning'),
      sim('tools', 'simulated-fast?parallel-tools'),
      route('no-stream', { capabilities: { stream: false } }),
      route('no-tools', { capabilities: { tools: false } }),
      route('no-vision', { capabilities: { vision: false } }),
      route('no-schema', { capabilities: { json_schema: false } }),
      route('no-chat', { capabilities: { chat_completions: false } }),
      route('nothing', { enabled: false }),
      route('shimmed', {
        compatibility: {
          compat: {
            max_tokens_field: 'max_tokens',
            reasoning_effort: 'reasoning_object',
            supports_stream_usage: true,
          },
          router: { provider: { zdr: true, order: ['one', 'two'] } },
        },
        extra_headers: { 'x-route': 'yes' },
        extra_body: { temperature: 0.5, provider_options: { a: 1 } },
      }),
    ],
    users: [
      ...(basic['users'] as object[]),
      { email: 'poor@example.com', budget: budget(0) },
      // One 1/10000 USD: the first answer of 0.0000135 USD fits, and a dear one does not.
      { email: 'tight@example.com', budget: budget(1) },
    ],
    api_keys: [
      ...(basic['api_keys'] as object[]),
      { name: 'narrow', owner: 'user:a@example.com', value: keys.narrow, allowed_models: ['text', 'slow'] },
      { name: 'poor', owner: 'user:poor@example.com', value: keys.poor },
      { name: 'tight', owner: 'user:tight@example.com', value: keys.tight },
    ],
  };
}

const { ask, gateway, databaseUrl, query, upstream } = scene(config);

/** What no upstream is asked for. */
const unanswered = { status: 500, body: '' };
const simulation = (asked: Asked): Promise<Answer> => ask(messages, unanswered, asked);

const ownId = /^msg_[0-9a-f]{32}$/;
const usage = (input_tokens: number, output_tokens: number, cached = 0) => ({
  input_tokens,
  output_tokens,
  cache_read_input_tokens: cached,
  cache_creation_input_tokens: 0,
});

describe.each(['/v1/messages', '/messages'])('POST %s', (path) => {
  it('returns a messages-style response', async () => {
    const answer = await ask(messages, whole(chat.upstream.whole), { stream: false, path });
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(json(answer.text)).toEqual({
      id: expect.stringMatching(ownId),
      type: 'message',
      role: 'assistant',
      model: 'fast',
      content: [{ type: 'text', text: 'all' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: expect.objectContaining(usage(10, 20)),
    });
    expectSold(answer, priced);
  });

  it('or SSE', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)), { path });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expectCompleteStream(messages, answer, priced);
    expect(answer.events.map(({ event }) => event)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    expect(payloadsOf(answer).map(({ type }) => type)).toEqual(answer.events.map(({ event }) => event));
    expect(textOf(messages, answer)).toBe('piece');
    expect(payloadsOf(answer)[0]?.['message']).toMatchObject({
      id: expect.stringMatching(ownId),
      model: 'fast',
    });
    expect(payloadsOf(answer)[4]).toMatchObject({
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: usage(10, 20),
    });
  });
});

describe('a messages call', () => {
  it('tells its request id in both headers, also on errors, and in the error itself', async () => {
    const answers = [
      await ask(messages, whole(chat.upstream.whole), { stream: false }),
      await ask(messages, streamed(wholeStream(chat))),
      await ask(messages, whole({ error: { message: 'No.' } }, { status: 500 })),
      await ask(messages, unanswered, { body: { model: 'nope' } }),
    ];
    for (const { headers, requestId } of answers) {
      expect(headers.get('x-request-id')).toBe(requestId);
      expect(headers.get('request-id')).toBe(requestId);
    }
  });

  it('is logged as one, with its tools and its model', async () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const answer = await simulation({ body: { model: 'tools', tools } });
    expect(answer.after.logs).toEqual([
      expect.objectContaining({
        metadata_json: expect.objectContaining({ operation: 'messages', stream: true }),
        model_key: 'tools',
        provider_key: 'sim',
        exposed_tool_count: 1,
        invoked_tool_count: 2,
        status_code: 200,
      }),
    ]);
    expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
  });

  it.each([
    ['nothing special', {}],
    ['an old version', { 'anthropic-version': '2023-06-01' }],
    ['a new version', { 'anthropic-version': '2026-10-21' }],
    ['a version that is none', { 'anthropic-version': 'tomorrow' }],
    ['flags that nobody knows', { 'anthropic-beta': 'a-2030-01-01,b,,', 'anthropic-version': '2023-06-01' }],
  ])('is taken with %s, and with a query', async (_, headers) => {
    for (const query of ['', '?beta=true', '?beta=true&x=%zz']) {
      const answer = await ask(messages, streamed(wholeStream(chat)), {
        path: `/v1/messages${query}`,
        headers,
      });
      expectCompleteStream(messages, answer, priced);
    }
  });

  it('is authenticated by x-api-key or Authorization', async () => {
    for (const headers of [
      { 'x-api-key': keys.narrow },
      { authorization: `bearer ${keys.narrow}` },
      { authorization: 'Basic abc', 'x-api-key': keys.narrow },
    ]) {
      const asked = { key: undefined, headers: { ...headers }, body: { model: 'text' } };
      expect((await simulation(asked)).status).toBe(200);
    }
  });

  it.each([true, false])('goes through a round of tools (stream: %p)', async (stream) => {
    const tools = [
      {
        name: 'weather',
        description: 'How it is',
        input_schema: { type: 'object', properties: { city: { type: 'string' } } },
      },
      {
        type: 'custom',
        name: 'time',
        input_schema: { type: 'object', properties: {} },
        cache_control: { type: 'ephemeral' },
      },
    ];
    const user = {
      role: 'user',
      content: [{ type: 'text', text: 'How is it?', cache_control: { type: 'ephemeral' } }],
    };
    const first = await simulation({ stream, body: { model: 'tools', tools, messages: [user] } });
    const content = stream ? blocksOf(first) : json(first.text).content;
    expect(content.map(({ type, name }: Loose) => [type, name])).toEqual([
      ['tool_use', 'weather'],
      ['tool_use', 'time'],
    ]);
    const stop = stream ? payloadsOf(first).at(-2)?.['delta'] : json(first.text);
    expect(stop).toMatchObject({ stop_reason: 'tool_use' });
    if (stream) expect(grammarFault(payloadsOf(first))).toBeUndefined();

    const results = content.map(({ id }: Loose) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: 'Fine.',
      is_error: false,
    }));
    const turn = [user, { role: 'assistant', content }, { role: 'user', content: results }];
    const second = await simulation({ stream, body: { model: 'tools', tools, messages: turn } });
    const text = stream ? textOf(messages, second) : json(second.text).content[0].text;
    expect(text).toContain('Fine.');
    if (stream) expectCompleteStream(messages, second);
    expect(second.after.logs).toEqual([expect.objectContaining({ invoked_tool_count: 0 })]);
  });

  it('shows reasoning as a thinking block before the text', async () => {
    const answer = await simulation({ body: { model: 'thinking' } });
    expect(blocksOf(answer).map(({ type }: Loose) => type)).toEqual(['thinking', 'text']);
    expectCompleteStream(messages, answer);
  });
});

/** The content of a streamed message, put together as clients do. */
function blocksOf(answer: Answer): Loose[] {
  const blocks: Loose[] = [];
  for (const { type, index, content_block, delta } of payloadsOf(answer) as readonly Loose[]) {
    if (type === 'content_block_start') blocks[index] = { ...content_block };
    if (type !== 'content_block_delta') continue;
    const block = blocks[index];
    if (delta.type === 'text_delta') block.text += delta.text;
    if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
    if (delta.type === 'input_json_delta') block.json = (block.json ?? '') + delta.partial_json;
  }
  return blocks.map(({ json: input, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(input || '{}') } : block,
  );
}

describe('errors take the messages envelope', () => {
  const expectEnvelope = (answer: Answer, status: number, type: string, code: string): void => {
    expect(answer.status).toBe(status);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(json(answer.text)).toEqual({
      type: 'error',
      error: { type, message: expect.stringMatching(/\S/), details: { error_code: code } },
      request_id: answer.requestId,
    });
  };
  const invalid = 'invalid_request_error';

  it.each<[string, Asked, number, string, string, RegExp?]>([
    ['without a key', { key: undefined }, 401, 'authentication_error', 'missing_api_key'],
    ['with an unknown key', { key: aKey() }, 401, 'authentication_error', 'invalid_api_key'],
    [
      'for a model that the key may not use',
      { key: keys.narrow },
      403,
      'permission_error',
      'model_not_granted',
    ],
    ['for an unknown model', { body: { model: 'nope' } }, 404, 'not_found_error', 'model_not_found'],
    ['for a model without a route', { body: { model: 'nothing' } }, 503, 'api_error', 'no_routes_available'],
    ['without a model', { body: { model: undefined } }, 400, invalid, 'invalid_request', /`model`/],
    [
      'without max_tokens',
      { body: { max_tokens: undefined } },
      400,
      invalid,
      'invalid_request',
      /`max_tokens`/,
    ],
    ['without messages', { body: { messages: [] } }, 400, invalid, 'invalid_request', /`messages`/],
    [
      'for a block that nobody knows',
      {
        body: { messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'hologram' }] }] },
      },
      400,
      invalid,
      'invalid_request',
      /`messages\[0\]\.content\[1\]\.type` is `hologram`/,
    ],
    [
      'for a server tool',
      { body: { tools: [{ type: 'web_search_20250305', name: 'web_search' }] } },
      400,
      invalid,
      'invalid_request',
      /`tools\[0\]\.type` is `web_search_20250305`/,
    ],
    [
      'for another content type',
      { headers: { 'content-type': 'text/plain' } },
      400,
      invalid,
      'invalid_request',
      /content-type/,
    ],
    [
      'for a caller tag that is none',
      { headers: { 'x-gateway-service': '!' } },
      400,
      invalid,
      'invalid_request',
      /x-gateway-service/,
    ],
    [
      'for a body over the bound',
      { body: { padding: 'x'.repeat(210_000) } },
      413,
      'request_too_large',
      'request_too_large',
    ],
    ['when a budget is used up', { key: keys.poor }, 429, 'rate_limit_error', 'budget_exceeded'],
    [
      'for tokens to be counted',
      { path: '/v1/messages/count_tokens' },
      404,
      'not_found_error',
      'not_supported',
    ],
    ['for batches', { path: '/v1/messages/batches?limit=3' }, 404, 'not_found_error', 'not_found'],
    ['below the short path', { path: '/messages/batches' }, 404, 'not_found_error', 'not_found'],
  ])('%s', async (_, asked, status, type, code, message = /\S/) => {
    for (const stream of [true, false]) {
      const answer = await ask(messages, unanswered, { stream, ...asked });
      expectEnvelope(answer, status, type, code);
      expect(json(answer.text).error.message).toMatch(message);
      expect(answer.upstream).toBeUndefined();
      expect(answer.after.attempts).toEqual([]);
    }
  });

  it('malformed JSON, and a path asked in another way', async () => {
    const headers = [
      ['authorization', `Bearer ${keys.narrow}`],
      ['content-type', 'application/json'],
      ['x-request-id', 'malformed'],
    ] as const;
    const malformed = await rawExchange(gateway().url, { path: '/v1/messages', headers, body: '{"model":' });
    expect(malformed.status).toBe(400);
    expect(json(malformed.body)).toMatchObject({
      type: 'error',
      error: { type: invalid, details: { error_code: 'invalid_request' } },
      request_id: 'malformed',
    });
    const read = await rawExchange(gateway().url, { method: 'GET', path: '/v1/messages', headers });
    expect(read.status).toBe(405);
    expect(json(read.body)).toMatchObject({ error: { details: { error_code: 'method_not_allowed' } } });
  });

  it('a request id that was used before', async () => {
    const headers = { 'x-request-id': 'twice' };
    const first = await ask(messages, whole(chat.upstream.whole), { stream: false, headers });
    expect(first.status).toBe(200);
    const again = await ask(messages, unanswered, { stream: false, headers });
    expectEnvelope({ ...again, requestId: 'twice' }, 409, invalid, 'duplicate_request_id');
  });

  it('a budget that is used up is told when it opens again, and not to try before', async () => {
    const answer = await ask(messages, unanswered, { key: keys.poor });
    expect(answer.headers.get('x-gateway-budget-resets-at')).toMatch(/T00:00:00\.000Z$/);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'budget_error' })]);
  });

  it.each([
    [400, 400, invalid],
    [401, 502, 'api_error'],
    [403, 502, 'api_error'],
    [404, 404, 'not_found_error'],
    [408, 408, 'api_error'],
    [409, 502, 'api_error'],
    [413, 413, 'request_too_large'],
    [422, 422, invalid],
    [429, 429, 'rate_limit_error'],
    [500, 502, 'api_error'],
    [502, 502, 'api_error'],
    [503, 503, 'api_error'],
    [529, 503, 'api_error'],
  ])('an upstream that answers %i becomes %i %s', async (status, told, type) => {
    for (const stream of [true, false]) {
      const answer = await ask(messages, whole({ error: { message: 'Sorry.' } }, { status }), { stream });
      expectEnvelope(answer, told, type, 'upstream_error');
      expect(json(answer.text).error.message).toBe('Sorry.');
      expectRefused(messages, answer, told, stream ? 'stream_start_error' : 'provider_error');
    }
  });
});

describe('a stream that fails ends in `event: error`, with no message_stop, and never `[DONE]`', () => {
  const { begin, piece, error, done } = chat.upstream;
  it.each([
    ['is told of an error', streamed(begin + piece + error)],
    ['is told of an error, and of the end', streamed(begin + piece + error + done)],
    ['ends too early', streamed(begin + piece)],
    ['breaks', streamed(begin + piece, { ending: { kind: 'reset' } })],
    ['is malformed', streamed(`${begin}${piece}data: {]\n\n`)],
    ['fails after the finish reason', streamed(begin + piece + chat.upstream.finish + error)],
  ])('one that %s', async (_, replay) => {
    const answer = await ask(messages, replay);
    expectFailedStream(messages, answer);
    expect(textOf(messages, answer)).toBe('piece');
  });

  it('a block that is open stays open: nothing of it looks finished', async () => {
    const answer = await ask(messages, streamed(begin + piece + error));
    expect(answer.events.map(({ event }) => event)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'error',
    ]);
  });

  it('a translation that cannot go on ends it by itself, and lets go of the upstream', async () => {
    const aborted = upstream().aborted();
    const call = (index: number): string =>
      piece.replace(
        '"content":"piece"',
        `"tool_calls":[{"index":${index},"id":"call_${index}","type":"function","function":{"name":"f","arguments":""}}]`,
      );
    const body = begin + Array.from({ length: 1100 }, (_, index) => call(index)).join('');
    const answer = await ask(messages, streamed(body, { ending: { kind: 'hang' } }));
    expectFailedStream(messages, answer);
    expect(answer.text).toContain('too many tool calls');
    await eventually(() => (upstream().aborted() > aborted ? true : undefined));
  });
});

describe('what goes upstream', () => {
  const sent = async (asked: Asked): Promise<Loose> =>
    (await ask(messages, streamed(wholeStream(chat)), asked)).upstream?.body;

  it('is a chat body', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)), {
      body: {
        system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
        stop_sequences: ['END'],
        temperature: 0.2,
        metadata: { user_id: '{}' },
        context_management: { edits: [] },
        thinking: { type: 'adaptive', display: 'omitted' },
        output_config: { effort: 'high' },
      },
    });
    expect(answer.upstream?.path).toBe('/v1/chat/completions');
    expect(answer.upstream?.body).toEqual({
      model: 'simulated-fast',
      stream: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      max_completion_tokens: 64,
      stop: ['END'],
      temperature: 0.2,
      reasoning_effort: 'high',
    });
  });

  it('has the compat shims, the router block, extra_body and extra_headers of its route', async () => {
    const asked = {
      body: { model: 'shimmed', temperature: 0.9, output_config: { effort: 'low' }, tools: [], top_p: 0.5 },
    };
    const answer = await ask(messages, streamed(wholeStream(chat)), asked);
    expect(answer.upstream?.body).toEqual({
      model: 'shimmed',
      stream: true,
      messages: [{ role: 'user', content: 'Hi' }],
      max_tokens: 64,
      temperature: 0.5,
      top_p: 0.5,
      reasoning: { effort: 'low' },
      stream_options: { include_usage: true },
      provider: { zdr: true, order: ['one', 'two'] },
      provider_options: { a: 1 },
    });
    expect(answer.upstream?.headers['x-route']).toBe('yes');
  });

  it('asks for usage only where the route says that it has it', async () => {
    expect(await sent({})).not.toHaveProperty('stream_options');
    const unasked = await ask(messages, streamed(wholeStream(chat).replace(chat.upstream.usage, '')));
    expectCompleteStream(messages, unasked, usageMissing);
    expect(payloadsOf(unasked).at(-2)).toMatchObject({ usage: usage(0, 0) });
  });

  it('keeps every digit of a tool input', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)), {
      body: {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: { n: 'DIGITS' } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'ok' }] },
        ],
      },
      spelled: (body) => body.replace('"DIGITS"', '[9007199254740993,0.10]'),
    });
    const [, assistant]: Loose = answer.upstream?.body['messages'] ?? [];
    expect(assistant.tool_calls[0].function.arguments).toBe('{"n":[9007199254740993,0.10]}');
  });
});

describe('a capability that no route has is refused by the field that asks for it', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  it.each<[string, Asked, RegExp]>([
    ['no-stream', { stream: true }, /`stream`/],
    ['no-tools', { body: { tools: [{ name: 'f', input_schema: { type: 'object' } }] } }, /`tools`/],
    ['no-vision', { body: { messages: [{ role: 'user', content: [image] }] } }, /`vision`/],
    [
      'no-schema',
      { body: { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } } },
      /`json_schema`/,
    ],
    ['no-chat', {}, /`chat_completions`/],
  ])('%s', async (model, asked, message) => {
    const answer = await ask(messages, unanswered, {
      stream: false,
      ...asked,
      body: { ...asked.body, model },
    });
    expect(answer.status).toBe(400);
    expect(json(answer.text)).toMatchObject({
      error: { type: 'invalid_request_error', message: expect.stringMatching(message) },
    });
    expect(answer.upstream).toBeUndefined();
    expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'invalid_request' })]);
  });

  it('and every route serves what needs nothing of that kind', async () => {
    for (const model of ['no-stream', 'no-tools', 'no-vision', 'no-schema']) {
      const asked = { stream: false, body: { model, tools: [] } };
      expect((await ask(messages, whole(chat.upstream.whole), asked)).status).toBe(200);
    }
  });
});

describe('money', () => {
  const dear = { prompt_tokens: 1_000_000, completion_tokens: 1_000_000, total_tokens: 2_000_000 };
  const using = (reported: object): string =>
    wholeStream(chat).replace(/"usage":\{[^}]*\}/, `"usage":${JSON.stringify(reported)}`);
  const wholeUsing = (reported: object) => ({ ...json(chat.upstream.whole), usage: reported });

  it('a total that is larger than the sum is billed, although the usage of the message cannot show it', async () => {
    const reported = {
      prompt_tokens: 12,
      completion_tokens: 2,
      total_tokens: 354,
      completion_tokens_details: { reasoning_tokens: 340 },
    };
    const ledger = {
      prompt_tokens: '12',
      completion_tokens: '2',
      total_tokens: '354',
      cost_picousd: String(12n * 150_000n + 342n * 600_000n),
    };
    const stream = await ask(messages, streamed(using(reported)));
    expectCompleteStream(messages, stream, ledger);
    expect(payloadsOf(stream).at(-2)).toMatchObject({ usage: usage(12, 2) });
    const answer = await ask(messages, whole(wholeUsing(reported)), { stream: false });
    expectSold(answer, ledger);
    expect(json(answer.text).usage).toMatchObject(usage(12, 2));
  });

  it('cached tokens are not among the input tokens of the message, and are among those of the ledger', async () => {
    const reported = {
      prompt_tokens: 10,
      completion_tokens: 20,
      total_tokens: 30,
      prompt_tokens_details: { cached_tokens: 8 },
    };
    const stream = await ask(messages, streamed(using(reported)));
    expectCompleteStream(messages, stream, priced);
    expect(payloadsOf(stream).at(-2)).toMatchObject({ usage: usage(2, 20, 8) });
  });

  it('after a budget block message_stop and the whole body never come', async () => {
    const fits = await ask(messages, streamed(wholeStream(chat)), { key: keys.tight });
    expectCompleteStream(messages, fits, priced);
    const stream = await ask(messages, streamed(using(dear)), { key: keys.tight });
    expect(stream.status).toBe(200);
    expect(textOf(messages, stream)).toBe('piece');
    expect(stream.text).not.toContain('message_stop');
    expect(stream.events.at(-1)?.event).toBe('error');
    expect(payloadsOf(stream).at(-1)).toEqual({
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: expect.stringMatching(/\S/),
        details: { error_code: 'budget_exceeded' },
      },
      request_id: stream.requestId,
    });
    const answer = await ask(messages, whole(wholeUsing(dear)), { key: keys.tight, stream: false });
    expect(answer.status).toBe(429);
    expect(answer.headers.get('x-should-retry')).toBe('false');
    expect(answer.text).not.toContain('"all"');
    for (const { after } of [stream, answer]) {
      expect(after.ledger).toEqual([]);
      expect(after.logs).toEqual([
        expect.objectContaining({
          error_code: 'budget_exceeded',
          metadata_json: expect.objectContaining({ accounting: { blocked_cost_usd: '0.75' } }),
        }),
      ]);
      expect(after.outcomes).toEqual([expect.objectContaining({ outcome: 'budget_error' })]);
    }
  });

  it('message_stop and the whole body are held back until the commit', async () => {
    const calls = [true, false].map((stream) =>
      fetch(`${gateway().url}/v1/messages`, {
        method: 'POST',
        headers: { 'x-api-key': keys.narrow, 'content-type': 'application/json' },
        body: JSON.stringify({ ...messages.body(stream), model: 'slow' }),
      }),
    );
    await eventually(() => (simulated.inFlight() === 2 ? true : undefined));
    const blocker = new Client(databaseUrl());
    await blocker.connect();
    await blocker.query('begin; lock table usage_cost_events in access exclusive mode');
    let told = '';
    const [streaming, answering] = calls.map(async (call, index) => {
      const response = await call;
      for await (const bytes of response.body!) if (index === 0) told += Buffer.from(bytes).toString();
      return response.status;
    });
    await eventually(() => (told.includes('message_delta') ? true : undefined));
    expect(await Promise.race([streaming, answering, sleep(300, 'held back')])).toBe('held back');
    expect(simulated.inFlight()).toBe(0);
    expect(told).not.toContain('message_stop');
    await blocker.query('rollback');
    await blocker.end();
    expect(await Promise.all([streaming, answering])).toEqual([200, 200]);
    expect(eventsIn(told).at(-1)?.event).toBe('message_stop');
    expect(await query("select 1 from usage_cost_events where model_key = 'slow'")).toHaveLength(2);
  });
});

describe('a gateway that can take no more', () => {
  const database = withDatabase();
  const key = aKey();
  let proxy: TcpProxy;
  let alone: TestGateway;
  beforeAll(async () => {
    proxy = await tcpProxy();
    const file = basicConfig(simulated.url, key, {
      user: { budget: budget(1_000_000) },
      more: { server: { bind: '127.0.0.1:0', max_in_flight: 1 } },
      route: { extra_body: { simulate: { 'chunk-delay-ms': 100, chunks: 10 } } },
    });
    alone = await startGateway(file, proxy.to(database.url()));
  });
  afterAll(async () => {
    await proxy?.open();
    await alone?.stop();
    await proxy?.close();
  });

  const call = () =>
    fetch(`${alone.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify(messages.body(true)),
    });

  it('has as many requests as it may: 503 in the envelope', async () => {
    const first = await call();
    const second = await call();
    expect(second.status).toBe(503);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await second.json()).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', details: { error_code: 'overloaded' } },
      request_id: second.headers.get('request-id'),
    });
    expect(await first.text()).toContain('message_stop');
  });

  it('has lost its database: an answer under a hard limit is not completed, and its error is no reason to ask again at once', async () => {
    const response = await call();
    expect(response.status).toBe(200);
    await proxy.refuse();
    const events = eventsIn(await response.text());
    expect(events.at(-1)?.event).toBe('error');
    expect(json(events.at(-1)?.data ?? '')).toMatchObject({
      type: 'error',
      // What agents make of overloaded_error in a stream is one call after the other.
      error: { type: 'api_error', details: { error_code: 'store_unavailable' } },
    });
    expect(events.some(({ event }) => event === 'message_stop')).toBe(false);
  });

  it('has lost its database: nothing is sent upstream, 503 in the envelope, with the time to come back', async () => {
    const before = simulated.requests();
    const response = await call();
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', details: { error_code: 'store_unavailable' } },
    });
    expect(simulated.requests()).toBe(before);
  });
});
