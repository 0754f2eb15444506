import { describe, expect, it } from '@jest/globals';
import { expectRefusal, expectSuccessRows } from '../recordings/expectations.ts';
import type { UsageFacts } from '../recordings/library.ts';
import { readResponses } from '../recordings/received-responses.ts';
import { listOf, type Loose } from '../recordings/received.ts';
import {
  keys,
  json,
  usage,
  tokens,
  responseOf,
  answered,
  event,
  created,
  delta,
  completed,
  quota,
  done,
  expectNothingSent,
  passed,
  responsesScene,
  type Over,
} from './responses-scene.ts';

const { whole, streamed } = responsesScene();

describe('the upstream request', () => {
  const agentTurn = `"input":[
      {"type":"message","role":"developer","id":"msg_8b0f0a3e-3c39-4f43-a0d4-1d7a3b9a1c11","content":[{"type":"input_text","text":"Be brief."}]},
      {"type":"function_call","id":"fc_1","call_id":"call_1","name":"shell","arguments":"{}"},
      {"type":"function_call_output","id":"fco_1","call_id":"call_1","output":"9007199254740993"},
      {"type":"item_reference","id":"any id at all"}, {"type":"vendor_item","n":9007199254740993,"m":0.10},
      {"role":"user","content":"Gr\\u00fc\\u00dfe"}],
    "tools":[{"type":"function","name":"shell","strict":false,"parameters":{}},{"type":"namespace","name":"mcp","tools":[{},{}]},
      {"type":"web_search","external_web_access":false}], "tool_choice":"auto", "parallel_tool_calls":true,
    "store":false, "include":["reasoning.encrypted_content"], "prompt_cache_key":"k", "client_metadata":{"a":{"b":1,"b":2}},
    "reasoning":{"summary":"auto"}, "seed":18446744073709551617, "top_p":1.0`;

  it('has the body of an agent’s turn byte for byte: unknown members, item and tool types, every digit', async () => {
    for (const answer of [
      await streamed(created + completed, { more: agentTurn }),
      await whole(answered(), { more: agentTurn }),
    ]) {
      expect(answer.status).toBe(200);
      expect(answer.upstream?.path).toBe('/v1/responses');
      expect(answer.upstream?.text).toBe(answer.sent);
      expect(answer.after.logs).toMatchObject([{ exposed_tool_count: 3, invoked_tool_count: 0 }]);
    }
  });

  it('has the upstream’s name of the model', async () => {
    const { sent, upstream: seen } = await whole(answered(), { model: 'renamed', more: agentTurn });
    expect(seen?.text).toBe(sent.replace('"model":"renamed"', '"model":"the/upstream-model"'));
  });

  it('has foreign ids replaced, the same for a call and its output and in each request, and nothing else changed', async () => {
    const callId = `toolu|${'x'.repeat(80)}`;
    const input = [
      { type: 'reasoning', id: '4b1c3c1e-0b1f-4b62-9d53-0a9c6c2b7a10', summary: [], encrypted_content: 'e' },
      {
        type: 'function_call',
        id: 'fc_tmp_1',
        call_id: callId,
        name: 'f',
        arguments: '{"n":9007199254740993}',
      },
      { type: 'function_call_output', call_id: callId, output: '1' },
      { type: 'item_reference', id: callId },
    ];
    const { upstream: seen } = await whole(answered(), { more: `"input":${JSON.stringify(input)}` });
    const [reasoning, call, output, reference] = listOf(seen?.body['input']);
    expect(reasoning).toEqual({ ...input[0], id: expect.stringMatching(/^rs_[\w-]{43}$/) });
    expect(call).toEqual({ ...input[1], call_id: expect.stringMatching(/^call_[\w-]{43}$/) });
    expect(output).toEqual({ ...input[2], call_id: call?.['call_id'] });
    expect(reference).toEqual(input[3]);
    const again = await whole(answered(), { more: `"input":${JSON.stringify(input)}` });
    expect(again.upstream?.body['input']).toEqual(seen?.body['input']);
  });

  it('has empty tools omitted if the route configures it, and no other shim', async () => {
    const more = '"tools":[],"tool_choice":"auto","store":true';
    const omitted = await whole(answered(), { model: 'omit', more });
    expect(Object.keys(omitted.upstream?.body ?? {})).toEqual(['model', 'stream', 'user', 'input', 'store']);
    const kept = await whole(answered(), { more });
    expect(kept.upstream?.text).toBe(kept.sent);
    const history = '"tools":[],"tool_choice":"none","input":[{"type":"function_call","call_id":"c"}]';
    const withHistory = await whole(answered(), { model: 'history', more: history });
    expect(withHistory.upstream?.body).toMatchObject({ tools: [], tool_choice: 'none' });
  });

  it('has extra_body as the final override', async () => {
    const more = '"text":{"format":{"type":"text"}},"store":true';
    const { upstream: seen } = await whole(answered(), { model: 'adapted', more });
    expect(seen?.body).toMatchObject({ text: { format: { type: 'text' }, verbosity: 'low' }, store: false });
  });
});

