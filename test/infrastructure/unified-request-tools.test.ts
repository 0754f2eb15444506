import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { anyText } from '../support/arbitraries/text.ts';
import {
  type About,
  asked,
  call,
  file,
  image,
  png,
  rejected,
  sent,
  text,
  tool,
  turns,
} from './unified-sending.ts';

describe('tool calls and their results', () => {
  it('consecutive tool results and the next user message are one user turn', () => {
    expect(
      turns([
        { role: 'user', content: 'Both.' },
        { role: 'assistant', content: null, tool_calls: [call('1', 'f', '{"a":1}'), call('2', 'g', '')] },
        { role: 'tool', tool_call_id: '1', content: 'one' },
        { role: 'tool', tool_call_id: '2', content: [text('two'), text('three')] },
        { role: 'user', content: 'And?' },
      ]),
    ).toEqual([
      { role: 'user', content: [{ text: 'Both.' }] },
      {
        role: 'assistant',
        content: [
          { toolUse: { toolUseId: '1', name: 'f', input: { a: 1 } } },
          { toolUse: { toolUseId: '2', name: 'g', input: {} } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: '1', content: [{ text: 'one' }] } },
          { toolResult: { toolUseId: '2', content: [{ text: 'two' }, { text: 'three' }] } },
          { text: 'And?' },
        ],
      },
    ]);
  });

  it('tool results come before the user text of their turn, whatever the order of the messages', () => {
    const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: id });
    fc.assert(
      fc.property(fc.shuffledSubarray(['1', '2', 'a', 'b'], { minLength: 1 }), (order) => {
        const [, said] = turns([
          { role: 'assistant', tool_calls: [call('1'), call('2')] },
          ...order.map((each) => (/\d/.test(each) ? result(each) : { role: 'user', content: each })),
        ]) as unknown as [unknown, { content: readonly JsonObject[] }];
        const told = (wanted: RegExp): readonly string[] => order.filter((each) => wanted.test(each));
        expect(said.content).toEqual([
          ...told(/\d/).map((id) => ({ toolResult: { toolUseId: id, content: [{ text: id }] } })),
          ...told(/[a-z]/).map((words) => ({ text: words })),
        ]);
      }),
    );
  });

  it.each([
    ['us.meta.llama4-maverick-17b-instruct-v1:0', true],
    ['mistral.mistral-large-2402-v1:0', true],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.mistral.pixtral-large-2502-v1:0', true],
    ['us.amazon.nova-pro-v1:0', false],
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', false],
    ['moonshotai.kimi-k2-thinking', false],
  ])('for %s, text is separated from calls and results: %j', (model, separated) => {
    const use = { toolUse: { toolUseId: '1', name: 'f', input: {} } };
    const result = { toolResult: { toolUseId: '1', content: [{ text: 'one' }] } };
    const told = turns(
      [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: 'I will.', tool_calls: [call('1')] },
        { role: 'tool', tool_call_id: '1', content: 'one' },
        { role: 'user', content: 'And?' },
      ],
      { model },
    );
    const apart = [
      { role: 'assistant', content: [{ text: 'I will.' }] },
      { role: 'user', content: [{ text: 'Go on.' }] },
      { role: 'assistant', content: [use] },
      { role: 'user', content: [result] },
      { role: 'assistant', content: [{ text: 'Understood.' }] },
      { role: 'user', content: [{ text: 'And?' }] },
    ];
    const together = [
      { role: 'assistant', content: [{ text: 'I will.' }, use] },
      { role: 'user', content: [result, { text: 'And?' }] },
    ];
    expect(told).toEqual([{ role: 'user', content: [{ text: 'Look.' }] }, ...(separated ? apart : together)]);
  });

  it('system messages between the turns of a messages caller stay there as reminders, after results', () => {
    const use = { toolUse: { toolUseId: '1', name: 'f', input: {} } };
    const said = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Look.' },
      { role: 'assistant', tool_calls: [call('1')] },
      { role: 'system', content: 'Be brief.' },
      { role: 'tool', tool_call_id: '1', content: 'one' },
    ];
    const result = { toolResult: { toolUseId: '1', content: [{ text: 'one' }] } };
    const reminder = { text: '<system-reminder>\nBe brief.\n</system-reminder>' };
    const before = [
      { role: 'user', content: [{ text: 'Look.' }] },
      { role: 'assistant', content: [use] },
    ];
    const tools = [{ type: 'function', function: { name: 'f' } }];
    const body = { messages: said, tools };
    expect(sent(body, { translated: true })).toMatchObject({
      system: [{ text: 'S' }],
      messages: [...before, { role: 'user', content: [result, reminder] }],
    });
    expect(sent(body)).toMatchObject({
      system: [{ text: 'S' }, { text: 'Be brief.' }],
      messages: [...before, { role: 'user', content: [result] }],
    });
  });

  const called = { role: 'assistant', tool_calls: [call('1')] };

  it.each([[''], [' \n'], [null], [[]], [[text('')]]])(
    'a result without content has a text in its place: %j',
    (content) => {
      expect(turns([called, { role: 'tool', tool_call_id: '1', content }]).slice(1)).toEqual([
        {
          role: 'user',
          content: [{ toolResult: { toolUseId: '1', content: [{ text: '(empty result)' }] } }],
        },
      ]);
    },
  );

  it('tool results accept text, JSON, base64 images and documents', () => {
    const content = [
      text('a'),
      { type: 'json', json: { b: 1 } },
      { type: 'json', json: [1, 2] },
      image(png),
      file('c.csv', 'data:text/csv;base64,YQ=='),
    ];
    expect(turns([called, { role: 'tool', tool_call_id: '1', content }]).slice(1)).toEqual([
      {
        role: 'user',
        content: [
          {
            toolResult: {
              toolUseId: '1',
              content: [
                { text: 'a' },
                { json: { b: 1 } },
                { text: '[1,2]' },
                { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
                { document: { format: 'csv', name: 'c', source: { bytes: 'YQ==' } } },
              ],
            },
          },
        ],
      },
    ]);
    expect(turns([called, { role: 'tool', tool_call_id: '1', content: { b: 1 } }]).slice(1)).toMatchObject([
      { content: [{ toolResult: { content: [{ json: { b: 1 } }] } }] },
    ]);
  });

  it('arguments keep every digit, and invalid JSON is sent as text in `_raw_arguments`', () => {
    const request = asked({
      tools: [tool('f')],
      messages: [
        { role: 'assistant', tool_calls: [call('1', 'f', '{"n":9007199254740993,"m":1.50}')] },
        { role: 'assistant', tool_calls: [call('2', 'f', '{"n":')] },
      ],
    });
    const out = JSON.stringify(E.isRight(request) ? request.right.body : '');
    expect(out).toContain('"input":{"n":9007199254740993,"m":1.50}');
    expect(out).toContain('"input":{"_raw_arguments":"{\\"n\\":"}');
  });

  it('arguments that are not a string are rejected with the field named', () => {
    const bad = { id: '1', type: 'function', function: { name: 'f', arguments: { a: 1 } } };
    expect(rejected({ messages: [{ role: 'assistant', tool_calls: [bad] }] })).toBe(
      'messages[0].tool_calls[0].function.arguments',
    );
  });

  it('calls and results are sent as text where the request offers no tools', () => {
    const messages = [
      { role: 'user', content: 'Do.' },
      {
        role: 'assistant',
        content: 'Well.',
        refusal: 'No more.',
        tool_calls: [call('a|b', 'any name at all', '{"x":1}'), call('2', 'f', ' ')],
      },
      { role: 'tool', tool_call_id: 'a|b', content: [text('done'), { type: 'json', json: { y: 2 } }] },
      { role: 'tool', tool_call_id: '2', content: '' },
      { role: 'user', content: 'Sum up.' },
    ];
    const expected = [
      { role: 'user', content: [{ text: 'Do.' }] },
      {
        role: 'assistant',
        content: [
          { text: 'Well.' },
          { text: 'No more.' },
          { text: 'The tool any name at all was called (a|b) with: {"x":1}' },
          { text: 'The tool f was called (2) with: {}' },
        ],
      },
      {
        role: 'user',
        content: [
          { text: 'The tool call a|b answered:' },
          { text: 'done' },
          { text: '{"y":2}' },
          { text: 'The tool call 2 answered:' },
          { text: 'Sum up.' },
        ],
      },
    ];
    for (const body of [{}, { tools: [] }, { tools: [tool('f')], tool_choice: 'none' }])
      expect(sent({ messages, ...body })).toEqual({ messages: expected });
  });

  it('reasoning that callers send back is dropped', () => {
    const said = {
      role: 'assistant',
      content: 'a',
      reasoning_content: 'b',
      provider_metadata: { cloud_b_platform: { reasoning: [{ type: 'thinking', thinking: 'c' }] } },
    };
    expect(turns([said])).toEqual([{ role: 'assistant', content: [{ text: 'a' }] }]);
  });

  it.each([
    ['thinking', { type: 'thinking', thinking: [{ type: 'text', text: 'b' }] }],
    ['redacted thinking', { type: 'redacted_thinking', data: 'b' }],
    ['reasoning', { type: 'reasoning', text: 'b' }],
  ])('a content part with %s is dropped', (_, part) => {
    expect(turns([{ role: 'assistant', content: [part, { type: 'text', text: 'a' }] }])).toEqual([
      { role: 'assistant', content: [{ text: 'a' }] },
    ]);
  });
});

