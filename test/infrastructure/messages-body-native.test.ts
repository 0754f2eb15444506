import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { permissive } from '../../domain/routing/capabilities.ts';
import type { Compatibility } from '../../domain/routing/model.ts';
import { type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { fromMessagesBody } from '../../infrastructure/providers/messages-body/native.ts';
import {
  type BodyRules,
  endpointbRules,
  invokeRules,
  rawPredictRules,
} from '../../infrastructure/providers/messages-body/rules.ts';
import { boundedToolId } from '../../infrastructure/providers/messages-body/tool-ids.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { aConversation } from '../support/arbitraries/messages.ts';
import { minimal as minimalChat, outbound as chatOutbound } from './messages-body-sending.ts';

const boundId = boundedToolId(textDigest);

interface Sending {
  readonly upstreamModel?: string;
  readonly extraBody?: JsonObject;
  readonly stream?: boolean;
  readonly betas?: readonly string[];
  readonly compatibility?: Compatibility;
}

const outbound = (body: object | string, rules: BodyRules, sending: Sending = {}) =>
  fromMessagesBody(
    {
      body: typeof body === 'string' ? body : JSON.stringify(body),
      stream: sending.stream ?? false,
      betas: sending.betas ?? [],
      route: {
        upstreamModel: sending.upstreamModel ?? 'anthropic.claude-opus-4-6-v1',
        compatibility: sending.compatibility ?? {},
        capabilities: permissive,
        extraBody: sending.extraBody ?? {},
      },
    },
    rules,
    textDigest,
  );

const textOf = (body: object | string, rules: BodyRules, sending?: Sending): string => {
  const result = outbound(body, rules, sending);
  if (E.isLeft(result)) throw new Error(result.left.message);
  return result.right.text;
};

const sent = (body: object | string, rules: BodyRules, sending?: Sending): JsonObject =>
  JSON.parse(textOf(body, rules, sending)) as JsonObject;

const refusal = (body: object, rules: BodyRules, sending?: Sending) => {
  const result = outbound(body, rules, sending);
  return E.isLeft(result) ? result.left : undefined;
};

const user = { role: 'user', content: [{ type: 'text', text: 'Hi' }] };
const minimal = { model: 'anthropic.claude-opus-4-6-v1', max_tokens: 100, messages: [user] };

describe('a messages body from the caller', () => {
  it('is sent with cache marks, unknown members, order and every digit unchanged', () => {
    const text =
      '{"model":"anthropic.claude-opus-4-6-v1","max_tokens":9007199254740993,"system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral","ttl":"1h"}}],' +
      '"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"Hm","signature":"c2ln"},{"type":"redacted_thinking","data":"eA=="},' +
      '{"type":"tool_use","id":"toolu_1","name":"f","input":{"n":1.50}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"x","is_error":false,"cache_control":{"type":"ephemeral"}}]}],' +
      '"tools":[{"name":"f","input_schema":{"type":"object","properties":{}},"defer_loading":true,"eager_input_streaming":true}],"context_management":{"edits":[]},' +
      '"metadata":{"user_id":"u"},"temperature":0.10,"some_new_field":{"x":1e2}}';
    expect(textOf(text, endpointbRules)).toBe(text);
    const inPath = text.replace('"model":"anthropic.claude-opus-4-6-v1",', '').slice(0, -1);
    expect(textOf(text, rawPredictRules)).toBe(`${inPath},"anthropic_version":"vertex-2023-10-16"}`);
    const whole = inPath.replace(',"eager_input_streaming":true', '');
    expect(textOf(text, invokeRules)).toBe(`${whole},"anthropic_version":"bedrock-2023-05-31"}`);
  });

  it.each<[string, object, object]>([
    ['alone', { output_format: { type: 'json_schema' } }, { format: { type: 'json_schema' } }],
    [
      'beside `effort`',
      { output_config: { effort: 'low' }, output_format: { type: 'json_schema' } },
      { effort: 'low', format: { type: 'json_schema' } },
    ],
    [
      'beside `output_config.format`, which is kept',
      { output_config: { format: { type: 'json_schema' } }, output_format: { type: 'x' } },
      { format: { type: 'json_schema' } },
    ],
    ['null', { output_config: { effort: 'low' }, output_format: null }, { effort: 'low' }],
  ])('`output_format` is moved to `output_config.format`: %s', (_, over, output_config) => {
    const body = sent({ ...minimal, ...over }, rawPredictRules);
    expect(body).toMatchObject({ output_config });
    expect(body).not.toHaveProperty('output_format');
  });

  it('for any conversation, only ids that the upstream refuses are changed', () => {
    const native = (messages: readonly JsonObject[]): unknown =>
      messages.map(({ role, content }) => ({
        role,
        content: Array.isArray(content)
          ? (content as readonly JsonObject[]).map(({ ...block }) => ({
              ...block,
              ...(block['type'] === 'tool_use' ? { id: boundId(block['id'] as string) } : {}),
              ...(block['type'] === 'tool_result'
                ? { tool_use_id: boundId(block['tool_use_id'] as string) }
                : {}),
            }))
          : content,
      }));
    fc.assert(
      fc.property(aConversation, (messages) => {
        const upstreamModel = 'anthropic.claude-opus-5';
        const text = textOf({ ...minimal, messages }, endpointbRules, { upstreamModel });
        const told = (parseExact(text) as JsonObject)['messages'];
        expect(JSON.stringify(told)).toBe(JSON.stringify(native(messages)));
      }),
    );
  });

  it('the model is that of the route if the body has one, and the version is never that of the caller', () => {
    const body = { ...minimal, model: 'fast', anthropic_version: 'x', anthropic_beta: ['own-2025-01-01'] };
    expect(sent(body, endpointbRules)).toEqual(minimal);
    expect(outbound(body, endpointbRules)).toMatchObject({ right: { betas: ['own-2025-01-01'] } });
    expect(sent(body, invokeRules)).toMatchObject({
      anthropic_version: 'bedrock-2023-05-31',
      anthropic_beta: ['own-2025-01-01'],
    });
  });

  it('`stream` is sent if the upstream reads it from the body', () => {
    const body = { ...minimal, stream: true };
    expect(sent(body, rawPredictRules, { stream: true })).toHaveProperty('stream', true);
    expect(sent(body, endpointbRules, { stream: true })).toHaveProperty('stream', true);
    expect(sent({ ...minimal, stream: false }, invokeRules)).not.toHaveProperty('stream');
  });

  it('fields that a platform does not know and that change no answer are dropped', () => {
    const body = { ...minimal, service_tier: 'auto', inference_geo: 'global' };
    expect(sent(body, rawPredictRules)).toEqual(sent(minimal, rawPredictRules));
    expect(sent(body, invokeRules)).toEqual(sent(minimal, invokeRules));
    expect(sent(body, endpointbRules)).toEqual(body);
  });

  it('a limit of 0, which only fills the prompt cache, is sent', () => {
    const body = { ...minimal, max_tokens: 0 };
    for (const rules of [rawPredictRules, invokeRules, endpointbRules])
      expect(sent(body, rules)).toHaveProperty('max_tokens', 0);
  });

  it('fields that only Anthropic’s own API has are dropped, as Claude Code writes them to any URL', () => {
    const body = { ...minimal, speed: 'fast', diagnostics: { previous_message_id: 'msg_01' } };
    for (const rules of [rawPredictRules, invokeRules, endpointbRules])
      expect(sent(body, rules)).toEqual(sent(minimal, rules));
  });

  it('a region is sent, or refused if the platform has no field for it', () => {
    const body = { ...minimal, inference_geo: 'us' };
    const refused = { left: { code: 'invalid_request', param: 'inference_geo' } };
    expect(outbound(body, rawPredictRules)).toMatchObject(refused);
    expect(outbound(body, invokeRules)).toMatchObject(refused);
    expect(sent(body, endpointbRules)).toEqual(body);
  });

  it('extra_body is the final override', () => {
    const extraBody = { max_tokens: 7, thinking: { type: 'disabled' }, metadata: null };
    expect(sent(minimal, invokeRules, { extraBody })).toMatchObject(extraBody);
  });
});

it('a signature in the `extra_content` of a call belongs to another platform, and is removed', () => {
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const told = { ...use, extra_content: { google: { thought_signature: 's' } } };
  const messages = [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [told] },
  ];
  expect((sent({ ...minimal, messages }, rawPredictRules)['messages'] as readonly unknown[])[1]).toEqual({
    role: 'assistant',
    content: [use],
  });
});