describe('an invalid request', () => {
  it.each<[string, string, string]>([
    ['an empty model', '"model":""', 'model'],
    ['input that is an object', '"input":{}', 'input'],
    ['an item that is a string', '"input":["Hi"]', 'input'],
    ['stream that is a string', '"stream":"yes"', 'stream'],
    ['tools that are an object', '"tools":{}', 'tools'],
    [
      'a key that is repeated in an item',
      '"input":[{},{"type":"message","id":"a","\\u0069d":"b"}]',
      'input[1].id',
    ],
    ['a key that is repeated in a tool', '"tools":[{"type":"a","type":"b"}]', 'tools[0].type'],
    ['a key that is repeated at the top', '"store":true,"store":false', 'store'],
  ])('is refused with 400 and names the field: %s', async (_, more, param) => {
    const answer = await whole(answered(), { more });
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.bytes.toString())).toEqual({
      error: { message: expect.any(String), type: 'invalid_request_error', param, code: 'invalid_request' },
    });
    expectNothingSent(answer);
    expect(answer.after.logs).toMatchObject([
      { status_code: 400, error_code: 'invalid_request', metadata_json: { operation: 'responses' } },
    ]);
  });

  it.each<[string, string, Over, string]>([
    ['a model that is unknown', 'model_not_found', { model: 'nobody' }, 'model'],
    [
      'a choice that needs a tool, without tools',
      'invalid_request',
      { model: 'omit', more: '"tools":[],"tool_choice":"required"' },
      'tool_choice',
    ],
  ])('is refused and names the field: %s', async (_, code, over, param) => {
    const answer = await whole(answered(), over);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { code, param } });
    expectNothingSent(answer);
  });
});

describe('a capability mismatch', () => {
  const image =
    '"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]';
  const toolImage =
    '"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image"}]}]';
  const schema = '"text":{"format":{"type":"json_schema","name":"n","schema":{}}}';

  it.each<[string, Over, string]>([
    ['responses: false', { model: 'no-responses' }, 'model'],
    ['stream: false', { model: 'no-stream', stream: true }, 'stream'],
    ['tools: false', { model: 'no-tools', more: '"tools":[{"type":"web_search"}]' }, 'tools'],
    ['vision: false', { model: 'no-vision', more: image }, 'input[0].content[0]'],
    [
      'vision: false, for an image that a tool returned',
      { model: 'no-vision', more: toolImage },
      'input[0].output[0]',
    ],
    ['json_schema: false', { model: 'no-json-schema', more: schema }, 'text.format'],
  ])('is rejected locally and names the field that needs the capability: %s', async (_, over, param) => {
    const answer = await whole(answered(), over);
    expect(answer.status).toBe(400);
    const { error } = JSON.parse(answer.bytes.toString()) as { error: Loose };
    expect(error).toMatchObject({ code: 'invalid_request', param });
    expect(error['message']).toContain(`\`${String(over.model).slice(3).replace('-', '_')}\``);
    expectNothingSent(answer);
  });

  it.each<[string, Over]>([
    ['vision: false', { model: 'no-vision' }],
    ['tools: false, with empty tools', { model: 'no-tools', more: '"tools":[]' }],
    ['stream: false, without a stream', { model: 'no-stream' }],
  ])('is not reported if the request does not need the capability: %s', async (_, over) => {
    expectSuccessRows(await whole(answered(), over), tokens);
  });
});