describe('tool ids', () => {
  const idsOf = (id: string): readonly string[] => {
    const [said, answered] = turns([
      { role: 'assistant', tool_calls: [call(id)] },
      { role: 'tool', tool_call_id: id, content: 'a' },
    ]) as unknown as [
      { content: [{ toolUse: { toolUseId: string } }] },
      { content: [{ toolResult: { toolUseId: string } }] },
    ];
    return [said.content[0].toolUse.toolUseId, answered.content[0].toolResult.toolUseId];
  };

  it.each([
    ['call_1'],
    ['functions.get_temperature:0'],
    ['tooluse_yypYDr71TwCwByoyao4-Vg'],
    ['a'.repeat(64)],
    ['.:-_'],
  ])('valid provider-native ids are preserved: %s', (id) => {
    expect(idsOf(id)).toEqual([id, id]);
  });

  it.each([
    ['empty', ''],
    ['65 characters', 'a'.repeat(65)],
    ['a bar', 'a|b'],
    ['unicode', 'é'],
    ['a line end', 'a\n'],
  ])('an invalid id is replaced in call and result by the same bounded value: %s', (_, id) => {
    const bounded = `tool_${textDigest(id)}`;
    expect(bounded).toMatch(/^tool_[A-Za-z0-9_-]{43}$/);
    expect(idsOf(id)).toEqual([bounded, bounded]);
  });

  it('calls of several answers with the same id get ids of their own, and so do their results', () => {
    const answered = turns(
      ['a', 'b'].flatMap((content) => [
        { role: 'assistant', tool_calls: [call('call_0')] },
        { role: 'tool', tool_call_id: 'call_0', content },
      ]),
    );
    const ids = JSON.stringify(answered).match(/(?<="toolUseId":")[^"]*/g);
    const own = `tool_${textDigest('call_0\n1')}`;
    expect(ids).toEqual(['call_0', 'call_0', own, own]);
  });

  it('any id becomes a valid one, the same in call and result, and different for different ids', () => {
    const anId = fc.oneof(anyText, fc.stringMatching(/^[A-Za-z0-9_.:|-]{0,70}$/));
    fc.assert(
      fc.property(anId, anId, (id, other) => {
        const [use, result] = idsOf(id);
        expect(use).toMatch(/^[A-Za-z0-9_.:-]{1,64}$/);
        expect(result).toBe(use);
        if (other.toWellFormed() !== id.toWellFormed()) expect(idsOf(other)[0]).not.toBe(use);
      }),
    );
  });
});

