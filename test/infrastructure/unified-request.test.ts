import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { unifiedRequest } from '../../infrastructure/providers/cloud-b/unified-request.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { asked, image, png, rejected, sent, text, turns, user } from './unified-sending.ts';

describe('a chat request as a converse request', () => {
  it('has only messages where the chat request has only messages', () => {
    expect(sent({})).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] });
  });

  it('has system and developer text as system blocks', () => {
    const messages = [
      { role: 'system', content: 'One.' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: [text('Two.'), text('Three.')] },
      { role: 'system', content: '' },
      { role: 'system' },
    ];
    expect(sent({ messages })).toEqual({
      system: [{ text: 'One.' }, { text: 'Two.\n\nThree.' }],
      messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
    });
  });

  it('has consecutive messages of the same role as one turn', () => {
    expect(
      turns([
        { role: 'user', content: 'a' },
        user(text('b'), text('c')),
        { role: 'assistant', content: 'd' },
        { role: 'assistant', content: null, refusal: 'e' },
        { role: 'assistant', content: [text('f'), { type: 'refusal', refusal: 'g' }] },
      ]),
    ).toEqual([
      { role: 'user', content: [{ text: 'a' }, { text: 'b' }, { text: 'c' }] },
      { role: 'assistant', content: [{ text: 'd' }, { text: 'e' }, { text: 'f' }, { text: 'g' }] },
    ]);
  });

  it.each([
    ['greets', [{ role: 'assistant', content: 'Hello.' }]],
    [
      'begins after a blank text',
      [
        { role: 'user', content: ' ' },
        { role: 'assistant', content: 'Hello.' },
      ],
    ],
  ])('begins with a turn of the user where the assistant %s', (_, before) => {
    expect(sent({ messages: [...before, { role: 'user', content: 'Hi' }] })['messages']).toEqual([
      { role: 'user', content: [{ text: 'Begin.' }] },
      { role: 'assistant', content: [{ text: 'Hello.' }] },
      { role: 'user', content: [{ text: 'Hi' }] },
    ]);
  });

  it('leaves out blank text, which the platform rejects', () => {
    expect(
      turns([
        { role: 'user', content: ' \n' },
        { role: 'assistant', content: '' },
        user(text(''), text('a')),
      ]),
    ).toEqual([{ role: 'user', content: [{ text: 'a' }] }]);
  });

  it('ends without trailing white space where the last message is text of the assistant', () => {
    expect(
      turns([
        user(text('a ')),
        { role: 'assistant', content: 'b ' },
        user(text('c')),
        { role: 'assistant', content: ' d: \n' },
      ]),
    ).toMatchObject([
      { content: [{ text: 'a ' }] },
      { content: [{ text: 'b ' }] },
      {},
      { content: [{ text: ' d:' }] },
    ]);
  });

  it('is rejected where no user or assistant message has content', () => {
    expect(rejected({ messages: [{ role: 'system', content: 'a' }, user(text(''))] })).toBe('messages');
  });

  it('may have 200,000 parts in a turn', () => {
    const parts = Array.from({ length: 200_000 }, () => text('a'));
    expect(turns([user(...parts.slice(0, 1)), { role: 'user', content: parts }])).toMatchObject([
      { content: { length: 200_001 } },
    ]);
  });

  it.each([
    ['an unknown role', [{ role: 'function', content: 'a' }], 'messages[0].role'],
    ['an unknown part', [user({ type: 'thinking', thinking: 'a' })], 'messages[0].content[0].type'],
    ['audio of a user', [user({ type: 'input_audio', input_audio: {} })], 'messages[0].content[0].type'],
    ['audio of an assistant', [{ role: 'assistant', audio: { id: 'a' } }], 'messages[0].audio'],
    [
      'a deprecated function call',
      [{ role: 'assistant', function_call: { name: 'f', arguments: '' } }],
      'messages[0].function_call',
    ],
    ['content that is a number', [{ role: 'user', content: 1 }], 'messages[0].content'],
    ['a text that is not a string', [user({ type: 'text', text: 1 })], 'messages[0].content[0].text'],
    [
      'an image in a system message',
      [{ role: 'system', content: [image(png)] }],
      'messages[0].content[0].type',
    ],
    [
      'an image of an assistant',
      [{ role: 'assistant', content: [image(png)] }],
      'messages[0].content[0].type',
    ],
    ['calls that are not an array', [{ role: 'assistant', tool_calls: {} }], 'messages[0].tool_calls'],
    ['a call that is not an object', [{ role: 'assistant', tool_calls: [1] }], 'messages[0].tool_calls[0]'],
    [
      'a call without an id',
      [{ role: 'assistant', tool_calls: [{ function: { name: 'f' } }] }],
      'messages[0].tool_calls[0].id',
    ],
    [
      'a custom call',
      [{ role: 'assistant', tool_calls: [{ id: '1', type: 'custom' }] }],
      'messages[0].tool_calls[0].type',
    ],
    ['a result without an id', [{ role: 'tool', content: 'a' }], 'messages[0].tool_call_id'],
  ])('is rejected with the field named: %s', (_, messages, param) => {
    expect(rejected({ messages })).toBe(param);
  });
});

