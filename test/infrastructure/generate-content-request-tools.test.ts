import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { contents, hi, newer, older, outcome, refused, sent } from './generate-content-sending.ts';

const call = (id: string, name: string, args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

describe('tool calls and their results', () => {
  const asked = {
    role: 'assistant',
    content: 'Let me look.',
    tool_calls: [call('a', 'weather', '{"at":"Bonn","n":9007199254740993}'), call('b', 'time', '')],
  };

  it('results have the name of their call and share one turn, in the order of the calls', () => {
    const request = outcome({
      messages: [
        ...hi,
        asked,
        { role: 'tool', tool_call_id: 'b', content: '12:00' },
        { role: 'tool', tool_call_id: 'a', content: '{"c": 9007199254740993}' },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(JSON.stringify(E.isRight(request) && request.right['contents'])).toBe(
      '[{"role":"user","parts":[{"text":"Hi"}]},' +
        '{"role":"model","parts":[{"text":"Let me look."},' +
        '{"functionCall":{"name":"weather","args":{"at":"Bonn","n":9007199254740993}}},' +
        '{"functionCall":{"name":"time","args":{}}}]},' +
        '{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{"c":9007199254740993}}},' +
        '{"functionResponse":{"name":"time","response":{"output":"12:00"}}}]},' +
        '{"role":"user","parts":[{"text":"And?"}]}]',
    );
  });

  it.each([
    ['text', 'done', { output: 'done' }],
    ['nothing', '', { output: '' }],
    ['null', null, { output: '' }],
    ['an array', '[1]', { output: '[1]' }],
    ['a cut object', '{"a":', { output: '{"a":' }],
    ['an object', ' {"a": 1}', { a: 1 }],
    ['an error', '{"error": "no"}', { error: 'no' }],
    [
      'an object with `$ref`, which the upstream reserves for media',
      '{"schema": {"$ref": "#/components/schemas/Pet"}}',
      { output: '{"schema": {"$ref": "#/components/schemas/Pet"}}' },
    ],
    [
      'an object that is too deep',
      `{"a":${'['.repeat(300)}${']'.repeat(300)}}`,
      expect.objectContaining({ output: expect.any(String) }),
    ],
    [
      'text parts',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      { output: 'ab' },
    ],
  ])('translates a result that is %s', (_case, content, response) => {
    const [, , turn] = contents([
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'f')] },
      { role: 'tool', tool_call_id: 'a', content },
    ]) as readonly unknown[];
    expect(turn).toEqual({ role: 'user', parts: [{ functionResponse: { name: 'f', response } }] });
  });

  it('results are followed by what else the user says, in a content of its own', () => {
    const image = { type: 'image_url', image_url: { url: 'gs://b/a.png' } };
    const [, , ...turns] = contents([
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'f'), call('b', 'g')] },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'see' }, image] },
      { role: 'user', content: 'Wait.' },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
    ]) as readonly { role: string; parts: readonly object[] }[];
    expect(turns.map(({ role, parts }) => [role, ...parts.map((part) => Object.keys(part)[0])])).toEqual([
      ['user', 'functionResponse', 'functionResponse'],
      ['user', 'fileData', 'text'],
    ]);
  });

  it('a result with a repeated id belongs to the next open call of the latest assistant message', () => {
    const turns = contents([
      ...hi,
      { role: 'assistant', tool_calls: [call('', 'first')] },
      { role: 'tool', tool_call_id: '', content: '1' },
      { role: 'assistant', tool_calls: [call('', 'second'), call('', 'third')] },
      { role: 'tool', tool_call_id: '', content: '2' },
      { role: 'tool', tool_call_id: '', content: '3' },
    ]) as readonly { parts: readonly object[] }[];
    const results = (turn: number) =>
      turns[turn]!.parts.map((part) => (part as { functionResponse: object }).functionResponse);
    expect(results(2)).toEqual([{ name: 'first', response: { output: '1' } }]);
    expect(results(4)).toEqual([
      { name: 'second', response: { output: '2' } },
      { name: 'third', response: { output: '3' } },
    ]);
    const unanswered = contents([
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'first')] },
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'second')] },
      { role: 'tool', tool_call_id: 'a', content: '1' },
    ]) as readonly object[];
    expect(unanswered[4]).toMatchObject({ parts: [{ functionResponse: { name: 'second' } }] });
  });

  it.each([
    ['a call', { tool_calls: [call('a', 'f')] }, [{ role: 'user', parts: [{ text: 'Begin.' }] }]],
    ['text', { content: 'Hello.' }, []],
  ])('a conversation that begins with %s of the assistant is preceded by %j', (_, said, before) => {
    const told = contents([{ role: 'assistant', ...said }, ...hi]) as readonly object[];
    expect(told.slice(0, -2)).toEqual(before);
    expect(told.at(-2)).toMatchObject({ role: 'model' });
  });

  it('ids of any form match results to their calls, in any order of the results', () => {
    const anId = fc.oneof(fc.string(), fc.string({ minLength: 65, maxLength: 200, unit: 'grapheme' }));
    fc.assert(
      fc.property(fc.uniqueArray(anId, { minLength: 1, maxLength: 8 }), fc.nat(), (ids, turn) => {
        const results = ids.map((id, index) => ({ role: 'tool', tool_call_id: id, content: `${index}` }));
        const turned = [...results.slice(turn % ids.length), ...results.slice(0, turn % ids.length)];
        const told = contents([
          ...hi,
          { role: 'assistant', tool_calls: ids.map((id, index) => call(id, `f${index}`)) },
          ...turned,
        ]) as readonly { parts: unknown }[];
        expect(told[2]!.parts).toEqual(
          ids.map((_, index) => ({
            functionResponse: { name: `f${index}`, response: { output: `${index}` } },
          })),
        );
      }),
    );
  });

  it.each([[''], ['null'], [' ']])('empty arguments become an empty object: %j', (args) => {
    const told = contents([...hi, { role: 'assistant', tool_calls: [call('a', 'f', args)] }]);
    expect(told).toMatchObject([{}, { parts: [{ functionCall: { name: 'f', args: {} } }] }]);
  });

  it.each([['[1]'], ['{"a":'], ['12 apples']])(
    'arguments that are not an object are sent as `_raw_arguments`: %j',
    (args) => {
      const told = contents([...hi, { role: 'assistant', tool_calls: [call('a', 'f', args)] }]);
      expect(told).toMatchObject([{}, { parts: [{ functionCall: { args: { _raw_arguments: args } } }] }]);
    },
  );

  it('the newest models receive a placeholder signature on the first call of each turn', () => {
    const messages = [
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'f'), call('b', 'g')] },
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      { role: 'assistant', tool_calls: [call('c', 'h')] },
    ];
    const signed = (model: string) =>
      (contents(messages, model) as readonly { parts: readonly JsonObject[] }[]).flatMap(({ parts }) =>
        parts.filter((part) => 'functionCall' in part).map((part) => part['thoughtSignature']),
      );
    const standIn = 'skip_thought_signature_validator';
    expect(signed(newer)).toEqual([standIn, undefined, standIn]);
    expect(signed(older)).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    [
      'a result without a call',
      [...hi, { role: 'tool', tool_call_id: 'x', content: '' }],
      'messages[1].tool_call_id',
    ],
    ['a result without an id', [...hi, { role: 'tool', content: '' }], 'messages[1].tool_call_id'],
    [
      'arguments that are no text',
      [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: {} } }],
        },
      ],
      'messages[0].tool_calls[0].function.arguments',
    ],
    [
      'a call without a name',
      [{ role: 'assistant', tool_calls: [call('a', '')] }],
      'messages[0].tool_calls[0].function.name',
    ],
    [
      'a call of another type',
      [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom' }] }],
      'messages[0].tool_calls[0].type',
    ],
  ])('%s is rejected with its path', (_case, messages, path) => {
    expect(refused({ messages })).toBe(path);
  });
});