describe('a non-streamed response', () => {
  it.each<[string, Loose]>([
    ['completed', responseOf('completed', { usage })],
    ['incomplete', responseOf('incomplete', { usage, incomplete_details: { reason: 'max_output_tokens' } })],
    [
      'a refusal',
      responseOf('completed', { usage, output: [{ type: 'message', content: [{ type: 'refusal' }] }] }),
    ],
    ['an unknown status', responseOf('complete', { usage })],
  ])('is returned unchanged: %s', async (_, response) => {
    const body = `${JSON.stringify(response).slice(0, -1)}, "n":9007199254740993, "x" : [ 1.50 ] }\n`;
    const answer = await whole({ headers: json, body });
    expect(answer.bytes.toString()).toBe(body);
    expectSuccessRows(answer, tokens);
    expect(answer.after.logs).toMatchObject([{ metadata_json: { operation: 'responses', stream: false } }]);
  });

  it.each<[string, Loose, string | RegExp, string?]>([
    ['failed', responseOf('failed', { error: quota, usage }), quota.message, quota.code],
    ['cancelled', responseOf('cancelled', { usage }), /reported an error/],
    ['an error body under status 200', { error: quota }, quota.message, quota.code],
    ['a chat completion', { object: 'chat.completion', choices: [] }, /without `output`/],
  ])('becomes a 502: %s', async (_, response, message, code = 'upstream_error') => {
    const answer = await whole({ headers: json, body: JSON.stringify(response) });
    expectRefusal(answer, {
      status: 502,
      message,
      attempt: 'provider_error',
      upstreamStatus: 200,
      labels: { code },
    });
  });

  it('has the calls of its output counted, for every kind of tool', async () => {
    const output = ['reasoning', 'function_call', 'web_search_call', 'mcp_call', 'mcp_list_tools', 'message'];
    const answer = await whole(answered({ output: output.map((type) => ({ type })) }));
    expect(answer.after.logs).toMatchObject([{ exposed_tool_count: 0, invoked_tool_count: 3 }]);
  });

  it.each<[string, object, UsageFacts | undefined]>([
    ['no usage', { usage: undefined }, undefined],
    ['usage of null', { usage: null }, undefined],
    ['invalid counts', { usage: { input_tokens: -1, output_tokens: 2 } }, undefined],
    [
      'no total',
      { usage: { input_tokens: 3, output_tokens: 4 } },
      { prompt_tokens: 3, completion_tokens: 4 },
    ],
    [
      'a total above the sum',
      { usage: { input_tokens: 12, output_tokens: 2, total_tokens: 354 } },
      { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354 },
    ],
  ])('has a ledger row with its usage: %s', async (_, more, facts) => {
    expectSuccessRows(await whole(answered(more)), facts);
  });
});

