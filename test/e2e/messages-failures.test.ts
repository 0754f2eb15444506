import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type TcpProxy, tcpProxy } from '../contract/tcp-proxy.ts';
import { withDatabase } from '../support/database.ts';
import { aKey, basicConfig, startGateway, type TestGateway } from '../support/gateway.ts';
import { keys, budget, unanswered, messagesScene } from './messages-scene.ts';
import { rawExchange } from './raw-http.ts';
import {
  type Answer,
  type Asked,
  eventsIn,
  json,
  expectFailedStream,
  expectRefused,
  streamed,
  textOf,
  whole,
} from './scene.ts';
import { chat, messages } from './talk.ts';
import { eventually } from './traces.ts';

const { ask, gateway, upstream, simulated } = messagesScene();

describe('errors use the messages envelope', () => {
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

  it('for malformed JSON, and for a path with another method', async () => {
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

  it('for a repeated request id', async () => {
    const headers = { 'x-request-id': 'twice' };
    const first = await ask(messages, whole(chat.upstream.whole), { stream: false, headers });
    expect(first.status).toBe(200);
    const again = await ask(messages, unanswered, { stream: false, headers });
    expectEnvelope({ ...again, requestId: 'twice' }, 409, invalid, 'duplicate_request_id');
  });

  it('for a spent budget, with the time of its reset and without a retry', async () => {
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

describe('a failed stream ends in `event: error`, with no message_stop and never `[DONE]`', () => {
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

  it('an open block stays open', async () => {
    const answer = await ask(messages, streamed(begin + piece + error));
    expect(answer.events.map(({ event }) => event)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'error',
    ]);
  });

  it('a translation that fails ends the stream and closes the upstream request', async () => {
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

describe('an overloaded gateway, or one without its database', () => {
  const database = withDatabase();
  const key = aKey();
  let proxy: TcpProxy;
  let alone: TestGateway;
  beforeAll(async () => {
    proxy = await tcpProxy();
    const file = basicConfig(simulated().url, key, {
      user: { budget: budget(1_000_000) },
      more: { server: { bind: '127.0.0.1:0', max_in_flight: 1 } },
      route: { extra_body: { simulate: { 'chunk-delay-ms': 400, chunks: 10 } } },
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

  it('over max_in_flight answers 503 in the envelope', async () => {
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

  it('without its database does not complete an answer under a hard limit, and sends api_error', async () => {
    const response = await call();
    expect(response.status).toBe(200);
    await proxy.refuse();
    const events = eventsIn(await response.text());
    expect(events.at(-1)?.event).toBe('error');
    expect(json(events.at(-1)?.data ?? '')).toMatchObject({
      type: 'error',
      // Agents retry at once on an overloaded_error in a stream.
      error: { type: 'api_error', details: { error_code: 'store_unavailable' } },
    });
    expect(events.some(({ event }) => event === 'message_stop')).toBe(false);
  });

  it('without its database sends nothing upstream and answers 503 in the envelope, with retry-after', async () => {
    const before = simulated().requests();
    const response = await call();
    expect(response.status).toBe(503);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await response.json()).toMatchObject({
      type: 'error',
      error: { type: 'overloaded_error', details: { error_code: 'store_unavailable' } },
    });
    expect(simulated().requests()).toBe(before);
  });
});
