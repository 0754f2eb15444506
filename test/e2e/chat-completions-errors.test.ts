import { describe, expect, it } from '@jest/globals';
import OpenAI, { APIError, RateLimitError } from 'openai';
import { aKey } from '../support/gateway.ts';
import { key, narrowKey, poorKey, idHeader, hello, openaiScene } from './openai-scene.ts';

const { traceOf, gateway, upstream, client } = openaiScene();

describe('the unmodified openai client: errors', () => {
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
      'a body with a wrong type',
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
      'an unknown model',
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
  ] as const)('%s is reported as %s with %i %s', async (_what, name, status, code, param, fail) => {
    const before = upstream().requests();
    const error = await fail();
    expect(error).toBeInstanceOf(OpenAI[name]);
    expect({ status: error.status, code: error.code, param: error.param }).toEqual({ status, code, param });
    expect(error.requestID).toMatch(/^error-/);
    expect(upstream().requests()).toBe(before);
  });

  it('does not retry when the budget is used up, and receives the time when the budget resets', async () => {
    const patient = new OpenAI({ baseURL: `${gateway().url}/v1`, apiKey: poorKey });
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
  ] as const)(
    'an error of the upstream deployment `%s` is reported as %s with %i',
    async (model, name, status, upstreamStatus, words) => {
      const before = upstream().requests();
      const error = await failing({ model }, `upstream-${model}`);
      expect(error).toBeInstanceOf(OpenAI[name]);
      const code = model === 'limited' ? 'rate_limit_exceeded' : 'upstream_error';
      expect(error).toMatchObject({ status, code, type: 'upstream_error', param: null });
      expect(error.headers?.get('x-gateway-error')).toBe('upstream_error');
      expect(error.message).toBe(`${status} ${words}`);
      expect(error.headers?.get('retry-after')).toBe(model === 'limited' ? '7' : null);
      expect(upstream().requests()).toBe(before + 1);
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
    },
  );

  it('receives an HTTP error, not a stream, when the upstream fails before the stream begins', async () => {
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
