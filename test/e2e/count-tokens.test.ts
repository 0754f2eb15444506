import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { type Answer, type Asked, json, type Loose, scene, whole } from './scene.ts';
import { messages, type Talk } from './talk.ts';

const keys = { narrow: aKey(), poor: aKey() };

const system = 'Be brief.';
const said = [{ role: 'user', content: 'How long am I?' }];
const tools = [{ name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} } }];

/** The request in the messages family; it has no `max_tokens`, since nothing is generated. */
const counting: Talk = {
  ...messages,
  operation: 'count_tokens',
  path: '/v1/messages/count_tokens',
  body: () => ({ model: 'claude-a', system, messages: said, tools }),
};

const opus = 'claude-opus-4-5';

function config(url: string, key: string): ConfigFile {
  const basic = basicConfig(url, key);
  const { origin } = new URL(url);
  const model = (id: string, provider: string, upstream_model: string, route: object = {}) => ({
    id,
    routes: [{ provider, upstream_model, ...route }],
  });
  const styled = (id: string, api_style: string, upstream_model: string) =>
    model(id, 'b', upstream_model, {
      capabilities: {
        embeddings: false,
        responses: false,
        json_schema: false,
        ...(api_style === 'runtime_messages' ? { stream: false } : {}),
      },
      compatibility: { cloud_b: { api_style } },
    });
  return {
    ...basic,
    providers: [
      ...(basic['providers'] as object[]),
      {
        id: 'a',
        type: 'cloud_a_platform',
        project_id: 'p',
        location: 'global',
        api_host: origin,
        auth: { mode: 'bearer', token: 'platform-token-0123456789' },
      },
      {
        id: 'b',
        type: 'cloud_b_platform',
        region: 'us-east-1',
        auth: { mode: 'static_credentials', access_key_id: 'AKIDEXAMPLE', secret_access_key: 'a'.repeat(40) },
        runtime_endpoint_url: origin,
        endpointb_endpoint_url: origin,
      },
    ],
    models: [
      ...(basic['models'] as object[]),
      model('claude-a', 'a', `anthropic/${opus}@20251101`, { extra_body: { temperature: 0.5 } }),
      model('gemini', 'a', 'google/gemini-2.5-pro'),
      model('vectors', 'a', 'google/text-embedding-005'),
      styled('unified', 'runtime_unified', `us.anthropic.${opus}-v1:0`),
      styled(
        'invoke',
        'runtime_messages',
        `arn:aws:bedrock:us-east-1:1:inference-profile/eu.anthropic.${opus}`,
      ),
      styled('endpointb', 'endpointb_messages', `anthropic.${opus}`),
      styled('nova', 'runtime_unified', 'amazon.nova-lite-v1:0'),
      styled('profile', 'runtime_messages', 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x'),
    ],
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
      { name: 'narrow', owner: 'user:a@example.com', value: keys.narrow, allowed_models: ['fast'] },
      { name: 'poor', owner: 'user:poor@example.com', value: keys.poor },
    ],
  };
}

const { ask, query, gateway } = scene(config);

const count = (model: string, counted: object, asked: Asked = {}): Promise<Answer> =>
  ask(counting, whole(counted), { ...asked, body: { model, ...asked.body } });

const body = ({ upstream }: Answer): Loose => upstream?.body;

/** Logged as `count_tokens`, without a ledger row. */
function expectCounted(answer: Answer, tokens: number): void {
  expect([answer.status, answer.text]).toEqual([200, `{"input_tokens":${tokens}}`]);
  expect(answer.after.logs).toEqual([
    expect.objectContaining({
      status_code: 200,
      error_code: null,
      metadata_json: expect.objectContaining({ operation: 'count_tokens', stream: false }),
    }),
  ]);
  expect(answer.after.attempts).toEqual([expect.objectContaining({ status: 'success' })]);
  expect(answer.after.ledger).toEqual([]);
  expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome: 'success' })]);
}

