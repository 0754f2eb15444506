import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { toChatBody } from '../../domain/messages/to-chat.ts';
import { messagesWatched, readMessagesRequest } from '../../domain/messages/messages-request.ts';
import type { Compatibility } from '../../domain/routing/model.ts';
import { type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { parseDocument } from '../../domain/shared/json-document.ts';
import { fromChatBody } from '../../infrastructure/providers/messages-body/request.ts';
import {
  type BodyRules,
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { boundedToolId } from '../../infrastructure/providers/messages-body/tool-ids.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { aConversation } from '../support/arbitraries/messages.ts';

const boundId = boundedToolId(textDigest);
const user = { role: 'user', content: 'Hi' };
const minimal = { model: 'm', max_tokens: 100, messages: [user] };

interface Sending {
  readonly upstreamModel?: string;
  readonly extraBody?: JsonObject;
  readonly stream?: boolean;
  readonly betas?: readonly string[];
  readonly compatibility?: Compatibility;
}

const outbound = (body: object | string, rules: BodyRules, sending: Sending = {}) =>
  fromChatBody(
    {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      stream: sending.stream ?? false,
      betas: sending.betas ?? [],
      route: {
        upstreamModel: sending.upstreamModel ?? 'anthropic/claude-opus-4-6',
        compatibility: sending.compatibility ?? {},
        extraBody: sending.extraBody ?? {},
      },
    },
    rules,
    textDigest,
  );

/** The body that goes out; the test fails where none does. */
const sent = (body: object | string, rules: BodyRules = rawPredictRules, sending?: Sending): JsonObject => {
  const result = outbound(body, rules, sending);
  if (E.isLeft(result)) throw new Error(result.left.message);
  return JSON.parse(result.right.text) as JsonObject;
};

const refusal = (body: object, rules: BodyRules = rawPredictRules, sending?: Sending) => {
  const result = outbound(body, rules, sending);
  return E.isLeft(result) ? result.left : undefined;
};

const styles = [
  ['raw-predict', rawPredictRules],
  ['invoke', invokeRules],
  ['endpointb_messages', endpointbRules],
] as const;

describe('the smallest body', () => {
  it('platform A: `model` is not in the JSON body; it carries `anthropic_version: vertex-2023-10-16`', () => {
    expect(sent(minimal)).toEqual({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      anthropic_version: 'vertex-2023-10-16',
    });
    expect(sent({ ...minimal, stream: true }, rawPredictRules, { stream: true })).toMatchObject({
      stream: true,
    });
  });

  it('platform B, invoke: the body always has `anthropic_version: bedrock-2023-05-31`, and never `stream`', () => {
    expect(sent({ ...minimal, stream: false, anthropic_version: 'x' }, invokeRules)).toEqual({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      anthropic_version: 'bedrock-2023-05-31',
    });
  });

  it('platform B, endpointb_messages: the body names the model', () => {
    expect(
      sent({ ...minimal, stream: true }, endpointbRules, {
        upstreamModel: 'anthropic.claude-opus-4-6-v1',
        stream: true,
      }),
    ).toEqual({
      max_tokens: 100,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      model: 'anthropic.claude-opus-4-6-v1',
      stream: true,
    });
  });
});

describe('messages', () => {
  it('system and developer text is combined as `system`, wherever it stands', () => {
    expect(
      sent({
        ...minimal,
        messages: [
          { role: 'system', content: 'One.' },
          user,
          {
            role: 'developer',
            content: [
              { type: 'text', text: 'Two.' },
              { type: 'text', text: 'Three.' },
            ],
          },
          { role: 'assistant', content: 'Hello.' },
          { role: 'system', content: '' },
        ],
      }),
    ).toMatchObject({
      system: 'One.\n\nTwo.\n\nThree.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
      ],
    });
  });

  it('calls and results become blocks; consecutive results are one user turn, in front of what the user says', () => {
    const call = (id: string, name: string, text: string) => ({
      id,
      type: 'function',
      function: { name, arguments: text },
    });
    expect(
      sent({
        ...minimal,
        messages: [
          user,
          {
            role: 'assistant',
            content: null,
            refusal: null,
            function_call: null,
            tool_calls: [call('toolu_1', 'weather', '{"city":"Ulm"}'), call('toolu_2', 'time', '')],
          },
          { role: 'tool', tool_call_id: 'toolu_1', content: 'Rain.' },
          { role: 'user', content: 'Well?' },
          { role: 'tool', tool_call_id: 'toolu_2', content: [{ type: 'text', text: 'Noon.' }] },
          { role: 'tool', tool_call_id: 'toolu_3', content: '' },
        ],
      })['messages'],
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Ulm' } },
          { type: 'tool_use', id: 'toolu_2', name: 'time', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Rain.' },
          { type: 'tool_result', tool_use_id: 'toolu_2', content: [{ type: 'text', text: 'Noon.' }] },
          { type: 'tool_result', tool_use_id: 'toolu_3' },
          { type: 'text', text: 'Well?' },
        ],
      },
    ]);
  });

  it('arguments keep every digit; those that are no JSON object stay what they are', () => {
    const calling = (text: string): string =>
      JSON.stringify({
        ...minimal,
        messages: [
          user,
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }],
          },
        ],
      });
    const exact = outbound(calling('{"n":9007199254740993,"x":1.50}'), rawPredictRules);
    expect(E.isRight(exact) && exact.right.text).toContain('"input":{"n":9007199254740993,"x":1.50}');
    const broken = outbound(calling('{"n":'), rawPredictRules);
    expect(E.isRight(broken) && broken.right.text).toContain('"input":{"_raw_arguments":"{\\"n\\":"}');
  });

  it('preserved reasoning is never sent back: request-side replay is not performed', () => {
    const body = {
      ...minimal,
      messages: [
        user,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'SECRET' },
            { type: 'redacted_thinking', data: 'SECRET' },
            { type: 'text', text: 'Hello.' },
          ],
          reasoning: 'SECRET',
          reasoning_content: 'SECRET',
          provider_metadata: {
            cloud_a_platform: { reasoning: [{ type: 'thinking', thinking: 'SECRET', signature: 's' }] },
          },
        },
        { role: 'user', content: 'Go on.' },
      ],
    };
    expect(JSON.stringify(sent(body))).not.toContain('SECRET');
  });

  it('a refusal is what the assistant said; words that say nothing are no block', () => {
    expect(
      sent({
        ...minimal,
        messages: [
          user,
          { role: 'user', content: ' ' },
          { role: 'assistant', content: '', refusal: 'No.' },
          { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
          { role: 'assistant', content: '' },
        ],
      })['messages'],
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'No.' },
          { type: 'text', text: 'Never.' },
        ],
      },
    ]);
  });

  it.each<[string, object]>([
    ['messages', { messages: [{ role: 'system', content: 'Alone.' }] }],
    ['messages[0].role', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 7 }] }],
    ['messages[0].content[0]', { messages: [{ role: 'user', content: ['Hi'] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'input_audio' }] }] }],
    ['messages[0].content[0].type', { messages: [{ role: 'user', content: [{ type: 'file' }] }] }],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'text' }] }] }],
    ['messages[1].tool_call_id', { messages: [user, { role: 'tool', content: 'x' }] }],
    ['messages[1].function_call', { messages: [user, { role: 'assistant', function_call: { name: 'f' } }] }],
    [
      'messages[1].tool_calls[0].type',
      { messages: [user, { role: 'assistant', tool_calls: [{ type: 'custom' }] }] },
    ],
    [
      'messages[1].tool_calls[0].id',
      { messages: [user, { role: 'assistant', tool_calls: [{ function: { name: 'f' } }] }] },
    ],
    [
      'messages[1].tool_calls[0].function.name',
      { messages: [user, { role: 'assistant', tool_calls: [{ id: 'a', function: { name: '' } }] }] },
    ],
  ])('%s is named where it cannot be said', (param, over) => {
    expect(refusal({ ...minimal, ...over })).toMatchObject({ code: 'invalid_request', param });
  });
});