it('blank text of the assistant, which other models write before a call, is removed', () => {
  const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const blank = { type: 'text', text: '\n\n' };
  const written = [{ role: 'assistant', content: [blank, call] }, user];
  const alone = [
    { role: 'assistant', content: [blank] },
    { role: 'assistant', content: ' ' },
  ];
  expect(sent({ ...minimal, messages: [user, ...alone, ...written] }, rawPredictRules)['messages']).toEqual([
    user,
    { role: 'assistant', content: [call] },
    user,
  ]);
});

it('a turn of the assistant without a block, as some answers have none, is not sent back', () => {
  const empty = { role: 'assistant', content: [] };
  expect(sent({ ...minimal, messages: [user, empty, user] }, rawPredictRules)['messages']).toEqual([
    user,
    user,
  ]);
  expect(sent({ ...minimal, messages: [user, empty] }, invokeRules)['messages']).toEqual([user]);
});

describe('thinking blocks', () => {
  const made = { type: 'thinking', thinking: 'Hm.', signature: '' };
  const signed = { type: 'thinking', thinking: '', signature: 'c2ln' };
  const text = { type: 'text', text: 'Hello.' };

  it('with a signature are kept, and those without one, from the gateway’s own translation, are dropped', () => {
    const messages = [user, { role: 'assistant', content: [made, signed, text] }, user];
    expect(sent({ ...minimal, messages }, rawPredictRules)['messages']).toEqual([
      user,
      { role: 'assistant', content: [signed, text] },
      user,
    ]);
  });

  it('a message that becomes empty without them is omitted', () => {
    const messages = [
      user,
      { role: 'assistant', content: [made, { type: 'thinking', thinking: 'x' }] },
      user,
    ];
    expect(sent({ ...minimal, messages }, invokeRules)['messages']).toEqual([user, user]);
  });
});