describe('tokens are counted by the upstream that would serve the message', () => {
  it('platform A, models of the messages family', async () => {
    const answer = await count('claude-a', { input_tokens: 41 });
    expectCounted(answer, 41);
    expect(answer.upstream?.path).toBe(
      '/v1/projects/p/locations/global/publishers/anthropic/models/count-tokens:rawPredict',
    );
    expect(body(answer)).toEqual({
      model: `${opus}@20251101`,
      anthropic_version: 'vertex-2023-10-16',
      system,
      messages: said,
      tools,
    });
  });

  it('platform A, models of the messages family: without the betas that its count rejects', async () => {
    const deferred = { tools: [...tools, { ...tools[0], name: 'find', defer_loading: true }] };
    const betas = ['advanced-tool-use-2025-11-20', 'web-search-2025-03-05'];
    const asked = (...more: readonly string[]): Asked => ({
      body: deferred,
      headers: { 'anthropic-beta': [...betas, ...more].join() },
    });
    const known = await count('claude-a', { input_tokens: 41 }, asked('context-1m-2025-08-07'));
    expect(body(known)).toMatchObject({ ...deferred, anthropic_beta: ['context-1m-2025-08-07'] });
    expect(body(await count('claude-a', { input_tokens: 41 }, asked()))).not.toHaveProperty('anthropic_beta');
  });

  it('platform A, Google-published models', async () => {
    const answer = await count('gemini', { totalTokens: 42, totalBillableCharacters: 9 });
    expectCounted(answer, 42);
    expect(answer.upstream?.path).toBe(
      '/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:countTokens',
    );
    expect(body(answer)).toEqual({
      systemInstruction: { parts: [{ text: system }] },
      contents: [{ role: 'user', parts: [{ text: 'How long am I?' }] }],
      tools: [{ functionDeclarations: [expect.objectContaining({ name: 'look' })] }],
    });
  });

  it('platform B, converse: with the model that the inference profile refers to', async () => {
    const answer = await count('unified', { inputTokens: 43 });
    expectCounted(answer, 43);
    expect(answer.upstream?.path).toBe(`/model/anthropic.${opus}-v1%3A0/count-tokens`);
    expect(body(answer)).toEqual({
      input: {
        converse: {
          system: [{ text: system }],
          messages: [{ role: 'user', content: [{ text: 'How long am I?' }] }],
          toolConfig: { tools: [{ toolSpec: expect.objectContaining({ name: 'look' }) }] },
        },
      },
    });
  });

  it('platform B, invoke: with its whole body and the `max_tokens` that it requires', async () => {
    const thinking = { type: 'enabled', budget_tokens: 2000 };
    const answer = await count('invoke', { inputTokens: 44 }, { body: { thinking, max_tokens: undefined } });
    expectCounted(answer, 44);
    expect(answer.upstream?.path).toBe(`/model/anthropic.${opus}/count-tokens`);
    const invoke = body(answer).input.invokeModel.body as string;
    expect(json(Buffer.from(invoke, 'base64').toString())).toEqual({
      anthropic_version: 'bedrock-2023-05-31',
      max_tokens: 2001,
      system,
      messages: said,
      tools,
      thinking,
    });
  });

  it('platform B, the messages API itself', async () => {
    const answer = await count(
      'endpointb',
      { input_tokens: 45 },
      { path: '/messages/count_tokens?beta=true' },
    );
    expectCounted(answer, 45);
    expect(answer.upstream?.path).toBe('/anthropic/v1/messages/count_tokens');
    expect(answer.upstream?.headers['anthropic-version']).toBe('2023-06-01');
    expect(body(answer)).toEqual({ model: `anthropic.${opus}`, system, messages: said, tools });
  });

  it('fields that affect only the answer are not sent upstream', async () => {
    const over = {
      max_tokens: 9,
      stream: true,
      temperature: 0,
      top_p: 0.5,
      top_k: 3,
      stop_sequences: ['.'],
      metadata: { user_id: 'u' },
      inference_geo: 'global',
    };
    for (const model of ['claude-a', 'gemini', 'unified', 'endpointb']) {
      const [plain, with_] = [
        await count(model, { input_tokens: 1, inputTokens: 1, totalTokens: 1 }),
        await count(model, { input_tokens: 1, inputTokens: 1, totalTokens: 1 }, { body: over }),
      ];
      expectCounted(with_, 1);
      expect(with_.upstream?.text).toBe(plain.upstream?.text);
    }
  });

  it('no count writes a ledger row, and an invalid count is a 502', async () => {
    const counts = fc.oneof(
      fc.maxSafeNat().map((value) => [value, value] as const),
      fc.constantFrom(-1, 0.5, '7', null, 2 ** 53, [], {}).map((value) => [value, undefined] as const),
    );
    await fc.assert(
      fc.asyncProperty(
        counts,
        fc.constantFrom('claude-a', 'gemini', 'unified'),
        async ([value, told], model) => {
          const answer = await count(model, { input_tokens: value, inputTokens: value, totalTokens: value });
          expect(answer.after.ledger).toEqual([]);
          if (told !== undefined) return expectCounted(answer, told);
          expect(answer.status).toBe(502);
          expect(json(answer.text).error.details).toEqual({ error_code: 'upstream_error' });
        },
      ),
      { numRuns: 20, seed: 20_261_122 },
    );
  });

  it('an upstream error is returned in the messages envelope', async () => {
    const refusal = { type: 'error', error: { type: 'rate_limit_error', message: 'Slower.' } };
    const answer = await ask(counting, whole(refusal, { status: 429 }));
    expect(answer.status).toBe(429);
    expect(json(answer.text)).toMatchObject({ type: 'error', error: { message: 'Slower.' } });
    expect(answer.after.ledger).toEqual([]);
  });
});