describe('images', () => {
  const png = { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } };
  const jpeg = { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGk=' } };
  const remote = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const asking = (...parts: readonly object[]) => ({
    ...minimal,
    messages: [{ role: 'user', content: parts }],
  });

  it('invoke: base64 images become image blocks, in tool results too', () => {
    const block = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
    expect(sent(asking(png, jpeg), invokeRules)['messages']).toEqual([
      { role: 'user', content: [block, jpeg] },
    ]);
    const result = { role: 'tool', tool_call_id: 'a', content: [png] };
    expect(sent({ ...minimal, messages: [user, result] }, invokeRules)['messages']).toMatchObject([
      {
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: [block] },
          { type: 'text', text: 'Hi' },
        ],
      },
    ]);
  });

  it('invoke: remote URLs are rejected', () => {
    expect(refusal(asking(remote), invokeRules)).toMatchObject({
      param: 'messages[0].content[0].image_url.url',
    });
    const native = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
    expect(refusal(asking(native), invokeRules)).toMatchObject({
      param: 'messages[0].content[0].source.type',
    });
  });

  it('endpointb_messages: the upstream may fetch them', () => {
    expect(sent(asking(remote), endpointbRules)['messages']).toEqual([
      {
        role: 'user',
        content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }],
      },
    ]);
  });

  it.each([png, jpeg, remote])('platform A: image blocks are unsupported, %p', (part) => {
    expect(refusal(asking(part))).toMatchObject({ param: 'messages[0].content[0].type' });
  });
});

