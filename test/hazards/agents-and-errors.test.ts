import { describe, expect, it } from '@jest/globals';
import { payloadsOf, scene, streamed, whole } from '../e2e/scene.ts';
import { chat, messages, talks, wholeStream } from '../e2e/talk.ts';

const { ask } = scene();

const refusal = (status: number, headers: Readonly<Record<string, string>> = {}) =>
  whole(
    { error: { message: 'Not now.' } },
    { status, headers: { 'content-type': 'application/json', ...headers } },
  );

describe('faults of other gateways that this gateway does not have', () => {
  describe('hazard 60: /v1/messages errors have the OpenAI envelope', () => {
    const envelope = (requestId: string, type: string, code: string) => ({
      type: 'error',
      error: { type, message: expect.stringMatching(/\S/), details: { error_code: code } },
      request_id: requestId,
    });

    it.each([
      ['no key', { key: undefined }, 401, 'authentication_error', 'missing_api_key'],
      ['a wrong key', { key: 'gwk_no.no' }, 401, 'authentication_error', 'invalid_api_key'],
      ['an unknown model', { body: { model: 'nope' } }, 404, 'not_found_error', 'model_not_found'],
      ['an invalid field', { body: { max_tokens: 'many' } }, 400, 'invalid_request_error', 'invalid_request'],
      ['an unknown path', { path: '/v1/messages/batches' }, 404, 'not_found_error', 'not_found'],
      ['a token count', { path: '/v1/messages/count_tokens' }, 404, 'not_found_error', 'not_supported'],
      ['an upstream refusal', {}, 429, 'rate_limit_error', 'upstream_error'],
    ] as const)('%s causes an error in the messages envelope', async (_, asked, status, type, code) => {
      for (const stream of [true, false]) {
        const answer = await ask(messages, refusal(429), { stream, ...asked });
        expect(answer.status).toBe(status);
        expect(JSON.parse(answer.text)).toEqual(envelope(answer.requestId, type, code));
      }
    });
  });

  it('hazard 61: newer agents reject streams whose message_start.usage lacks fields; here it has all of them', async () => {
    const answer = await ask(messages, streamed(wholeStream(chat)));
    const [start] = payloadsOf(answer);
    expect(start).toMatchObject({ type: 'message_start' });
    expect(start?.['message']).toMatchObject({
      usage: {
        input_tokens: 0,
        output_tokens: 0,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
      },
    });
    expect(payloadsOf(answer).at(-2)).toMatchObject({
      type: 'message_delta',
      usage: {
        input_tokens: 10,
        output_tokens: 20,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
      },
    });
  });

  it('hazard 62: every `anthropic-beta` is forwarded, and upstreams answer "invalid beta flag"; here a chat upstream gets none', async () => {
    const headers = {
      'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14,nobody-knows-2030-01-01',
      'anthropic-version': '2023-06-01',
      'x-app': 'cli',
      'x-stainless-lang': 'js',
      cookie: 'a=b',
    };
    const answer = await ask(messages, streamed(wholeStream(chat)), {
      headers,
      path: '/v1/messages?beta=true',
    });
    expect(answer.status).toBe(200);
    const sent = Object.keys(answer.upstream?.headers ?? {});
    expect(sent.toSorted()).toEqual(
      [
        'accept',
        'accept-encoding',
        'authorization',
        'connection',
        'content-length',
        'content-type',
        'host',
        'traceparent',
        'user-agent',
      ].toSorted(),
    );
    expect(answer.upstream?.text).not.toMatch(/beta|2023-06-01/);
    expect(answer.upstream?.path).toBe('/v1/chat/completions');
  });

  describe('hazard 63: `Retry-After` of an upstream 429 is dropped, and agents loop; here limit headers are forwarded', () => {
    it.each(talks.map((talk) => [talk.operation, talk] as const))('%s', async (_, talk) => {
      const limits = {
        'retry-after': '17',
        'retry-after-ms': '17000',
        'x-ratelimit-remaining-requests': '0',
        'anthropic-ratelimit-tokens-remaining': '0',
      };
      for (const stream of [true, false]) {
        for (const [status, told] of [
          [429, 429],
          [503, 503],
          [529, 503],
        ] as const) {
          const answer = await ask(talk, refusal(status, limits), { stream });
          expect(answer.status).toBe(told);
          for (const [name, value] of Object.entries(limits)) expect(answer.headers.get(name)).toBe(value);
        }
      }
    });
  });

  describe('hazard 64: the upstream’s error body leaks untranslated; here only its message is forwarded', () => {
    const inside = 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/secret';
    it.each([
      [
        'JSON of another format',
        'application/json',
        JSON.stringify({ __type: 'ValidationException', resource: inside }),
      ],
      [
        'JSON with more than a message',
        'application/json',
        JSON.stringify({ error: { message: 'No.', metadata: { raw: inside } }, user_id: inside }),
      ],
      ['HTML', 'text/html', `<html>${inside}</html>`],
      ['text', 'text/plain', inside],
    ])('%s', async (_, type, body) => {
      for (const talk of talks) {
        for (const stream of [true, false]) {
          const replay = { status: 400, headers: { 'content-type': type }, body };
          const answer = await ask(talk, replay, { stream });
          expect(answer.status).toBe(400);
          expect(answer.text).not.toContain('bedrock');
          expect(JSON.stringify(answer.after)).not.toContain('bedrock');
          const { error } = JSON.parse(answer.text) as { error: { message: string } };
          expect(['No.', 'The upstream answered with status 400.']).toContain(error.message);
        }
      }
    });
  });
});
