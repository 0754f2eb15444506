import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import {
  expectErrorEvent,
  expectFailedStream,
  expectRefusal,
  expectStreamFailure,
  expectStreamSuccess,
  expectSuccessRows,
} from '../recordings/expectations.ts';
import type { UsageFacts } from '../recordings/library.ts';
import { listOf, type Loose } from '../recordings/received.ts';
import { readResponses } from '../recordings/received-responses.ts';
import { type Answer, type Ask, rehearsal, replayConfig } from '../recordings/rehearsal.ts';
import { aKey, type ConfigFile } from '../support/gateway.ts';
import type { Replay } from '../support/replay-upstream.ts';
import { whenOver } from './traces.ts';

/** A credential of the provider; upstreams quote such things in their error messages. */
const upstreamToken = 'upstream-token-0123456789';

const keys = { filled: aKey(), blocked: aKey(), nothing: aKey() };

const routed = (id: string, route: object) => ({
  id,
  routes: [{ provider: 'up', upstream_model: 'up', ...route }],
});
const without = (capability: string) =>
  routed(`no-${capability.replace('_', '-')}`, { capabilities: { [capability]: false } });

function config(url: string, key: string): ConfigFile {
  const base = replayConfig(url, key, ['up'], { auth: { mode: 'bearer', token: upstreamToken } });
  const owners = Object.keys(keys) as (keyof typeof keys)[];
  // 1000 input tokens cost 0.00015 USD: one and a half units of `amount_10000`.
  const amounts = { filled: 3, blocked: 1, nothing: 0 };
  return {
    ...base,
    models: [
      ...(base['models'] as object[]),
      ...['responses', 'stream', 'tools', 'vision', 'json_schema'].map(without),
      routed('renamed', { upstream_model: 'the/upstream-model' }),
      routed('omit', { compatibility: { compat: { empty_tools: 'omit', supports_store: false } } }),
      routed('history', { compatibility: { compat: { empty_tools: 'preserve_with_tool_history' } } }),
      routed('adapted', { extra_body: { text: { verbosity: 'low' }, store: false } }),
    ],
    users: [
      ...(base['users'] as object[]),
      ...owners.map((owner) => ({
        email: `${owner}@example.com`,
        budget: { cadence: 'daily', amount_10000: amounts[owner], hard_limit: true },
      })),
    ],
    api_keys: [
      ...(base['api_keys'] as object[]),
      ...owners.map((owner) => ({ name: owner, owner: `user:${owner}@example.com`, value: keys[owner] })),
    ],
  };
}

const { ask, open, traceOf, query, upstream, gateway } = rehearsal(config);

const json = { 'content-type': 'application/json' };
const sse = { 'content-type': 'text/event-stream; charset=utf-8' };

type Over = Partial<Ask>;
const whole = (replay: Replay, over: Over = {}): Promise<Answer> =>
  ask(replay, { model: 'up', stream: false, family: 'responses', ...over });
const streamed = (body: string, over: Over = {}, replay: Partial<Replay> = {}): Promise<Answer> =>
  ask({ headers: sse, body, ...replay }, { model: 'up', stream: true, family: 'responses', ...over });

const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 };
const tokens: UsageFacts = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 };

const responseOf = (status: string, more: object = {}): Loose => ({
  id: 'resp_1',
  object: 'response',
  status,
  output: [],
  ...more,
});
const answered = (more: object = {}): Replay => ({
  headers: json,
  body: JSON.stringify(responseOf('completed', { usage, ...more })),
});