describe('tools', () => {
  const tool = (parameters?: object | null) => ({
    type: 'function',
    function: {
      name: 'weather',
      description: 'Tells it.',
      strict: true,
      ...(parameters === undefined ? {} : { parameters }),
    },
  });

  it.each<[string, object | null | undefined, object]>([
    [
      'a schema',
      { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    ],
    ['`properties: null`', { type: 'object', properties: null }, { type: 'object', properties: {} }],
    ['nothing in it', {}, { type: 'object', properties: {} }],
    ['no parameters', undefined, { type: 'object', properties: {} }],
    ['null', null, { type: 'object', properties: {} }],
  ])('function tools become custom tools with `input_schema`: %s', (_, parameters, input_schema) => {
    expect(sent({ ...minimal, tools: [tool(parameters)] })['tools']).toEqual([
      { type: 'custom', name: 'weather', description: 'Tells it.', input_schema, strict: true },
    ]);
  });

  it.each<[string, BodyRules, string, boolean]>([
    ['platform A', rawPredictRules, 'anthropic/claude-opus-4-7', true],
    ['platform A', rawPredictRules, 'anthropic/claude-sonnet-4-5', true],
    ['invoke', invokeRules, 'us.anthropic.claude-sonnet-4-5', true],
    ['invoke', invokeRules, 'us.anthropic.claude-opus-4-7', false],
    ['endpointb_messages', endpointbRules, 'anthropic.claude-opus-4-7', false],
  ])('`strict` goes along where the model supports it: %s, %s', (_, rules, upstreamModel, supported) => {
    for (const strict of [true, false]) {
      const own = { type: 'function', function: { name: 'f', strict } };
      const [out] = sent({ ...minimal, tools: [own] }, rules, { upstreamModel })['tools'] as JsonObject[];
      expect(out!['strict']).toBe(supported ? strict : undefined);
    }
    const plain = { type: 'function', function: { name: 'f' } };
    const [out] = sent({ ...minimal, tools: [plain] }, rules, { upstreamModel })['tools'] as JsonObject[];
    expect(out).not.toHaveProperty('strict');
  });

  it('`strict` follows the tier that the route says of an opaque id', () => {
    const upstreamModel = 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x';
    const tools = [{ type: 'function', function: { name: 'f', strict: true } }];
    for (const [model_tier, strict] of [
      ['latest', undefined],
      ['previous', true],
    ] as const) {
      const compatibility = { cloud_b: { api_style: 'runtime_messages', model_tier } };
      const body = sent({ ...minimal, tools }, invokeRules, { upstreamModel, compatibility });
      expect((body['tools'] as JsonObject[])[0]!['strict']).toBe(strict);
    }
  });

  it.each<[unknown, object | undefined]>([
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    ['none', { type: 'none' }],
    [
      { type: 'function', function: { name: 'weather' } },
      { type: 'tool', name: 'weather' },
    ],
    [null, undefined],
  ])('tool_choice %p', (tool_choice, expected) => {
    for (const [, rules] of styles)
      expect(sent({ ...minimal, tools: [tool({})], tool_choice }, rules)['tool_choice']).toEqual(expected);
  });

  it.each<[unknown, unknown, object | undefined]>([
    [false, undefined, { type: 'auto', disable_parallel_tool_use: true }],
    [false, 'required', { type: 'any', disable_parallel_tool_use: true }],
    [false, 'none', { type: 'none' }],
    [true, undefined, undefined],
    [true, 'auto', { type: 'auto' }],
  ])(
    'platform A: parallel_tool_calls %p with tool_choice %p',
    (parallel_tool_calls, tool_choice, expected) => {
      const body = { ...minimal, tools: [tool({})], parallel_tool_calls, tool_choice };
      expect(sent(body)['tool_choice']).toEqual(expected);
    },
  );

  it('without tools there is no choice, and one that needs a tool is rejected', () => {
    expect(sent({ ...minimal, tools: [], tool_choice: 'auto', functions: [] })).toEqual(sent(minimal));
    expect(refusal({ ...minimal, tool_choice: 'required' })).toMatchObject({ param: 'tool_choice' });
  });

  it.each<[string, object]>([
    ['functions', { functions: [{ name: 'f' }] }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tools[0].function', { tools: [{ type: 'function' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: {} }] }],
    [
      'tools[0].function.parameters',
      { tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] },
    ],
    ['tool_choice', { tools: [tool({})], tool_choice: 'any' }],
    ['tool_choice', { tools: [tool({})], tool_choice: { type: 'allowed_tools' } }],
    ['tool_choice.function.name', { tools: [tool({})], tool_choice: { type: 'function', function: {} } }],
    ['parallel_tool_calls', { tools: [tool({})], parallel_tool_calls: 'no' }],
  ])('%s is named', (param, over) => {
    expect(refusal({ ...minimal, ...over })).toMatchObject({ code: 'invalid_request', param });
  });

  it('a name of more than 64 characters is the upstream’s to judge: it is never cut', () => {
    const name = `mcp__${'server_'.repeat(12)}__tool`;
    const named = { type: 'function', function: { name } };
    expect(sent({ ...minimal, tools: [named] })['tools']).toMatchObject([{ name }]);
  });
});

describe('limits, sampling and stops', () => {
  it.each<[string, object, unknown]>([
    ['max_tokens', { max_tokens: 5 }, 5],
    ['max_completion_tokens', { max_tokens: undefined, max_completion_tokens: 6 }, 6],
    ['both, the same', { max_tokens: 7, max_completion_tokens: 7 }, 7],
  ])('%s', (_, over, expected) => {
    for (const [, rules] of styles) expect(sent({ ...minimal, ...over }, rules)['max_tokens']).toBe(expected);
  });

  it.each<[string, object]>([
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: '5' }],
    ['max_completion_tokens', { max_completion_tokens: 1.5 }],
    ['max_tokens', { max_tokens: 5, max_completion_tokens: 6 }],
    ['stop', { stop: 7 }],
    ['stop', { stop: ['a', null] }],
    ['anthropic_beta', { anthropic_beta: 'x' }],
  ])('%s is named: %p', (param, over) => {
    expect(refusal({ ...minimal, ...over })).toMatchObject({ code: 'invalid_request', param });
  });

  it('sampling passes; `stop` becomes `stop_sequences`', () => {
    const body = { ...minimal, temperature: 0.5, top_p: 0.9, top_k: 40, stop: 'END' };
    expect(sent(body)).toMatchObject({ temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ['END'] });
    expect(sent({ ...minimal, stop: ['a', 'b'] })['stop_sequences']).toEqual(['a', 'b']);
    expect(sent({ ...minimal, stop: [], temperature: null })).toEqual(sent(minimal));
  });

  it('latest generation: defaults are omitted, other values rejected', () => {
    const latest = { upstreamModel: 'anthropic/claude-opus-4-7' };
    expect(sent({ ...minimal, temperature: 1, top_p: 1 }, rawPredictRules, latest)).toEqual(sent(minimal));
    expect(refusal({ ...minimal, temperature: 0 }, rawPredictRules, latest)).toMatchObject({
      param: 'temperature',
    });
  });
});