describe('inference controls', () => {
  it('are sent in the platform’s fields, with every digit', () => {
    const body = parseExact(
      '{"messages":[{"role":"user","content":"Hi"}],"max_tokens":100,"temperature":0.50,"top_p":0.90,"stop":["a","b"],"top_k":40}',
    ) as JsonObject;
    const route = { upstreamModel: 'm', compatibility: {}, extraBody: {} };
    const request = unifiedRequest(body, { route, stream: false }, textDigest);
    expect(JSON.stringify(E.isRight(request) ? request.right.body : request.left)).toBe(
      '{"messages":[{"role":"user","content":[{"text":"Hi"}]}],' +
        '"inferenceConfig":{"maxTokens":100,"temperature":0.50,"topP":0.90,"stopSequences":["a","b"]},' +
        '"additionalModelRequestFields":{"top_k":40}}',
    );
  });

  it.each([
    [{ max_completion_tokens: 5 }, { maxTokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: 5 }, { maxTokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: null }, { maxTokens: 5 }],
    [{ stop: 'x' }, { stopSequences: ['x'] }],
    [{ stop_sequences: ['x', 'y'] }, { stopSequences: ['x', 'y'] }],
    [{ stop: [] }, undefined],
    [
      { temperature: 0, top_p: 1 },
      { temperature: 0, topP: 1 },
    ],
  ])('are converted from %j', (body, inferenceConfig) => {
    expect(sent(body as JsonObject)['inferenceConfig']).toEqual(inferenceConfig);
  });

  it.each([
    [{ max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
    [{ max_tokens: '5' }, 'max_tokens'],
    [{ max_completion_tokens: 1.5 }, 'max_completion_tokens'],
    [{ temperature: 'hot' }, 'temperature'],
    [{ stop: '' }, 'stop'],
    [{ stop: [1] }, 'stop'],
    [{ stop: ['a', ''] }, 'stop'],
    [{ stop_sequences: 'a' }, 'stop_sequences'],
    [{ stop: 'a', stop_sequences: ['b'] }, 'stop_sequences'],
    [{ top_k: 1.5 }, 'top_k'],
    [{ top_k: -1 }, 'top_k'],
  ])('are rejected with the field named: %j', (body, param) => {
    expect(rejected(body as JsonObject)).toBe(param);
  });

  it('are rejected with the field named where they change the answer and the platform has no such field', () => {
    const controls: readonly JsonObject[] = [
      { n: 2 },
      { presence_penalty: 0.5 },
      { frequency_penalty: -0.5 },
      { seed: 1 },
      { logit_bias: { '1': 2 } },
      { logprobs: true },
      { top_logprobs: 2 },
      { modalities: ['text', 'audio'] },
      { audio: { voice: 'a' } },
      { web_search_options: {} },
      { functions: [{ name: 'f' }] },
      { function_call: { name: 'f' } },
    ];
    for (const control of controls) expect(rejected(control)).toBe(Object.keys(control)[0]);
    expect(rejected({ response_format: { type: 'json_object' } })).toBe('response_format.type');
    expect(rejected({ response_format: { type: 'json_schema', json_schema: {} } })).toBe(
      'response_format.type',
    );
  });

  it('are dropped where they do not change the answer', () => {
    const nothing = {
      n: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      seed: null,
      logit_bias: {},
      logprobs: false,
      top_logprobs: 0,
      modalities: ['text'],
      functions: [],
      function_call: 'none',
      response_format: { type: 'text' },
      parallel_tool_calls: true,
      tools: [],
      tool_choice: 'auto',
      user: 'u',
      store: false,
      metadata: { a: 'b' },
      prompt_cache_key: 'k',
      safety_identifier: 's',
      service_tier: 'auto',
      output_config: {},
      outputConfig: {},
      stream: true,
      stream_options: { include_usage: true },
      verbosity: 'medium',
      what_nobody_knows: {},
    };
    expect(sent(nothing)).toEqual(sent({}));
    expect(sent({ parallel_tool_calls: false })).toEqual(sent({}));
  });

  it.each(['amazon.nova-pro-v1:0', 'us.amazon.nova-2-lite-v1:0'])(
    '`top_k` is sent to Nova models as `topK` of an `inferenceConfig`: %s',
    (model) => {
      const of = (additionalModelRequestFields: JsonObject) => ({ additionalModelRequestFields });
      const own = of({ inferenceConfig: { topK: 5 } });
      expect(sent({ top_k: 5 }, { model })).toMatchObject(own);
      expect(sent({ top_k: 5, ...own }, { model })).toMatchObject(own);
      expect(rejected({ top_k: 6, ...own }, { model })).toBe('additionalModelRequestFields.inferenceConfig');
      expect(sent({ top_k: 5 }, { model: 'anthropic.claude-sonnet-4-5-20250929-v1:0' })).toMatchObject(
        of({ top_k: 5 }),
      );
    },
  );

  it('are dropped for latest-generation models where they are defaults, and rejected otherwise', () => {
    const model = 'anthropic.claude-opus-4-7';
    expect(sent({ temperature: 1, top_p: 1 }, { model })).toEqual(sent({}));
    expect(rejected({ temperature: 0.5 }, { model })).toBe('temperature');
    expect(rejected({ top_k: 5 }, { model })).toBe('top_k');
  });
});

describe('models outside the messages family', () => {
  const nova = (effort: string) => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } });
  const nova2 = 'us.amazon.nova-2-lite-v1:0';
  const gptOss = 'openai.gpt-oss-120b-1:0';
  const gpt = 'global.openai.gpt-6-astra';
  const llama = 'us.meta.llama4-scout-17b-instruct-v1:0';

  it.each([
    ['an effort', nova2, { reasoning_effort: 'low' }, nova('low')],
    ['an effort', nova2, { reasoning: { effort: 'high' } }, nova('high')],
    ['an effort of the messages family', nova2, { output_config: { effort: 'medium' } }, nova('medium')],
    ['no effort', nova2, { reasoning_effort: 'none' }, { reasoningConfig: { type: 'disabled' } }],
    [
      'thinking disabled',
      nova2,
      { thinking: { type: 'disabled' } },
      { reasoningConfig: { type: 'disabled' } },
    ],
    ['a budget', nova2, { thinking: { type: 'enabled', budget_tokens: 31_999 } }, nova('high')],
    ['a small budget', nova2, { reasoning_budget_tokens: 1024 }, nova('low')],
    [
      'a budget and an effort',
      nova2,
      { reasoning_effort: 'medium', thinking_budget_tokens: 99 },
      nova('medium'),
    ],
    ['an effort', gptOss, { reasoning_effort: 'high' }, { reasoning_effort: 'high' }],
    [
      'adaptive thinking with an effort',
      gptOss,
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
      { reasoning_effort: 'high' },
    ],
    ['adaptive thinking', gptOss, { thinking: { type: 'adaptive' } }, undefined],
    ['an effort', gpt, { reasoning_effort: 'xhigh' }, { reasoning: { effort: 'xhigh' } }],
    ['an effort', 'openai.gpt-5.5', { reasoning_effort: 'low' }, { reasoning: { effort: 'low' } }],
    ['no effort', gpt, { reasoning_effort: 'none' }, { reasoning: { effort: 'none' } }],
    ['adaptive thinking', llama, { thinking: { type: 'adaptive' } }, undefined],
    ['nothing', llama, {}, undefined],
  ])('get reasoning controls in their own fields: %s on %s', (_, model, body, fields) => {
    expect(sent(body as JsonObject, { model })['additionalModelRequestFields']).toEqual(fields);
  });

  it.each([
    ['an effort', llama, { reasoning_effort: 'low' }, 'reasoning_effort'],
    ['an effort', 'amazon.nova-lite-v1:0', { reasoning: { effort: 'low' } }, 'reasoning.effort'],
    ['an effort', 'deepseek.v3-v1:0', { output_config: { effort: 'low' } }, 'output_config.effort'],
    ['a budget', 'qwen.qwen3-32b-v1:0', { reasoning_budget_tokens: 9 }, 'reasoning_budget_tokens'],
    ['thinking disabled', llama, { thinking: { type: 'disabled' } }, 'thinking.type'],
    ['no effort', gptOss, { reasoning_effort: 'none' }, 'reasoning_effort'],
    [
      'thinking disabled beside an effort',
      gptOss,
      { thinking: { type: 'disabled' }, output_config: { effort: 'high' } },
      'thinking.type',
    ],
    ['no budget', nova2, { thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
  ])('reject reasoning controls for which they have no field: %s on %s', (_, model, body, param) => {
    expect(rejected(body as JsonObject, { model })).toBe(param);
  });

  it('are called without the effort of messages callers where they have no field for it, with a note', () => {
    const call = {
      route: { upstreamModel: llama, compatibility: {}, extraBody: {} },
      stream: false,
      translated: true,
    } as const;
    const effort = { output_config: { effort: 'low' } };
    const budget = { thinking: { type: 'enabled', budget_tokens: 31_999 } };
    const asking = (asked: JsonObject) => ({ messages: [{ role: 'user', content: 'Hi' }], ...asked });
    for (const asked of [effort, budget, { ...budget, ...effort }, { thinking: { type: 'adaptive' } }])
      expect(unifiedRequest(asking(asked), call, textDigest)).toEqual(
        E.right({
          body: { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] },
          notes: { reasoning: { effort: 'left_out', reason: 'no_known_field_of_the_model' } },
        }),
      );
    const known = { ...call, route: { ...call.route, upstreamModel: gptOss } };
    for (const asked of [effort, { ...budget, ...effort }])
      expect(unifiedRequest(asking(asked), known, textDigest)).toMatchObject(
        E.right({ body: { additionalModelRequestFields: { reasoning_effort: 'low' } }, notes: undefined }),
      );
  });

  it.each([
    ['an effort', { output_config: { effort: 'high' }, thinking: { type: 'adaptive' } }],
    ['a higher effort', { output_config: { effort: 'max' } }],
    ['a budget', { thinking: { type: 'enabled', budget_tokens: 31_999 } }],
  ])(
    'get the highest effort that they take with a limit of tokens from messages callers, with a note: %s',
    (_, asked) => {
      const body = { messages: [{ role: 'user', content: 'Hi' }], max_completion_tokens: 32_000, ...asked };
      const call = { stream: false, translated: true } as const;
      const on = (upstreamModel: string) =>
        unifiedRequest(
          body,
          { ...call, route: { upstreamModel, compatibility: {}, extraBody: {} } },
          textDigest,
        );
      expect(on(nova2)).toMatchObject(
        E.right({
          body: { inferenceConfig: { maxTokens: 32_000 }, additionalModelRequestFields: nova('medium') },
          notes: { reasoning: { effort: 'medium', reason: 'no_higher_effort_with_max_tokens' } },
        }),
      );
      expect(on(gptOss)).toMatchObject(E.right({ notes: undefined }));
    },
  );

  it('get no reasoning field where messages callers disable thinking, whatever the effort', () => {
    const body = { thinking: { type: 'disabled' }, output_config: { effort: 'high' } };
    for (const model of [llama, gptOss, nova2])
      expect(sent(body, { model, translated: true })).toEqual(sent({}, { model }));
  });

  it('reject an effort with a message that names the reason and what may be sent instead', () => {
    const request = asked({ reasoning_effort: 'low' }, { model: llama });
    expect(E.isLeft(request) ? request.left.message : '').toMatch(
      /no field of its API.*additionalModelRequest/,
    );
    const own = { reasoning: 'deep' };
    expect(sent({ additionalModelRequestFields: own }, { model: llama })).toMatchObject({
      additionalModelRequestFields: own,
    });
  });

  it('get `temperature` and `top_p` from the caller', () => {
    expect(sent({ temperature: 0.5, top_p: 0.9 }, { model: nova2 })['inferenceConfig']).toEqual({
      temperature: 0.5,
      topP: 0.9,
    });
  });
});