/** The request was refused before anything was sent upstream. */
function expectRefusedEarly(
  answer: Answer,
  status: number,
  type: string,
  code: string,
  outcome: string,
): void {
  expect([answer.status, answer.upstream]).toEqual([status, undefined]);
  expect(json(answer.text)).toEqual({
    type: 'error',
    error: { type, message: expect.stringMatching(/\S/), details: { error_code: code } },
    request_id: answer.requestId,
  });
  expect(answer.after.attempts).toEqual([]);
  expect(answer.after.ledger).toEqual([]);
  expect(answer.after.outcomes).toEqual([expect.objectContaining({ outcome, status })]);
}

describe('tokens are not counted', () => {
  it.each(['fast', 'vectors', 'nova', 'profile'])(
    'if the upstream cannot: 404 not_supported, also when the budget is used up: %s',
    async (model) => {
      for (const key of [{}, { key: keys.poor }]) {
        const answer = await count(model, {}, key);
        expectRefusedEarly(answer, 404, 'not_found_error', 'not_supported', 'invalid_request');
        expect(json(answer.text).error.message).toContain(`\`${model}\``);
      }
    },
  );

  it('with a field that the provider does not accept: 400 with the field’s name as the caller wrote it', async () => {
    const wrong = { tools: [{ name: 'a b', input_schema: { type: 'object' } }] };
    const answer = await count('unified', {}, { body: wrong });
    expectRefusedEarly(answer, 400, 'invalid_request_error', 'invalid_request', 'invalid_request');
    expect(json(answer.text).error.message).toContain('`tools[0].name`');
  });

  it('in a region, where the upstream cannot promise one: 400, for the conversation would leave the region', async () => {
    for (const model of ['claude-a', 'gemini', 'unified', 'invoke']) {
      const answer = await count(model, {}, { body: { inference_geo: 'us' } });
      expectRefusedEarly(answer, 400, 'invalid_request_error', 'invalid_request', 'invalid_request');
      expect(json(answer.text).error.message).toContain('`inference_geo`');
    }
    const asked = await count('endpointb', { input_tokens: 45 }, { body: { inference_geo: 'us' } });
    expect([asked.status, 'inference_geo' in body(asked)]).toEqual([200, false]);
  });

  it.each([
    ['without a key', { key: undefined }, 401, 'authentication_error', 'missing_api_key', 'unauthenticated'],
    [
      'for a model that is not granted',
      { key: keys.narrow },
      403,
      'permission_error',
      'model_not_granted',
      'forbidden',
    ],
    [
      'for an unknown model',
      { body: { model: 'nope' } },
      404,
      'not_found_error',
      'model_not_found',
      'not_found',
    ],
    [
      'when the budget is used up',
      { key: keys.poor },
      429,
      'rate_limit_error',
      'budget_exceeded',
      'budget_error',
    ],
    [
      'without messages',
      { body: { messages: [] } },
      400,
      'invalid_request_error',
      'invalid_request',
      'invalid_request',
    ],
    [
      'for a thread',
      { body: { thread: 't' } },
      400,
      'invalid_request_error',
      'thread_unsupported_request',
      'invalid_request',
    ],
  ])('%s', async (_, asked, status, type, code, outcome) => {
    expectRefusedEarly(await ask(counting, whole({ input_tokens: 1 }), asked), status, type, code, outcome);
  });

  it('and no request of this file has a ledger row or caused a defect', async () => {
    expect(await query('select count(*)::int as rows from usage_cost_events')).toEqual([{ rows: 0 }]);
    expect(gateway().log.lines.filter(({ message }) => message === 'defect')).toEqual([]);
  });
});