describe('controls of chat alone', () => {
  it.each<[string, unknown]>([
    ['presence_penalty', 0],
    ['frequency_penalty', 0.5],
    ['n', 1],
    ['seed', 7],
    ['parallel_tool_calls', true],
    ['response_format', { type: 'text' }],
  ])('invoke: `%s` is rejected', (field, value) => {
    expect(refusal({ ...minimal, [field]: value }, invokeRules)).toMatchObject({
      code: 'invalid_request',
      param: field,
      message: `\`${field}\` is not available on this model's route.`,
    });
    expect(sent({ ...minimal, [field]: null }, invokeRules)).toEqual(sent(minimal, invokeRules));
  });

  it.each<[string, unknown]>([
    ['n', 2],
    ['presence_penalty', 1],
    ['frequency_penalty', -1],
    ['seed', 7],
    ['logprobs', true],
    ['top_logprobs', 2],
    ['logit_bias', { '1': 5 }],
    ['modalities', ['text', 'audio']],
    ['audio', { voice: 'x' }],
    ['web_search_options', {}],
    ['response_format', { type: 'json_object' }],
  ])('what would change the answer and cannot be said is rejected by name: `%s`', (field, value) => {
    for (const [, rules] of styles)
      expect(refusal({ ...minimal, [field]: value }, rules)).toMatchObject({ param: field });
  });

  it('`json_object` is refused with the reason', () => {
    for (const [, rules] of styles)
      expect(refusal({ ...minimal, response_format: { type: 'json_object' } }, rules)?.message).toMatch(
        /^`response_format` cannot be `json_object` on this model's route, whose API has no such mode: /,
      );
  });

  it('what says nothing, and what changes no answer, is dropped', () => {
    const silent = {
      n: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      logprobs: false,
      top_logprobs: 0,
      logit_bias: {},
      modalities: ['text'],
      response_format: { type: 'text' },
      user: 'u',
      store: true,
      metadata: { a: 'b' },
      service_tier: 'auto',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      stream_options: { include_usage: true },
      verbosity: 'medium',
      some_new_field: { x: 1 },
    };
    expect(sent({ ...minimal, ...silent })).toEqual(sent(minimal));
    expect(sent({ ...minimal, ...silent }, endpointbRules)).toEqual(sent(minimal, endpointbRules));
  });

  it('platform A: a schema for the answer becomes `output_config.format`', () => {
    const schema = { type: 'object', properties: {} };
    const response_format = { type: 'json_schema', json_schema: { name: 'a', strict: true, schema } };
    expect(sent({ ...minimal, response_format, output_config: { effort: 'low' } })['output_config']).toEqual({
      effort: 'low',
      format: { type: 'json_schema', schema },
    });
    expect(refusal({ ...minimal, response_format }, endpointbRules)).toMatchObject({
      param: 'response_format',
    });
    expect(
      refusal({ ...minimal, response_format, output_config: { format: { type: 'json_schema', schema } } }),
    ).toMatchObject({ param: 'response_format' });
  });

  it('invoke: native members are copied through', () => {
    const native = {
      anthropic_beta: ['computer-use-2025-01-24'],
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
      container: 'c1',
      metadata: { user_id: 'u' },
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'low', format: { type: 'x' } },
    };
    expect(sent({ ...minimal, ...native }, invokeRules)).toMatchObject(native);
  });
});