describe.each([
  ['raw-predict', rawPredictRules],
  ['invoke', invokeRules],
  ['endpointb_messages', endpointbRules],
])('the system prompt on %s', (_, rules) => {
  const line = 'x-anthropic-billing-header: cc_version=2.1.329.136; cc_entrypoint=cli;';
  const text = (words: string) => ({ type: 'text', text: words });
  const own = { ...text('Be kind.'), cache_control: { type: 'ephemeral' } };

  it.each<[string, unknown, unknown]>([
    ['as a block of its own', [text(line), own], [own]],
    ['as the first line of a block', [text(`${line}\nBe brief.`), own], [text('Be brief.'), own]],
    ['as the first line of a text', `${line}\nBe kind.`, 'Be kind.'],
    ['unless it is only mentioned', [text(`Remove ${line}`)], [text(`Remove ${line}`)]],
  ])('system: the line that tells the version of Claude Code is left out, %s', (_, system, shown) => {
    expect(sent({ ...minimal, system }, rules)['system']).toEqual(shown);
  });
});

describe('messages of the role `system`', () => {
  const system = { role: 'system', content: 'Later.' };
  const blocks = {
    role: 'system',
    content: [{ type: 'text', text: 'Last.', cache_control: { type: 'ephemeral' } }],
  };
  const body = { ...minimal, system: 'First.', messages: [system, user, blocks] };

  it('keep their position if the model supports them', () => {
    expect(sent(body, rawPredictRules, { upstreamModel: 'anthropic/claude-opus-4-8' })).toMatchObject({
      system: 'First.',
      messages: [system, user, blocks],
    });
  });

  it('that the model does not support set the effort of the body, and are refused with blocks other than text', () => {
    const effort = { role: 'system', output_config: { effort: 'low' } };
    const said = sent({ ...minimal, messages: [user, effort] }, invokeRules);
    expect(said).toMatchObject({ output_config: { effort: 'low' }, messages: [user] });
    const removal = { type: 'tool_removal', tool: { type: 'mcp_toolset_reference', server_name: 's' } };
    const tools = { role: 'system', content: [{ type: 'text', text: 'T' }, removal] };
    expect(() => sent({ ...minimal, messages: [user, tools] }, invokeRules)).toThrow(
      '`messages[1].content[1].type` is not available',
    );
  });

  it('that the model does not support change the tools of the body', () => {
    const tool = (name: string, more = {}) => ({ name, input_schema: {}, ...more });
    const refers = (type: string, name: string) => ({ type, tool: { type: 'tool_reference', name } });
    const defined = { type: 'tool_definition', definition: tool('c') };
    const changes = [
      refers('tool_removal', 'a'),
      refers('tool_addition', 'b'),
      { type: 'tool_addition', tool: defined },
    ];
    const tools = [tool('a'), tool('b', { defer_loading: true })];
    const body = { ...minimal, tools, messages: [user, { role: 'system', content: changes }] };
    expect(sent(body, invokeRules)).toMatchObject({ tools: [tool('b'), tool('c')], messages: [user] });
  });

  it('before the first turn move to the front if the model supports system text only there, and later ones stay', () => {
    const text = '<system-reminder>\nLast.\n</system-reminder>';
    expect(sent(body, rawPredictRules)).toMatchObject({
      system: [
        { type: 'text', text: 'First.' },
        { type: 'text', text: 'Later.' },
      ],
      messages: [
        user,
        { role: 'user', content: [{ type: 'text', text, cache_control: { type: 'ephemeral' } }] },
      ],
    });
    for (const first of [{}, { system: '' }])
      expect(sent({ ...minimal, ...first, messages: [system, user] }, invokeRules)['system']).toEqual([
        { type: 'text', text: 'Later.' },
      ]);
  });
});