describe('`tools` and `tool_choice`', () => {
  const tool = (described: object) => ({ type: 'function', function: described });
  const weather = tool({
    name: 'weather',
    description: 'Tells.',
    parameters: { type: 'object' },
    strict: true,
  });

  it('function tools become declarations with their JSON schema unchanged', () => {
    const parameters = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { at: { $ref: '#/$defs/at' }, n: { default: 1, const: null } },
      additionalProperties: false,
      $defs: { at: { type: ['string', 'null'] } },
    };
    expect(sent({ tools: [weather, tool({ name: 'f', parameters })] })['tools']).toEqual([
      {
        functionDeclarations: [
          { name: 'weather', description: 'Tells.', parametersJsonSchema: { type: 'object' } },
          { name: 'f', parametersJsonSchema: parameters },
        ],
      },
    ]);
  });

  it.each([
    ['no parameters', {}],
    ['null parameters', { parameters: null }],
    ['empty parameters', { parameters: {} }],
  ])('%s send no schema', (_case, members) => {
    expect(sent({ tools: [tool({ name: 'f', ...members })] })['tools']).toEqual([
      { functionDeclarations: [{ name: 'f' }] },
    ]);
  });

  it.each([['left out', {}] as const, ['null', { type: null }] as const])(
    'a schema with properties has the type object where its type is %s',
    (_case, type) => {
      const properties = { at: { type: 'string' } };
      expect(sent({ tools: [tool({ name: 'f', parameters: { ...type, properties } })] })['tools']).toEqual([
        { functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object', properties } }] },
      ]);
    },
  );

  it.each<[string, object, object]>([
    ['has a reference alone', { $ref: '#/$defs/a', $comment: 'b' }, { $ref: '#/$defs/a', $comment: 'b' }],
    [
      'has no reference beside a description',
      { $ref: '#/$defs/a', description: 'The first.', default: 1 },
      { anyOf: [{ $ref: '#/$defs/a' }], description: 'The first.', default: 1 },
    ],
    ['has an `enum` in the place of a `const`', { const: 'a' }, { type: 'string', enum: ['a'] }],
    ['of a number, too', { type: 'integer', const: 1 }, { type: 'integer', enum: [1] }],
    ['has the items of a list', { type: 'array', maxItems: 2 }, { type: 'array', maxItems: 2, items: {} }],
    ['keeps a list as it is', { type: 'array', prefixItems: [{}] }, { type: 'array', prefixItems: [{}] }],
    ['keeps a `const` of another type', { const: true }, { const: true }],
    ['keeps a `const` beside an `enum`', { const: 'a', enum: ['a', 'b'] }, { const: 'a', enum: ['a', 'b'] }],
    [
      'has no `discriminator`',
      { oneOf: [{ const: 1 }], discriminator: { propertyName: 'a' } },
      { oneOf: [{ type: 'number', enum: [1] }] },
    ],
  ])('a schema %s', (_case, given, taken) => {
    const around = (inner: object) => ({
      type: 'object',
      properties: { const: inner, $ref: { type: 'array', items: inner }, c: { additionalProperties: inner } },
      $defs: { discriminator: inner },
      default: given,
    });
    const tools = [tool({ name: 'f', parameters: around(given) })];
    expect(sent({ tools })['tools']).toEqual([
      { functionDeclarations: [{ name: 'f', parametersJsonSchema: around(taken) }] },
    ]);
    const response_format = { type: 'json_schema', json_schema: { name: 'f', schema: around(given) } };
    expect(sent({ response_format })['generationConfig']).toMatchObject({
      responseJsonSchema: around(taken),
    });
  });

  it('schema keywords that are null are removed at any depth', () => {
    const inner = { type: 'object', properties: null, required: null };
    const parameters = { ...inner, properties: { a: { anyOf: [inner] } } };
    expect(sent({ tools: [tool({ name: 'f', parameters })] })['tools']).toEqual([
      {
        functionDeclarations: [
          {
            name: 'f',
            parametersJsonSchema: { type: 'object', properties: { a: { anyOf: [{ type: 'object' }] } } },
          },
        ],
      },
    ]);
  });

  it.each([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'weather' } },
      { mode: 'ANY', allowedFunctionNames: ['weather'] },
    ],
  ])('translates tool_choice %j', (tool_choice, functionCallingConfig) => {
    expect(sent({ tools: [weather], tool_choice })['toolConfig']).toEqual({ functionCallingConfig });
  });

  it.each([
    ['required', [weather], { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'weather' } },
      [weather, tool({ name: 'f' })],
      { mode: 'ANY', allowedFunctionNames: ['weather'] },
    ],
  ])(
    '`parallel_tool_calls: false` is accepted where the choice leaves one function: %j',
    (choice, tools, told) => {
      const body = { tools, tool_choice: choice, parallel_tool_calls: false };
      expect(sent(body)['toolConfig']).toEqual({ functionCallingConfig: told });
    },
  );

  it.each([
    ['no tools at all', {}],
    ['no tools', { tools: [] }],
    ['no tools, and a neutral choice', { tools: [], tool_choice: 'none', parallel_tool_calls: false }],
  ])('sends no tools and no tool config for %s', (_case, body) => {
    expect(Object.keys(sent(body))).toEqual(['contents']);
  });

  it.each([
    ['a hosted tool', { tools: [weather, { type: 'web_search' }] }, 'tools[1].type'],
    ['a tool without a name', { tools: [tool({})] }, 'tools[0].function.name'],
    ['a tool without a function', { tools: [{ type: 'function' }] }, 'tools[0].function'],
    [
      'parameters that are no object',
      { tools: [tool({ name: 'f', parameters: 'x' })] },
      'tools[0].function.parameters',
    ],
    ['a choice that nobody knows', { tools: [weather], tool_choice: 'any' }, 'tool_choice'],
    [
      'a choice of another type',
      { tools: [weather], tool_choice: { type: 'allowed_tools' } },
      'tool_choice.type',
    ],
    [
      'a choice without a name',
      { tools: [weather], tool_choice: { type: 'function' } },
      'tool_choice.function',
    ],
    ['a required tool that is not there', { tool_choice: 'required' }, 'tool_choice'],
    ['one call at a time', { tools: [weather], parallel_tool_calls: false }, 'parallel_tool_calls'],
    [
      'one call at a time, of one function or the other,',
      { tools: [weather, tool({ name: 'f' })], tool_choice: 'required', parallel_tool_calls: false },
      'parallel_tool_calls',
    ],
  ])('%s is rejected with its path', (_case, body, path) => {
    expect(refused(body)).toBe(path);
  });
});