describe('reasoning fields', () => {
  it('`thinking` and `output_config` are copied first, then the normalised fields applied', () => {
    const body = {
      ...minimal,
      reasoning: { effort: 'xhigh', exclude: true },
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { format: { type: 'x' } },
    };
    expect(sent(body, invokeRules)).toEqual({
      ...sent(minimal, invokeRules),
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { format: { type: 'x' }, effort: 'xhigh' },
    });
  });

  it.each(['reasoning_budget_tokens', 'thinking_budget_tokens'])(
    '%s becomes manual thinking, digit for digit',
    (field) => {
      const text = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi"}],"${field}":2048.0}`;
      const result = outbound(text, rawPredictRules);
      expect(E.isRight(result) && result.right.text).toContain(
        '"thinking":{"type":"enabled","budget_tokens":2048.0}',
      );
      expect(E.isRight(result) && result.right.text).not.toContain(field);
    },
  );

  it('platform B adds the beta flag to effort one generation older', () => {
    const body = { ...minimal, reasoning_effort: 'low', reasoning_budget_tokens: 2048 };
    const upstreamModel = 'us.anthropic.claude-opus-4-5-20251101-v1:0';
    const expected = {
      thinking: { type: 'enabled', budget_tokens: 2048 },
      output_config: { effort: 'low' },
    };
    expect(sent(body, invokeRules, { upstreamModel })).toMatchObject({
      ...expected,
      anthropic_beta: ['effort-2025-11-24'],
    });
    const elsewhere = outbound(body, endpointbRules, { upstreamModel });
    expect(elsewhere).toMatchObject({ right: { betas: ['effort-2025-11-24'] } });
    expect(sent(body, rawPredictRules, { upstreamModel })).toEqual({ ...sent(minimal), ...expected });
  });

  it('manual thinking in a tool loop is left out and noted: preserved thinking is not replayed', () => {
    const body = {
      ...minimal,
      reasoning_budget_tokens: 2048,
      reasoning_effort: 'low',
      messages: [
        user,
        { role: 'assistant', tool_calls: [{ id: '1', type: 'function', function: { name: 'f' } }] },
        { role: 'tool', tool_call_id: '1', content: 'a' },
      ],
    };
    const about = { upstreamModel: 'us.anthropic.claude-opus-4-5-20251101-v1:0' };
    for (const [, rules] of styles) {
      const out = sent(body, rules, about);
      expect(out).not.toHaveProperty('thinking');
      expect(out).toMatchObject({ output_config: { effort: 'low' } });
      expect(outbound(body, rules, about)).toMatchObject({ right: { notes: { reasoning: {} } } });
    }
    expect(outbound({ ...body, messages: [user] }, invokeRules, about)).not.toHaveProperty('right.notes');
  });

  it('route extra_body is the final override', () => {
    const extraBody = { thinking: { type: 'disabled' }, max_tokens: 7, anthropic_version: 'x', system: 'S' };
    expect(sent({ ...minimal, reasoning_effort: 'low' }, invokeRules, { extraBody })).toMatchObject(
      extraBody,
    );
  });
});