/** An event as most upstreams send it. */
const event = (type: string, payload: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...payload })}\n\n`;

const created = event('response.created', { sequence_number: 0, response: responseOf('in_progress') });
const delta = event('response.output_text.delta', { sequence_number: 1, delta: 'Grüße 😀' });
const completed = event('response.completed', { response: responseOf('completed', { usage }) });
const incomplete = event('response.incomplete', {
  response: responseOf('incomplete', { usage, incomplete_details: { reason: 'max_output_tokens' } }),
});
const quota = { code: 'insufficient_quota', message: 'You exceeded your quota.' };
const errorEvent = event('error', { sequence_number: 2, ...quota, param: null });
const failedEvent = event('response.failed', { response: responseOf('failed', { error: quota }) });
const done = 'data: [DONE]\n\n';

const expectNothingSent = ({ after, upstream: seen }: Answer): void => {
  expect(seen).toBeUndefined();
  expect([...after.attempts, ...after.ledger]).toEqual([]);
};

describe('what goes upstream', () => {
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

  it('is an agent’s turn, byte for byte: unknown members, item and tool types, every digit', async () => {
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

  it('carries the upstream’s name of the model', async () => {
    const { sent, upstream: seen } = await whole(answered(), { model: 'renamed', more: agentTurn });
    expect(seen?.text).toBe(sent.replace('"model":"renamed"', '"model":"the/upstream-model"'));
  });

  it('has replayed foreign ids bounded, alike on both sides of a pair, and nothing else changed', async () => {
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

  it('has empty tools omitted where the route says so, and no other shim', async () => {
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

describe('errors name fields', () => {
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
  ])('%s', async (_, more, param) => {
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
  ])('%s', async (_, code, over, param) => {
    const answer = await whole(answered(), over);
    expect(JSON.parse(answer.bytes.toString())).toMatchObject({ error: { code, param } });
    expectNothingSent(answer);
  });
});

describe('a capability mismatch is rejected locally and names what asks for it', () => {
  const image =
    '"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]';
  const toolImage =
    '"input":[{"type":"function_call_output","call_id":"c","output":[{"type":"input_image"}]}]';
  const schema = '"text":{"format":{"type":"json_schema","name":"n","schema":{}}}';

  it.each<[string, Over, string]>([
    ['responses: false', { model: 'no-responses' }, 'model'],
    ['stream: false', { model: 'no-stream', stream: true }, 'stream'],
    ['tools: false', { model: 'no-tools', more: '"tools":[{"type":"web_search"}]' }, 'tools'],
    ['vision: false', { model: 'no-vision', more: image }, 'input'],
    ['vision: false, for an image that a tool gave back', { model: 'no-vision', more: toolImage }, 'input'],
    ['json_schema: false', { model: 'no-json-schema', more: schema }, 'text.format'],
  ])('%s', async (_, over, param) => {
    const answer = await whole(answered(), over);
    expect(answer.status).toBe(400);
    const { error } = JSON.parse(answer.bytes.toString()) as { error: Loose };
    expect(error).toMatchObject({ code: 'invalid_request', param });
    expect(error['message']).toContain(`\`${String(over.model).slice(3).replace('-', '_')}\``);
    expectNothingSent(answer);
  });

  it.each<[string, Over]>([
    ['responses without vision', { model: 'no-vision' }],
    ['responses without tools, with empty ones', { model: 'no-tools', more: '"tools":[]' }],
    ['whole responses without stream', { model: 'no-stream' }],
  ])('what the request does not need is not missed: %s', async (_, over) => {
    expectSuccessRows(await whole(answered(), over), tokens);
  });
});