describe('a refusal of the upstream', () => {
  it.each([
    [400, 400],
    [401, 502],
    [403, 502],
    [404, 404],
    [409, 502],
    [413, 413],
    [422, 422],
    [429, 429],
    [500, 502],
    [503, 503],
    [529, 503],
  ])(
    'with %i returns %i to the client, streamed or not, with the retry and rate limit headers',
    async (status, told) => {
      const headers = {
        ...json,
        'retry-after': '17',
        'x-ratelimit-reset': '1s',
        'openai-organization': 'acme',
      };
      for (const stream of [false, true]) {
        const body = JSON.stringify({ error: { ...quota, type: 't', param: 'p' } });
        const answer = await whole({ status, headers, body }, { stream });
        expectRefusal(answer, {
          status: told,
          message: quota.message,
          attempt: stream ? 'stream_start_error' : 'provider_error',
          upstreamStatus: status,
          labels: { code: quota.code, param: 'p' },
        });
        expect(answer.headers.get('x-should-retry')).toBe([400, 404, 413].includes(told) ? 'false' : null);
        expect(answer.headers.get('retry-after')).toBe('17');
        expect(answer.headers.get('x-ratelimit-reset')).toBe('1s');
        expect(answer.headers.get('openai-organization')).toBeNull();
      }
    },
  );

  it('with a non-streamed response to a streamed request is a 502', async () => {
    const answer = await whole(answered(), { stream: true });
    expectRefusal(answer, { status: 502, attempt: 'stream_start_error', upstreamStatus: 200 });
  });
});

const budgetError = { type: 'insufficient_quota', param: null, code: 'budget_exceeded' };

describe('budgets', () => {
  const costing = { usage: { input_tokens: 2000, output_tokens: 0, total_tokens: 2000 } };

  it('refuse an owner at the amount before the provider, streamed or not', async () => {
    const key = keys.filled;
    expect((await whole(answered(costing), { key })).status).toBe(200);
    for (const answer of [
      await whole(answered(), { key }),
      await streamed(created + completed, { key }),
      await whole(answered(), { key: keys.nothing }),
    ]) {
      expect(answer.status).toBe(429);
      expect(JSON.parse(answer.bytes.toString())).toEqual({
        error: { message: expect.stringContaining('daily budget'), ...budgetError },
      });
      expect(answer.headers.get('x-should-retry')).toBe('false');
      expectNothingSent(answer);
      expect(answer.after.outcomes).toMatchObject([{ outcome: 'budget_error', status: 429 }]);
    }
  });

  it('return 429 instead of a non-streamed response if its cost would exceed the amount', async () => {
    const answer = await whole(answered(costing), { key: keys.blocked });
    expect([answer.status, answer.after.ledger]).toEqual([429, []]);
    expect(answer.after.logs).toMatchObject([
      { error_code: 'budget_exceeded', metadata_json: { accounting: { blocked_cost_usd: '0.0003' } } },
    ]);
  });

  it.each([
    ['response.completed', 'completed', ''],
    ['response.incomplete and [DONE]', 'incomplete', done],
    ['response.completed and an event after it', 'completed', delta],
  ])(
    'send an error event and response.failed in a stream instead of %s, and no [DONE]',
    async (_, status, rest) => {
      const terminal = event(`response.${status}`, { response: responseOf(status, costing) });
      const answer = await streamed(created + delta + terminal + rest, { key: keys.blocked });
      const received = readResponses(answer.bytes);
      expect(received.chunks.map((chunk) => chunk['type'])).toEqual([
        'response.created',
        'response.output_text.delta',
        'error',
        'response.failed',
      ]);
      expect(passed(answer).startsWith(`${created + delta}event: error\n`)).toBe(true);
      expect(passed(answer)).toContain('\n\nevent: response.failed\n');
      const message = expect.stringContaining('daily budget');
      expect(received.chunks.at(-2)).toEqual({
        type: 'error',
        sequence_number: 2,
        code: 'budget_exceeded',
        message,
        param: null,
        error: { message, ...budgetError },
      });
      expect(received.chunks.at(-1)).toEqual({
        type: 'response.failed',
        sequence_number: 3,
        response: expect.objectContaining({
          id: 'resp_1',
          object: 'response',
          status: 'failed',
          error: { code: 'insufficient_quota', message },
        }),
      });
      expect(received.dones).toBe(0);
      expect(answer.after.ledger).toEqual([]);
      expect(answer.after.logs).toMatchObject([
        {
          status_code: 429,
          error_code: 'budget_exceeded',
          metadata_json: { accounting: { blocked_cost_usd: '0.0003' } },
        },
      ]);
      expect(answer.after.outcomes).toMatchObject([{ outcome: 'budget_error' }]);
    },
  );
});