describe('function tools', () => {
  const config = (body: JsonObject, about?: About) => sent(body, about)['toolConfig'];
  const specs = (tools: readonly JsonObject[], about?: About) =>
    (config({ tools }, about) as { tools: { toolSpec: unknown }[] }).tools.map(({ toolSpec }) => toolSpec);

  it('become tool specifications', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    expect(
      specs([tool('f', { description: 'Does f.', parameters }), tool('g', { description: '' })]),
    ).toEqual([
      { name: 'f', description: 'Does f.', inputSchema: { json: parameters } },
      { name: 'g', inputSchema: { json: { type: 'object' } } },
    ]);
  });

  it('get the type `object` in place of null, and keep any other', () => {
    const properties = { a: { type: 'string' } };
    const parameters = [{ type: null, properties }, { type: ['object', 'null'] }];
    expect(specs(parameters.map((each, index) => tool(`f${index}`, { parameters: each })))).toEqual([
      { name: 'f0', inputSchema: { json: { type: 'object', properties } } },
      { name: 'f1', inputSchema: { json: { type: ['object', 'null'] } } },
    ]);
  });

  it('get the type `object` in a schema without a type, and empty `properties` in place of null', () => {
    expect(specs([tool('f', { parameters: { properties: null } }), tool('g', { parameters: null })])).toEqual(
      [
        { name: 'f', inputSchema: { json: { type: 'object', properties: {} } } },
        { name: 'g', inputSchema: { json: { type: 'object' } } },
      ],
    );
  });

  it.each([
    ['auto', { auto: {} }],
    ['required', { any: {} }],
    [{ type: 'function', function: { name: 'f' } }, { tool: { name: 'f' } }],
    [null, undefined],
  ])('are sent with the choice %j', (tool_choice, toolChoice) => {
    expect(config({ tools: [tool('f')], tool_choice })).toEqual({
      tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }],
      ...(toolChoice === undefined ? {} : { toolChoice }),
    });
  });

  it('are left out with the choice `none`', () => {
    expect(sent({ tools: [tool('f')], tool_choice: 'none' })).not.toHaveProperty('toolConfig');
  });

  it.each([
    ['another type', { tools: [tool('f'), { type: 'web_search' }] }, 'tools[1].type'],
    ['a custom tool', { tools: [{ type: 'custom', custom: {} }] }, 'tools[0].type'],
    ['no function', { tools: [{ type: 'function' }] }, 'tools[0].function'],
    ['no name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    ['a name with a dot', { tools: [tool('a.b')] }, 'tools[0].function.name'],
    [
      'parameters that are not an object',
      { tools: [tool('f', { parameters: [] })] },
      'tools[0].function.parameters',
    ],
    ['an unknown choice', { tools: [tool('f')], tool_choice: 'any' }, 'tool_choice'],
    [
      'a choice among allowed tools',
      { tools: [tool('f')], tool_choice: { type: 'allowed_tools' } },
      'tool_choice.type',
    ],
    [
      'a choice without a function',
      { tools: [tool('f')], tool_choice: { type: 'function' } },
      'tool_choice.function',
    ],
    [
      'a choice of a tool that is not offered',
      { tools: [tool('f')], tool_choice: { type: 'function', function: { name: 'g' } } },
      'tool_choice.function.name',
    ],
    ['a required call without tools', { tool_choice: 'required' }, 'tool_choice'],
    [
      'no parallel calls, on a model of another family',
      { tools: [tool('f')], parallel_tool_calls: false },
      'parallel_tool_calls',
    ],
    [
      'no parallel calls, with a required call of one of two tools',
      { tools: [tool('f'), tool('g')], tool_choice: 'required', parallel_tool_calls: false },
      'parallel_tool_calls',
    ],
    ['parallel calls: 1', { tools: [tool('f')], parallel_tool_calls: 1 }, 'parallel_tool_calls'],
  ])('are rejected with the field named: %s', (_, body, param) => {
    expect(rejected(body as JsonObject)).toBe(param);
  });

  it.each([
    [undefined, { type: 'auto' }],
    ['auto', { type: 'auto' }],
    ['required', { type: 'any' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
  ])('without parallel calls have their choice as a messages family field: %j', (tool_choice, told) => {
    const model = 'us.anthropic.claude-sonnet-4-6';
    const body = { tools: [tool('f')], parallel_tool_calls: false, ...(tool_choice && { tool_choice }) };
    const request = sent(body, { model });
    expect(request['toolConfig']).not.toHaveProperty('toolChoice');
    expect(request['additionalModelRequestFields']).toEqual({
      tool_choice: { ...told, disable_parallel_tool_use: true },
    });
    expect(sent({ ...body, tool_choice: 'none' }, { model })).toEqual(sent({}));
    const own = { tool_choice: { type: 'none' } };
    expect(rejected({ ...body, additionalModelRequestFields: own }, { model })).toBe(
      'additionalModelRequestFields.tool_choice',
    );
  });

  it.each([
    ['required', [tool('f')], { any: {} }],
    [{ type: 'function', function: { name: 'f' } }, [tool('f'), tool('g')], { tool: { name: 'f' } }],
  ])(
    'without parallel calls have their usual choice where it leaves one function: %j',
    (choice, tools, told) => {
      const body = { tools, tool_choice: choice, parallel_tool_calls: false };
      expect(config(body)).toMatchObject({ toolChoice: told });
    },
  );

  it('are rejected with a name over 64 characters, with the limit named', () => {
    expect(specs([tool('f'.repeat(64))])).toHaveLength(1);
    expect(rejected({ tools: [tool('f'.repeat(65))] })).toBe('tools[0].function.name');
    const error = asked({ tools: [tool('f'.repeat(65))] });
    expect(E.isLeft(error) ? error.left.message : '').toMatch(/65 characters.*at most 64/);
  });

  it.each([
    ['f_1-b', 'f_1-b'],
    ['browser.tabs.open', 'browser_tabs_open'],
    ['$lookup</arg>', '_lookup__arg_'],
    ['g'.repeat(65), 'g'.repeat(64)],
  ])('an earlier call of %s, which need not be a tool, has the name %s', (name, told) => {
    expect(turns([{ role: 'assistant', tool_calls: [call('1', name)] }])).toEqual([
      { role: 'assistant', content: [{ toolUse: { toolUseId: '1', name: told, input: {} } }] },
    ]);
  });

  it.each([
    ['true on a model of another family', 'amazon.nova-lite-v1:0', undefined, true, true],
    ['false on a model of another family', 'amazon.nova-lite-v1:0', undefined, false, false],
    ['true on an older model', 'us.anthropic.claude-sonnet-4-5-20250929-v1:0', undefined, true, true],
    [
      'true on a latest-generation model',
      'global.anthropic.claude-opus-4-7-v1:0',
      undefined,
      true,
      undefined,
    ],
    ['false on a latest-generation model', 'anthropic.claude-opus-5', undefined, false, undefined],
    ['true on a latest-generation model that supports it', 'anthropic.claude-opus-5', true, true, true],
    [
      'true on an opaque profile',
      'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/x1',
      undefined,
      true,
      true,
    ],
    [
      'true on an opaque profile that does not support it',
      'arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/x1',
      false,
      true,
      undefined,
    ],
  ])('an explicit `strict` is sent only where supported: %s', (_, model, supports, strict, expected) => {
    const cloudB = supports === undefined ? {} : { supports_strict_tools: supports };
    expect(specs([tool('f', { strict })], { model, cloudB })).toEqual([
      {
        name: 'f',
        inputSchema: { json: { type: 'object' } },
        ...(expected === undefined ? {} : { strict: expected }),
      },
    ]);
    expect(specs([tool('f')], { model, cloudB })[0]).not.toHaveProperty('strict');
  });
});