describe('images and documents', () => {
  const base64 = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } };
  const url = { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } };
  const document = { type: 'document', source: { type: 'text', data: 'x' } };
  const nested = { type: 'document', source: { type: 'content', content: [url] } };
  const result = (...content: readonly object[]) => ({ type: 'tool_result', tool_use_id: 'a', content });
  const asking = (...content: readonly object[]) => ({ ...minimal, messages: [{ role: 'user', content }] });

  it.each<[string, object, string]>([
    ['an image', base64, 'messages[0].content[0].type'],
    ['a document', document, 'messages[0].content[0].type'],
    ['an image in a result', result(base64), 'messages[0].content[0].content[0].type'],
  ])('platform A: %s is refused and named', (_, block, param) => {
    expect(refusal(asking(block), rawPredictRules)).toMatchObject({ code: 'invalid_request', param });
  });

  it.each<[string, object, string]>([
    ['an image', url, 'messages[0].content[0].source.type'],
    ['an image without a source', { type: 'image' }, 'messages[0].content[0].source.type'],
    ['one in a result', result(base64, url), 'messages[0].content[0].content[1].source.type'],
    ['one in a document', nested, 'messages[0].content[0].source.content[0].source.type'],
    [
      'one in a document in a result',
      result(nested),
      'messages[0].content[0].content[0].source.content[0].source.type',
    ],
  ])('invoke: %s that is not inline is refused and named', (_, block, param) => {
    expect(refusal(asking(block), invokeRules)).toMatchObject({ code: 'invalid_request', param });
  });

  it('are sent unchanged if the upstream accepts them', () => {
    const body = asking(base64, document, result(base64));
    expect(sent(body, invokeRules)['messages']).toEqual(body.messages);
    const remote = asking(url, nested);
    expect(sent(remote, endpointbRules)['messages']).toEqual(remote.messages);
  });
});

describe('the model-family policy', () => {
  it('rejects a manual thinking budget and a temperature on the latest models, and maps the effort', () => {
    const latest = { upstreamModel: 'anthropic/claude-opus-4-7' };
    const manual = { ...minimal, thinking: { type: 'enabled', budget_tokens: 31_999, display: 'omitted' } };
    expect(refusal(manual, rawPredictRules, latest)).toMatchObject({ param: 'thinking.budget_tokens' });
    expect(refusal({ ...minimal, temperature: 0 }, rawPredictRules, latest)).toMatchObject({
      param: 'temperature',
    });
    expect(sent({ ...minimal, temperature: 1, reasoning_effort: 'max' }, rawPredictRules, latest)).toEqual({
      ...sent(minimal, rawPredictRules),
      thinking: { type: 'adaptive' },
      output_config: { effort: 'max' },
    });
    expect(sent(manual, invokeRules)).toMatchObject({ thinking: manual.thinking });
  });

  const thinking = { type: 'enabled', budget_tokens: 31_999 };
  it.each<[string, object]>([
    ['nothing', {}],
    ['a temperature', { temperature: 0 }],
    ['the default temperature', { temperature: 1 }],
    ['`top_p`', { top_p: 0.5 }],
    ['`top_k`', { top_k: 5 }],
    ['a manual budget', { thinking }],
    ['adaptive thinking', { thinking: { type: 'adaptive' } }],
    ['disabled thinking', { thinking: { type: 'disabled' } }],
    ['an effort', { reasoning_effort: 'low' }],
    ['the highest effort', { reasoning_effort: 'max' }],
    ['an unknown effort', { reasoning_effort: 'huge' }],
    ['an effort and a manual budget', { reasoning_effort: 'high', thinking }],
    ['an effort of its own', { output_config: { effort: 'low' } }],
    ['two efforts', { output_config: { effort: 'low' }, reasoning_effort: 'high' }],
  ])('has the same result as for chat bodies: %s', (_, over) => {
    const models = [
      'claude-opus-4-7',
      'claude-opus-4-6',
      'claude-opus-4-5',
      'claude-sonnet-4',
      'claude-3-opus',
    ];
    const controls = ['temperature', 'top_p', 'top_k', 'thinking', 'output_config', 'anthropic_beta'];
    const resultOf = (result: ReturnType<typeof outbound>): unknown => {
      if (E.isLeft(result)) return result.left;
      const { text, betas } = result.right;
      const body = JSON.parse(text) as JsonObject;
      return [betas, controls.map((name) => body[name])];
    };
    for (const upstreamModel of models.map((model) => `anthropic/${model}`))
      for (const rules of [rawPredictRules, invokeRules, endpointbRules])
        expect(resultOf(outbound({ ...minimal, ...over }, rules, { upstreamModel }))).toEqual(
          resultOf(chatOutbound({ ...minimalChat, ...over }, rules, { upstreamModel })),
        );
  });

  it('adaptive thinking with the caller’s own effort is sent unchanged', () => {
    const body = {
      ...minimal,
      thinking: { type: 'adaptive', display: 'omitted' },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: {} } },
    };
    for (const rules of [rawPredictRules, invokeRules, endpointbRules])
      expect(sent(body, rules)).toMatchObject({ thinking: body.thinking, output_config: body.output_config });
  });

  it('the caller’s own effort adds the beta flag for the previous generation, on platform B', () => {
    const body = { ...minimal, output_config: { effort: 'low' } };
    const upstreamModel = 'us.anthropic.claude-opus-4-5-20251101-v1:0';
    expect(sent(body, invokeRules, { upstreamModel })['anthropic_beta']).toEqual(['effort-2025-11-24']);
    expect(sent(body, rawPredictRules, { upstreamModel })).not.toHaveProperty('anthropic_beta');
  });
});