describe('a whole response', () => {
  it.each<[string, Loose]>([
    ['completed', responseOf('completed', { usage })],
    ['incomplete', responseOf('incomplete', { usage, incomplete_details: { reason: 'max_output_tokens' } })],
    [
      'a refusal',
      responseOf('completed', { usage, output: [{ type: 'message', content: [{ type: 'refusal' }] }] }),
    ],
    ['of a status that nobody knows', responseOf('complete', { usage })],
  ])('comes out as it went in: %s', async (_, response) => {
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
  ])('is a 502: %s', async (_, response, message, code = 'upstream_error') => {
    const answer = await whole({ headers: json, body: JSON.stringify(response) });
    expectRefusal(answer, {
      status: 502,
      message,
      attempt: 'provider_error',
      upstreamStatus: 200,
      labels: { code },
    });
  });

  it('counts the calls of its output, of whatever tool', async () => {
    const output = ['reasoning', 'function_call', 'web_search_call', 'mcp_call', 'mcp_list_tools', 'message'];
    const answer = await whole(answered({ output: output.map((type) => ({ type })) }));
    expect(answer.after.logs).toMatchObject([{ exposed_tool_count: 0, invoked_tool_count: 3 }]);
  });

  it.each<[string, object, UsageFacts | undefined]>([
    ['no usage', { usage: undefined }, undefined],
    ['usage of null', { usage: null }, undefined],
    ['counts that cannot be used', { usage: { input_tokens: -1, output_tokens: 2 } }, undefined],
    [
      'no total',
      { usage: { input_tokens: 3, output_tokens: 4 } },
      { prompt_tokens: 3, completion_tokens: 4 },
    ],
    [
      'a total with more in it',
      { usage: { input_tokens: 12, output_tokens: 2, total_tokens: 354 } },
      { prompt_tokens: 12, completion_tokens: 2, total_tokens: 354 },
    ],
  ])('its usage makes its ledger row: %s', async (_, more, facts) => {
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
    'with %i gives its caller %i, whole or streamed, with what it says of trying again',
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

  it('a whole answer to a streamed request is a 502', async () => {
    const answer = await whole(answered(), { stream: true });
    expectRefusal(answer, { status: 502, attempt: 'stream_start_error', upstreamStatus: 200 });
  });
});

const passed = (answer: Answer): string => answer.bytes.toString();

describe('a stream that succeeds: its events as they came, and one [DONE]', () => {
  const refusal =
    event('response.refusal.delta', { delta: 'I cannot' }) +
    event('response.refusal.done', { refusal: 'I cannot.' });
  const unnamed = (block: string): string => block.replace(/^event: .*\n/gm, '');
  const dataFirst = (block: string): string => block.replaceAll(/^(event: .*)\n(data: .*)\n/gm, '$2\n$1\n');
  const cost = event('vendor.cost', { usd: 0.1 });

  it.each<[string, string, string]>([
    ['response.completed', created + delta + completed, ''],
    ['response.incomplete', created + delta + incomplete, ''],
    ['a refusal', created + refusal + completed, ''],
    ['a response that waits its turn', event('response.queued') + created + completed, ''],
    ['no names', unnamed(created + delta + completed), ''],
    ['names behind the data', dataFirst(created + delta + completed), ''],
    ['CRLF', (created + delta + completed).replaceAll('\n', '\r\n'), ''],
    ['no sequence numbers', event('response.created') + completed, ''],
    [
      'a status that nobody knows',
      created + event('response.completed', { response: responseOf('complete', { usage }) }),
      '',
    ],
    ['events of types that nobody knows', created + event('vendor.news', { n: 1 }) + completed, ''],
    ['events after the terminal', created + completed + delta + cost, ''],
    ['two answers in one', created + completed + created + delta + completed, ''],
    ['the upstream’s own [DONE]', created + completed, done],
    ['[DONE] twice', created + completed, done + done],
    ['[DONE] under a name', created + completed, `event: done\n${done}`],
    ['events after [DONE]', created + completed, done + created + errorEvent],
    ['a last event that is cut', created + completed, errorEvent.slice(0, -1)],
    ['comments after it', created + completed, ': bye\n\n'],
  ])('%s', async (_, events, rest) => {
    const answer = await streamed(events + rest, {}, { cuts: { kind: 'random', seed: events.length } });
    expect(passed(answer)).toBe(events + done);
    expectStreamSuccess(answer, readResponses(answer.bytes), tokens);
    expect(answer.after.logs).toMatchObject([{ metadata_json: { operation: 'responses', stream: true } }]);
  });

  it('comments before and between its events are left out', async () => {
    const answer = await streamed(`: hello\n\n${created}: \n\n: \n\n${completed}`);
    expect(passed(answer)).toBe(created + completed + done);
  });

  it('counts the calls of its items once each', async () => {
    const item = (index: number, type: string): string =>
      ['added', 'done']
        .map((word) =>
          event(`response.output_item.${word}`, { output_index: index, item: { type, id: `i_${index}` } }),
        )
        .join('');
    const items = ['reasoning', 'function_call', 'web_search_call', 'message'].map((type, index) =>
      item(index, type),
    );
    const answer = await streamed(created + items.join('') + completed, {
      more: '"tools":[{"type":"namespace","tools":[{},{}]},{"type":"web_search"}]',
    });
    expect(answer.after.logs).toMatchObject([{ exposed_tool_count: 2, invoked_tool_count: 2 }]);
  });

  it.each<[string, string]>([
    [
      'of null',
      created + event('response.completed', { response: responseOf('completed', { usage: null }) }),
    ],
    ['that is missing', created + event('response.completed', { response: responseOf('completed') })],
    ['outside of the response', created + event('response.completed', { response: {}, usage })],
  ])('usage %s is usage_missing', async (_, body) => {
    const answer = await streamed(body);
    expectStreamSuccess(answer, readResponses(answer.bytes), undefined);
  });

  it.each([
    ['a terminal', created + completed, created + completed + done],
    ['a terminal and more', created + completed + cost, created + completed + cost + done],
    ['a failure of its own', created + errorEvent, created + errorEvent],
  ])(
    'after %s an upstream that holds its connection open is waited for about a second',
    async (_, body, out) => {
      const startedAt = Date.now();
      const answer = await streamed(body, {}, { ending: { kind: 'hang' } });
      const tookMs = Date.now() - startedAt;
      expect(passed(answer)).toBe(out);
      expect(tookMs).toBeGreaterThan(800);
      expect(tookMs).toBeLessThan(3000);
    },
  );

  it('what an upstream goes on sending after its terminal is bounded, and cut off', async () => {
    const aborted = upstream().aborted();
    const news = event('vendor.news', { text: 'x'.repeat(100_000) });
    const answer = await streamed(
      created + completed + news.repeat(100),
      {},
      { cuts: { kind: 'random', seed: 1 } },
    );
    const received = readResponses(answer.bytes);
    expectStreamSuccess(answer, received, tokens);
    expect(passed(answer).startsWith(created + completed + news)).toBe(true);
    expect(answer.bytes.length).toBeLessThan(3_000_000);
    expect(upstream().aborted()).toBe(aborted + 1);
  });
});

describe('a stream that fails: one error event of the gateway’s, and no [DONE]', () => {
  const of = (type: string, status: string): string =>
    event(type, { response: responseOf(status, { usage }) });
  const contradicts = /contradicts itself/;
  const premature = /before the answer was complete/;

  it.each<[string, string, string, RegExp]>([
    ['EOF before the terminal', created + delta, '', premature],
    ['nothing at all', '', '', premature],
    ['[DONE] before the terminal', created, done + completed, premature],
    ['[DONE] alone', '', done, premature],
    ['completed with the status incomplete', created, of('response.completed', 'incomplete'), contradicts],
    ['completed with the status failed', created, of('response.completed', 'failed') + done, contradicts],
    ['completed with the status cancelled', created, of('response.completed', 'cancelled'), contradicts],
    ['incomplete with the status completed', created, of('response.incomplete', 'completed'), contradicts],
    [
      'failed with the status completed',
      created,
      of('response.failed', 'completed') + completed,
      contradicts,
    ],
    ['in progress with the status failed', created, of('response.in_progress', 'failed'), contradicts],
    [
      'a name that is not the type',
      created,
      completed.replace('event: response.completed', 'event: response.created'),
      contradicts,
    ],
    ['a terminal without a response', created, event('response.completed') + done, contradicts],
    [
      'a terminal with an error inside',
      created,
      event('response.completed', { response: responseOf('completed', { error: quota }) }),
      contradicts,
    ],
    [
      'chat chunks',
      '',
      'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{}}]}\n\n' + done,
      /chat stream/,
    ],
    [
      'chat chunks without an object',
      created,
      'data: {"id":"c","choices":[{"index":0,"finish_reason":"stop"}]}\n\n',
      /chat stream/,
    ],
    ['an event that is no JSON', created, 'data: {"type":\n\n' + completed, /malformed/],
    [
      'an error that is no event',
      created,
      'data: {"error":{"message":"Overloaded.","code":529}}\n\n' + done,
      /^Overloaded\.$/,
    ],
    [
      'an error by name, of another type',
      created,
      'event: error\ndata: {"type":"x","message":"Gone."}\n\n',
      /^Gone\.$/,
    ],
    ['a malformed event after the terminal', created, completed + 'data: {"type":\n\n' + done, /malformed/],
    [
      'an error that is no event after the terminal',
      created,
      completed + 'data: {"error":"Overloaded."}\n\n',
      /^Overloaded\.$/,
    ],
  ])('%s', async (_, events, rest, message) => {
    const answer = await streamed(events + rest, {}, { cuts: { kind: 'random', seed: rest.length } });
    const received = readResponses(answer.bytes);
    expect(passed(answer).startsWith(events)).toBe(true);
    expect(received.events).toHaveLength(readResponses(Buffer.from(events)).events.length + 1);
    expectStreamFailure(answer, received, message, 502, expectErrorEvent);
    expect(received.events.at(-1)?.name).toBe('error');
  });

  it('its sequence number goes on from the last', async () => {
    const received = readResponses((await streamed(created + delta)).bytes);
    expect(received.errors).toMatchObject([{ sequence_number: 2 }]);
  });

  it('what was used is kept on the log row, and costs nothing', async () => {
    const { after } = await streamed(created + of('response.completed', 'failed'));
    expect(after.logs).toMatchObject([
      { prompt_tokens: '5', metadata_json: { accounting: { unbilled_cost_usd: '0.00000495' } } },
    ]);
    expect(after.ledger).toEqual([]);
  });
});

describe('the upstream’s own failure is forwarded as it came, counts as one, and the gateway adds none', () => {
  const cancelled = event('response.cancelled', { response: responseOf('cancelled') });

  it.each<[string, string]>([
    ['error, then response.failed', errorEvent + failedEvent],
    ['response.failed, then error', failedEvent + errorEvent],
    ['response.failed without an error before it', failedEvent],
    ['error alone', errorEvent],
    ['response.cancelled', cancelled],
    ['an unnamed error', errorEvent.replace('event: error\n', '')],
    ['an error by name alone', 'event: error\ndata: {"message":"m"}\n\n'],
    ['an error in an envelope', 'event: error\ndata: {"error":{"message":"m","code":500}}\n\n'],
    ['an error that is empty', 'event: error\ndata: {}\n\n'],
    [
      'an error with odd members',
      'event: error\ndata: {"type":"error","code":7,"message":null,"x":[1.50]}\n\n',
    ],
    ['CRLF', (errorEvent + failedEvent).replaceAll('\n', '\r\n')],
  ])('%s', async (_, failure) => {
    for (const rest of ['', done, completed]) {
      const answer = await streamed(created + delta + failure + rest);
      expect(passed(answer)).toBe(created + delta + failure);
      expectFailedStream(answer);
    }
  });

  it('after a terminal the caller gets the failure, and never the terminal', async () => {
    const answer = await streamed(created + completed + errorEvent + done);
    expect(passed(answer)).toBe(created + errorEvent);
    expectFailedStream(answer);
  });

  const said = `Key ${upstreamToken} may not read https://me:pw@files.example.com/a.png?sig=abc now`;
  const shown = 'Key [REDACTED] may not read https://files.example.com/a.png?[REDACTED] now';

  it.each<[string, string]>([
    ['in an error event', `{"type":"error","n":9007199254740993,"message":"${said}","m":1.50}`],
    ['in its envelope', `{"type":"error","error":{"message":"${said}","n":1.0}}`],
    ['in an error that is a text', `{"type":"error","error":"${said}"}`],
    [
      'in a failed response',
      `{"type":"response.failed","response":{"status":"failed","error":{"message":"${said}"},"n":1.0}}`,
    ],
    ['in its code', `{"type":"error","message":"m","code":"${said}"}`],
    ['in what it quotes of another', `{"type":"error","message":"m","error":{"metadata":{"raw":"${said}"}}}`],
  ])(
    'secrets in its words reach neither the caller nor the rows, and everything else stays: %s',
    async (_, payload) => {
      const { type } = JSON.parse(payload) as { type: string };
      const answer = await streamed(`${created}event: ${type}\ndata: ${payload}\n\n`);
      expect(passed(answer)).toBe(`${created}event: ${type}\ndata: ${payload.replace(said, shown)}\n\n`);
      expectFailedStream(answer);
      const kept = JSON.stringify(answer.after);
      for (const secret of [upstreamToken, 'sig=abc', 'me:pw']) expect(kept).not.toContain(secret);
    },
  );

  it.each([
    ['with a name and no type', 'event: error\ndata: {"message":"WORDS"}\n\n'],
    ['without a name', 'data: {"type":"error","message":"WORDS"}\n\n'],
    ['after a terminal', 'event: error\ndata: {"error":"WORDS","x":1.50}\n\n'],
  ])('an event whose words are written anew keeps its name, or has none: %s', async (title, block) => {
    const before = title === 'after a terminal' ? created + completed : created;
    const answer = await streamed(before + block.replace('WORDS', said));
    expect(passed(answer)).toBe(created + block.replace('WORDS', shown));
    expectFailedStream(answer);
  });

  it('what was used is kept on the log row, and costs nothing', async () => {
    const { after } = await streamed(event('response.failed', { response: responseOf('failed', { usage }) }));
    expect(after.logs).toMatchObject([
      { total_tokens: '12', metadata_json: { accounting: { unbilled_cost_usd: '0.00000495' } } },
    ]);
    expect(after.ledger).toEqual([]);
  });

  it('nor in an error that the gateway tells in its place', async () => {
    const answer = await streamed(`${created}data: {"error":{"message":"${said}"}}\n\n`);
    expectStreamFailure(answer, readResponses(answer.bytes), shown, 502, expectErrorEvent);
  });

  it('a code that is a secret, of the configuration or the caller’s own, is none', async () => {
    for (const code of [upstreamToken, keys.filled]) {
      const by = { key: keys.filled };
      const answer = await streamed(`${created}data: {"error":{"message":"m","code":"${code}"}}\n\n`, by);
      expectStreamFailure(answer, readResponses(answer.bytes), 'm', 502, expectErrorEvent);
      const body = JSON.stringify({ error: { message: 'm', code, param: `p.${code}` } });
      const refused = await whole({ status: 400, headers: json, body }, by);
      expectRefusal(refused, { status: 400, message: 'm', attempt: 'provider_error' });
      expect(JSON.stringify([answer.after, refused.after])).not.toContain(code);
    }
  });
});

const budgetError = { type: 'insufficient_quota', param: null, code: 'budget_exceeded' };

describe('budgets', () => {
  const costing = { usage: { input_tokens: 2000, output_tokens: 0, total_tokens: 2000 } };

  it('an owner at the amount is turned away before the provider, streamed or not', async () => {
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

  it('a cost that would go over the amount: 429 instead of the whole response', async () => {
    const answer = await whole(answered(costing), { key: keys.blocked });
    expect([answer.status, answer.after.ledger]).toEqual([429, []]);
    expect(answer.after.logs).toMatchObject([
      { error_code: 'budget_exceeded', metadata_json: { accounting: { blocked_cost_usd: '0.0003' } } },
    ]);
  });

  it.each([
    ['response.completed', 'completed', ''],
    ['response.incomplete', 'incomplete', done],
    ['response.completed', 'completed', delta],
  ])(
    'in a stream an error event and response.failed instead of %s, and no [DONE]',
    async (type, status, rest) => {
      const terminal = event(type, { response: responseOf(status, costing) });
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

describe('held back until the commit: the terminal event and [DONE]', () => {
  it.each([
    ['the terminal last', ''],
    ['another event behind it', delta],
    ['a second answer behind it', created + completed],
  ])('whoever received them is in the ledger: %s', async (_, rest) => {
    await query('begin');
    // Readers may pass, a new ledger row may not.
    await query('lock table usage_cost_events in share mode');
    const { requestId, response } = await open(
      { headers: sse, body: created + delta + completed + rest },
      { model: 'up', stream: true, family: 'responses' },
    );
    let text = '';
    const reading = (async () => {
      for await (const piece of response.body ?? [])
        text += Buffer.from(piece as Uint8Array).toString('latin1');
    })();
    const latin1 = (utf8: string): string => Buffer.from(utf8).toString('latin1');
    try {
      for (let tries = 0; tries < 100 && text.length < latin1(created + delta).length; tries += 1)
        await sleep(10);
      await sleep(250);
      expect(text).toBe(latin1(created + delta));
    } finally {
      await query('commit');
    }
    await reading;
    expect(text).toBe(latin1(created + delta + completed + rest + done));
    expect((await traceOf(requestId)).after.ledger).toHaveLength(1);
  });
});

describe('a caller that hangs up', () => {
  /** Reads until this text has come, and hangs up. */
  const leftAfter = async (text: string, replay: Replay): Promise<Answer['after']> => {
    const { requestId, response } = await open(replay, { model: 'up', stream: true, family: 'responses' });
    let seen = '';
    for await (const piece of response.body ?? []) {
      seen += Buffer.from(piece as Uint8Array).toString();
      if (seen.includes(text)) break;
    }
    await whenOver(gateway(), requestId);
    return (await traceOf(requestId)).after;
  };

  it('on the terminal event is a success, once', async () => {
    const after = await leftAfter('response.completed', { headers: sse, body: created + delta + completed });
    expect(after.outcomes).toMatchObject([{ outcome: 'success', status: 200 }]);
    expect(after.logs).toMatchObject([{ status_code: 200 }]);
    expect(after.ledger).toMatchObject([{ pricing_status: 'priced', total_tokens: '12' }]);
  });

  it('in the middle is logged with 499, and its usage is missing', async () => {
    const after = await leftAfter('response.output_text.delta', {
      headers: sse,
      body: created + delta,
      ending: { kind: 'hang' },
    });
    expect(after.outcomes).toMatchObject([{ outcome: 'client_closed', status: 499 }]);
    expect(after.ledger).toMatchObject([{ pricing_status: 'usage_missing' }]);
  });

  it('on the upstream’s own failure has not left early', async () => {
    const after = await leftAfter('insufficient_quota', {
      headers: sse,
      body: created + errorEvent,
      ending: { kind: 'hang' },
    });
    expect(after.outcomes).toMatchObject([{ outcome: 'upstream_error', status: 502 }]);
    expect(after.ledger).toEqual([]);
  });
});