describe('the output format and the service tier', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } };
  const textFormat = {
    type: 'json_schema',
    structure: { jsonSchema: { schema: JSON.stringify(schema) } },
  };

  it.each([
    ['outputConfig', { outputConfig: { textFormat } }],
    ['its snake case', { output_config: { text_format: textFormat } }],
    ['the messages family’s `format`', { output_config: { format: { type: 'json_schema', schema } } }],
  ])('the platform’s `outputConfig` is sent for %s', (_, body) => {
    expect(sent(body as JsonObject)).toEqual({ ...sent({}), outputConfig: { textFormat } });
  });

  it.each([
    ['a chat value', { service_tier: 'flex' }, { type: 'flex' }],
    ['another chat value', { service_tier: 'default' }, { type: 'default' }],
    ['the platform’s own', { serviceTier: { type: 'priority' } }, { type: 'priority' }],
    ['its snake case', { service_tier: { type: 'reserved' } }, { type: 'reserved' }],
  ])('the platform’s `serviceTier` is sent for %s', (_, body, serviceTier) => {
    expect(sent(body as JsonObject)).toEqual({ ...sent({}), serviceTier });
  });

  it.each([
    [{ service_tier: 'scale' }, 'service_tier'],
    [{ serviceTier: { type: 'fast' } }, 'serviceTier.type'],
    [{ serviceTier: {} }, 'serviceTier.type'],
    [{ serviceTier: { type: 'flex' }, service_tier: 'flex' }, 'serviceTier'],
    [{ output_config: { task_budget: { type: 'tokens', total: 64_000 } } }, 'output_config.task_budget'],
    [{ output_config: { verbosity: 'low' } }, 'output_config.verbosity'],
    [{ output_config: { format: { type: 'grammar' } } }, 'output_config.format.type'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    [{ output_config: { format: 'json' } }, 'output_config.format'],
    [{ outputConfig: { effort: 'low' } }, 'outputConfig.effort'],
    [{ outputConfig: [] }, 'outputConfig'],
    [
      { outputConfig: { textFormat }, output_config: { format: { type: 'json_schema', schema } } },
      'output_config.format',
    ],
  ])('%j is rejected with the field named', (body, param) => {
    expect(rejected(body as JsonObject)).toBe(param);
  });

  it('an effort in the platform’s `outputConfig` is rejected with the field to use', () => {
    expect(asked({ outputConfig: { effort: 'low' } })).toMatchObject({
      left: { message: '`outputConfig.effort` is not sent: ask for it in `output_config.effort`.' },
    });
  });
});

describe('`extra_body`', () => {
  it('overrides the request last: objects are merged deeply, other values are replaced', () => {
    expect(
      sent(
        { temperature: 0.5, requestMetadata: { a: 'b' } },
        {
          extraBody: {
            inferenceConfig: { temperature: 0, maxTokens: 9 },
            serviceTier: { type: 'flex' },
            requestMetadata: { c: 'd' },
          },
        },
      ),
    ).toMatchObject({
      inferenceConfig: { temperature: 0, maxTokens: 9 },
      serviceTier: { type: 'flex' },
      requestMetadata: { a: 'b', c: 'd' },
    });
  });
});