describe('caller betas', () => {
  it('go into the body of invoke and raw-predict, as far as the upstream knows them', () => {
    const betas = [
      'context-1m-2025-08-07',
      'claude-code-20250219',
      'fast-mode-2026-02-01',
      'advanced-tool-use-2025-11-20',
    ];
    for (const rules of [rawPredictRules, invokeRules])
      expect(sent(minimal, rules, { betas })['anthropic_beta']).toEqual([
        'context-1m-2025-08-07',
        'tool-search-tool-2025-10-19',
      ]);
    expect(outbound(minimal, endpointbRules, { betas })).toMatchObject({
      right: { betas: ['context-1m-2025-08-07', 'claude-code-20250219', 'tool-search-tool-2025-10-19'] },
    });
    expect(sent(minimal, endpointbRules, { betas })).toEqual(sent(minimal, endpointbRules));
  });

  it('a value is sent once, and only ever one that is on the list', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(rawPredictRules, invokeRules),
        fc.array(fc.oneof(fc.constantFrom(...invokeRules.betas.allowed.keys()), fc.string())),
        (rules, betas) => {
          const told = (sent(minimal, rules, { betas })['anthropic_beta'] ?? []) as readonly string[];
          expect(new Set(told).size).toBe(told.length);
          const known = new Set(rules.betas.allowed.values());
          expect(told.filter((beta) => !known.has(beta))).toEqual([]);
        },
      ),
    );
  });
});

