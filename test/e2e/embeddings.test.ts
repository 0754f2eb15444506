import { describe, expect, it } from '@jest/globals';
import { expectRefusal, expectSuccessRows } from '../recordings/expectations.ts';
import { type Answer, type Ask, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import { aKey, type ConfigFile } from '../support/gateway.ts';
import type { Replay } from '../support/replay-upstream.ts';

const keys = { filled: aKey(), blocked: aKey() };

function config(url: string, key: string): ConfigFile {
  const base = replayConfig(url, key, ['up']);
  const routed = (id: string, route: object) => ({
    id,
    routes: [{ provider: 'up', upstream_model: 'up', ...route }],
  });
  return {
    ...base,
    models: [
      ...(base['models'] as object[]),
      routed('no-embeddings', { capabilities: { embeddings: false } }),
      routed('only-embeddings', {
        capabilities: {
          chat_completions: false,
          responses: false,
          stream: false,
          tools: false,
          vision: false,
        },
      }),
      routed('renamed', { upstream_model: 'the/upstream-model', extra_body: { dimensions: 256 } }),
    ],
    // 1000 tokens cost 0.00015 USD: one and a half units of `amount_10000`.
    users: [
      ...(base['users'] as object[]),
      { email: 'filled@example.com', budget: { cadence: 'daily', amount_10000: 3, hard_limit: true } },
      { email: 'blocked@example.com', budget: { cadence: 'daily', amount_10000: 1, hard_limit: true } },
    ],
    api_keys: [
      ...(base['api_keys'] as object[]),
      { name: 'filled', owner: 'user:filled@example.com', value: keys.filled },
      { name: 'blocked', owner: 'user:blocked@example.com', value: keys.blocked },
    ],
  };
}

const { ask } = rehearsal(config);

const json = { 'content-type': 'application/json' };

const embed = (replay: Replay, over: Partial<Ask> = {}): Promise<Answer> =>
  ask(replay, { model: 'up', stream: false, family: 'embeddings', ...over });

/** `usage` as JSON text. */
const vectors = (usage = '{"prompt_tokens":8,"total_tokens":8}'): Replay => ({
  headers: json,
  body: `{"object":"list", "data":[{"object":"embedding","index":0,"embedding":[0.10, -1e-7]}],"model":"m","usage":${usage},"n":9007199254740993}\n`,
});

const tokens = (prompt: number) => ({
  prompt_tokens: prompt,
  completion_tokens: 0,
  total_tokens: prompt,
});

const expectNothingSent = ({ after, upstream }: Answer): void => {
  expect(upstream).toBeUndefined();
  expect([...after.attempts, ...after.ledger]).toEqual([]);
};

describe('embeddings on compat routes, without transforms', () => {
  it.each<[string, string]>([
    ['a string', '"input":"Gr\\u00fc\\u00dfe"'],
    ['an empty string', '"input":""'],
    ['strings, one of them empty', '"input":["a","",  "b"]'],
    ['tokens', '"input":[1, 2, 9007199254740993]'],
    ['arrays of tokens', '"input":[[1],[2]]'],
    ['encoding_format: base64', '"encoding_format":"base64","input":"Hi"'],
    ['encoding_format: float', '"encoding_format":"float","input":"Hi"'],
    [
      'unknown members',
      '"dimensions":256,"input_type":"query","x":{"y":1,"y":2},"t":0.10,"stream":false,"tools":[]',
    ],
  ])('the request body goes upstream byte for byte: %s', async (_, more) => {
    const answer = await embed(vectors(), { more });
    expect(answer.upstream?.path).toBe('/v1/embeddings');
    expect(answer.upstream?.headers.accept).toBe('application/json');
    expect(answer.upstream?.text).toBe(answer.sent);
    expectSuccessRows(answer, tokens(8));
  });

  it('the model is replaced with the upstream model, and `extra_body` is merged last', async () => {
    const { sent, upstream } = await embed(vectors(), {
      model: 'renamed',
      more: '"input":"Hi","dimensions":1536',
    });
    expect(upstream?.text).toBe(sent.replace('"renamed"', '"the/upstream-model"').replace('1536', '256'));
  });

  it.each<[string, string]>([
    ['float vectors, every digit', vectors().body as string],
    [
      'base64 vectors',
      '{"object":"list","data":[{"index":0,"embedding":"AACAPw=="}],"usage":{"total_tokens":8}}',
    ],
    ['characters beyond ASCII', '{"data":[],"model":"Grüße 😀","usage":{"total_tokens":8}}'],
  ])('the upstream’s answer is returned byte for byte: %s', async (_, body) => {
    const answer = await embed({ headers: json, body, cuts: { kind: 'bytes' } });
    expect(answer.bytes.toString()).toBe(body);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expectSuccessRows(answer, tokens(8));
  });
});

describe('the usage of embeddings', () => {
  it.each<[string, string, object | undefined]>([
    ['prompt and total', '{"prompt_tokens":8,"total_tokens":8}', tokens(8)],
    ['prompt_tokens missing: the total', '{"total_tokens":9}', tokens(9)],
    ['total_tokens missing: the prompt', '{"prompt_tokens":7}', tokens(7)],
    ['neither: usage_missing', '{}', undefined],
    ['null: usage_missing', 'null', undefined],
    ['counts that cannot be used: usage_missing', '{"prompt_tokens":-8,"total_tokens":8}', undefined],
    ['a fraction: usage_missing', '{"total_tokens":8.5}', undefined],
  ])('%s', async (_, usage, expected) => {
    expectSuccessRows(await embed(vectors(usage)), expected);
  });

  it('is on a log row with the operation and null tool counts, since embeddings have no tools', async () => {
    const { after } = await embed(vectors(), { more: '"input":"Hi","tools":[{"type":"function"}]' });
    expect(after.logs).toMatchObject([
      {
        exposed_tool_count: null,
        invoked_tool_count: null,
        prompt_tokens: '8',
        completion_tokens: '0',
        total_tokens: '8',
        metadata_json: { operation: 'embeddings', stream: false },
      },
    ]);
  });
});

describe('errors of embeddings', () => {
  it.each<[string, string, string]>([
    ['an empty model', '"model":""', 'model'],
    ['an empty array', '"input":[]', 'input'],
    ['an object', '"input":{"text":"Hi"}', 'input'],
    ['null', '"input":null', 'input'],
    ['a repeated key', '"input":"a","\\u0069nput":"b"', 'input'],
  ])('name the field: %s', async (_, more, param) => {
    const answer = await embed(vectors(), { more });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.bytes.toString())).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param, code: 'invalid_request' },
    });
    expectNothingSent(answer);
    expect(answer.after.logs).toMatchObject([
      { status_code: 400, metadata_json: { operation: 'embeddings' } },
    ]);
  });

  it('are 400 for a model with `embeddings: false`', async () => {
    const answer = await embed(vectors(), { model: 'no-embeddings' });
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({
      error: { code: 'invalid_request', param: 'model', message: expect.stringContaining('`embeddings`') },
    });
    expectNothingSent(answer);
    expectSuccessRows(await embed(vectors(), { model: 'only-embeddings' }), tokens(8));
  });

  it.each([
    [400, 400],
    [401, 502],
    [403, 502],
    [404, 404],
    [413, 413],
    [422, 422],
    [429, 429],
    [500, 502],
    [503, 503],
    [529, 503],
  ])('from an upstream with %i are %i, with its retry headers and no others', async (status, told) => {
    const headers = { ...json, 'retry-after': '17', 'retry-after-ms': '17000', 'set-cookie': 'a=b' };
    const answer = await embed({ status, headers, body: '{"error":{"message":"Slow down."}}' });
    expectRefusal(answer, {
      status: told,
      message: 'Slow down.',
      attempt: 'provider_error',
      upstreamStatus: status,
    });
    expect(answer.headers.get('retry-after')).toBe('17');
    expect(answer.headers.get('retry-after-ms')).toBe('17000');
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it.each<[string, Replay, RegExp]>([
    ['an error body', { headers: json, body: '{"error":{"message":"No."},"data":[]}' }, /^No\.$/],
    ['a chat completion', { headers: json, body: '{"choices":[]}' }, /without `data`/],
    ['HTML', { headers: { 'content-type': 'text/html' }, body: '<html>' }, /not a JSON object/],
    [
      'a stream',
      { headers: { 'content-type': 'text/event-stream' }, body: 'data: {}\n\n' },
      /not a JSON object/,
    ],
  ])('are 502 for an upstream’s 200 with the wrong body: %s', async (_, replay, message) => {
    expectRefusal(await embed(replay), {
      status: 502,
      message,
      attempt: 'provider_error',
      upstreamStatus: 200,
    });
  });
});

describe('budgets for embeddings', () => {
  const costing = vectors('{"prompt_tokens":2000,"total_tokens":2000}');

  it('refuse an owner at the amount with 429, without an upstream call', async () => {
    const key = keys.filled;
    expectSuccessRows(await embed(costing, { key }), tokens(2000));
    const answer = await embed(vectors(), { key });
    expect(answer.status).toBe(429);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { code: 'budget_exceeded' } });
    expectNothingSent(answer);
  });

  it('block a cost that would exceed the amount: 429 instead of the vectors, and no ledger row', async () => {
    const { status, bytes, after, upstream } = await embed(costing, { key: keys.blocked });
    expect([status, after.ledger]).toEqual([429, []]);
    expect(upstream).toBeDefined();
    expect(JSON.parse(bytes.toString())).toMatchObject({ error: { code: 'budget_exceeded' } });
    expect(after.logs).toMatchObject([
      { error_code: 'budget_exceeded', metadata_json: { accounting: { blocked_cost_usd: '0.0003' } } },
    ]);
  });
});