describe('manual thinking in a tool loop', () => {
  const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} };
  const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' };
  const signed = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
  const loop = (...said: readonly JsonObject[]): object => ({
    ...minimal,
    thinking: { type: 'enabled', budget_tokens: 2000 },
    messages: [user, { role: 'assistant', content: said }, { role: 'user', content: [result] }],
  });

  it.each([
    ['raw-predict', rawPredictRules],
    ['invoke', invokeRules],
    ['endpointb_messages', endpointbRules],
  ] as const)('%s: is omitted, and noted, if the signed thinking is missing', (_, rules) => {
    for (const body of [loop(use), loop({ ...signed, signature: '' }, use)]) {
      expect(sent(body, rules)).not.toHaveProperty('thinking');
      expect(outbound(body, rules)).toMatchObject({
        right: { notes: { reasoning: { thinking: 'left_out', reason: 'no_signed_thinking_in_tool_loop' } } },
      });
    }
    const whole = outbound(loop(signed, use), rules);
    expect(E.isRight(whole) && whole.right).not.toHaveProperty('notes');
    expect(sent(loop(signed, use), rules)).toMatchObject({ thinking: { type: 'enabled' } });
  });

  it.each<[string, readonly object[] | null, object | undefined]>([
    ['of which there are none', null, { edits: null }],
    ['alone', [{ type: 'clear_thinking_20251015', keep: 'all' }], undefined],
    [
      'beside others',
      [{ type: 'clear_thinking_20251015', keep: 'all' }, { type: 'clear_tool_uses_20250919' }],
      { edits: [{ type: 'clear_tool_uses_20250919' }] },
    ],
  ])(
    'edits of thinking are omitted with it, because the upstream rejects them without it: %s',
    (_, edits, left) => {
      const managed = { context_management: { edits } };
      const { messages, ...controls } = sent({ ...loop(use), ...managed }, invokeRules);
      expect(controls['context_management']).toEqual(left);
      expect(messages).toHaveLength(3);
      expect(sent({ ...loop(signed, use), ...managed }, invokeRules)).toMatchObject(managed);
    },
  );
});

describe('a profile whose id does not show its tier', () => {
  const upstreamModel = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6';
  const body = { ...minimal, reasoning_effort: 'low' };

  it('follows the `model_tier` of its route', () => {
    expect(refusal(body, invokeRules, { upstreamModel })).toMatchObject({ param: 'reasoning_effort' });
    const compatibility = { cloud_b: { api_style: 'runtime_messages', model_tier: 'latest' } };
    expect(sent(body, invokeRules, { upstreamModel, compatibility })).toMatchObject({
      thinking: { type: 'adaptive' },
      output_config: { effort: 'low' },
    });
  });
});

it('only the betas of the caller that the upstream knows are sent, each once', () => {
  const betas = [
    'interleaved-thinking-2025-05-14',
    'prompt-caching-2024-07-31',
    'interleaved-thinking-2025-05-14',
  ];
  for (const rules of [rawPredictRules, invokeRules])
    expect(sent(minimal, rules, { betas })['anthropic_beta']).toEqual(['interleaved-thinking-2025-05-14']);
  expect(outbound(minimal, endpointbRules, { betas })).toMatchObject({
    right: { betas: ['interleaved-thinking-2025-05-14'] },
  });
});