describe('a messages conversation told in chat and back', () => {
  const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

  interface Turn {
    readonly role: unknown;
    readonly content: JsonObject[];
  }

  /** The same conversation in blocks, as the two translations together must give it. */
  function expectedOf(messages: readonly JsonObject[]): readonly Turn[] {
    const turns: Turn[] = [];
    for (const { role, content } of messages) {
      if (role === 'system') continue;
      const blocks =
        typeof content === 'string' ? [{ type: 'text', text: content }] : (content as JsonObject[]);
      const told = role === 'assistant' ? assistantBlocks(blocks) : blocks.map(userBlock);
      const last = turns.at(-1);
      if (told.length === 0) continue;
      if (last !== undefined && last.role === role) last.content.push(...told);
      else turns.push({ role, content: [...told] });
    }
    const isResult = ({ type }: JsonObject): boolean => type === 'tool_result';
    return turns.map(({ role, content }) => ({
      role,
      content: [...content.filter(isResult), ...content.filter((block) => !isResult(block))],
    }));
  }

  function assistantBlocks(blocks: readonly JsonObject[]): JsonObject[] {
    const text = blocks.map(({ text }) => textIn(text)).join('');
    const uses = blocks
      .filter(({ type }) => type === 'tool_use')
      .map((block) => ({ ...block, id: boundId(textIn(block['id'])) }));
    return [...(text === '' ? [] : [{ type: 'text', text }]), ...uses];
  }

  function userBlock({ is_error, ...block }: JsonObject): JsonObject {
    if (block['type'] !== 'tool_result') return block;
    const words = textIn(block['content']);
    return {
      ...block,
      tool_use_id: boundId(textIn(block['tool_use_id'])),
      content: is_error === true ? `Error: ${words}` : words,
    };
  }

  it('keeps texts, images, calls and results, with bounded ids on both sides and every digit', () => {
    fc.assert(
      fc.property(aConversation, (messages) => {
        const text = JSON.stringify({ model: 'm', max_tokens: 9, messages });
        const document = parseDocument(text, messagesWatched, parseExact);
        if (E.isLeft(document)) throw new Error(document.left.message);
        const request = readMessagesRequest(document.right);
        if (E.isLeft(request)) throw new Error(request.left.message);
        const chat = toChatBody(request.right);
        const expected = expectedOf(messages);
        if (E.isLeft(chat)) return expected.length === 0;
        const back = outbound(JSON.stringify(chat.right), endpointbRules);
        if (E.isLeft(back)) return expected.length === 0;
        const told = parseExact(back.right.text) as JsonObject;
        expect(JSON.stringify(told['messages'])).toBe(JSON.stringify(expected));
        return true;
      }),
      { numRuns: 300 },
    );
  });
});
