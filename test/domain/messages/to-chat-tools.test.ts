import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import { chatMessages, chatOf, faultOf, hello, png, pngPart, text, translate, user } from './told-in-chat.ts';

describe('tool results', () => {
  const result = (over: object) => ({ type: 'tool_result', tool_use_id: 'toolu_1', ...over });
  const toolMessage = (content: string) => ({ role: 'tool', tool_call_id: 'toolu_1', content });

  it.each<[string, object, string]>([
    ['a string', { content: 'ok', is_error: false, cache_control: { type: 'ephemeral' } }, 'ok'],
    ['nothing', {}, ''],
    ['null', { content: null }, ''],
    ['an empty string', { content: '' }, ''],
    ['texts', { content: [text('a'), text(''), text('b')] }, 'a\n\nb'],
    ['a text document', { content: [{ type: 'document', source: { type: 'text', data: 'd' } }] }, 'd'],
    [
      'references to tools',
      { content: [{ type: 'tool_reference', tool_name: 'f' }] },
      'The tool f is available.',
    ],
    ['an error', { content: 'no such file', is_error: true }, 'Error: no such file'],
    [
      'an error that begins with error:',
      { content: 'error: no such file', is_error: true },
      'error: no such file',
    ],
    ['an error that begins with errors:', { content: 'errors: 0', is_error: true }, 'Error: errors: 0'],
    ['an error of blocks', { content: [text('no'), text('way')], is_error: true }, 'Error: no\n\nway'],
  ])('become tool messages: %s', (_, over, content) => {
    expect(chatMessages(user(result(over)).messages)).toEqual([toolMessage(content)]);
  });

  it('are rejected by name if `is_error` is no boolean', () => {
    expect(faultOf(user(result({ is_error: 'true' })))).toBe('messages[0].content[0].is_error');
  });

  it('become tool messages also for an error without content', () => {
    expect(chatMessages(user(result({ is_error: true })).messages)).toEqual([toolMessage('Error: ')]);
  });

  it('come first, in order, and the other content of the user message follows', () => {
    const messages = user(text('a'), result({ content: '1' }), text('b'), {
      ...result({ content: '2' }),
      tool_use_id: 'functions.f:0|x',
    }).messages;
    expect(chatMessages(messages)).toEqual([
      toolMessage('1'),
      { role: 'tool', tool_call_id: 'functions.f:0|x', content: '2' },
      { role: 'user', content: [text('a'), text('b')] },
    ]);
  });

  it('move their images to the user message that follows, with the ids of their calls', () => {
    const messages = user(
      result({ content: [text('a'), { type: 'image', source: png }] }),
      { ...result({ content: [{ type: 'image', source: png }], is_error: true }), tool_use_id: 'toolu_2' },
      text('b'),
    ).messages;
    expect(chatMessages(messages)).toEqual([
      toolMessage('a'),
      {
        role: 'tool',
        tool_call_id: 'toolu_2',
        content: 'Error: The result is in the user message that follows.',
      },
      {
        role: 'user',
        content: [
          text('From the result of the tool call toolu_1:'),
          pngPart,
          text('From the result of the tool call toolu_2:'),
          pngPart,
          text('b'),
        ],
      },
    ]);
  });

  it.each<[string, object, string]>([
    ['no id', { tool_use_id: undefined }, '.tool_use_id'],
    ['an empty id', { tool_use_id: '' }, '.tool_use_id'],
    ['content that is a number', { content: 7 }, '.content'],
    ['a block that is null', { content: [text('a'), null] }, '.content[1]'],
    ['a search result without content', { content: [{ type: 'search_result' }] }, '.content[0].content'],
    ['a reference to nothing', { content: [{ type: 'tool_reference' }] }, '.content[0].tool_name'],
    ['a text without text', { content: [{ type: 'text' }] }, '.content[0].text'],
  ])('are rejected by the path of the fault: %s', (_, over, path) => {
    expect(faultOf(user(result(over)))).toBe(`messages[0].content[0]${path}`);
  });
});

describe('consecutive assistant messages with calls become one, since chat requires results right after calls', () => {
  const use = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} });
  const call = (id: string) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const said = (...content: readonly object[]) => ({ role: 'assistant', content });
  const results = {
    role: 'user',
    content: ['a', 'b'].map((tool_use_id) => ({ type: 'tool_result', tool_use_id, content: 'x' })),
  };
  const answers = ['a', 'b'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'x' }));

  it.each<[string, readonly object[], object]>([
    [
      'calls',
      [said(use('a')), said(use('b'))],
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
    ],
    [
      'text in both',
      [said(text('One.'), use('a')), said(text('Two.'), use('b'))],
      { role: 'assistant', content: 'One.\n\nTwo.', tool_calls: [call('a'), call('b')] },
    ],
    [
      'text after the calls, with thinking between them',
      [
        said(use('a'), use('b')),
        said({ type: 'thinking', thinking: 'hm', signature: 's' }),
        { role: 'assistant', content: 'There.' },
      ],
      { role: 'assistant', content: 'There.', tool_calls: [call('a'), call('b')] },
    ],
  ])('%s', (_, turns, message) => {
    expect(chatMessages([...hello, ...turns, results])).toEqual([...hello, message, ...answers]);
  });

  it.each<[string, readonly object[], readonly object[], string | readonly object[]]>([
    ['a text', [], [text('Wait.')], 'Wait.'],
    [
      'an image of a result',
      [{ type: 'image', source: png }],
      [],
      [text('From the result of the tool call a:'), pngPart],
    ],
  ])('results in several user messages come before %s between them', (_, shown, more, content) => {
    const resultOf = (id: string, ...blocks: readonly object[]) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: [text('x'), ...blocks],
    });
    const turns = [
      said(use('a'), use('b')),
      { role: 'user', content: [resultOf('a', ...shown), ...more] },
      { role: 'user', content: [resultOf('b')] },
      { role: 'assistant', content: 'Well.' },
    ];
    expect(chatMessages([...hello, ...turns])).toEqual([
      ...hello,
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      ...answers,
      { role: 'user', content },
      { role: 'assistant', content: 'Well.' },
    ]);
  });

  it('text before the calls stays a separate message, as do turns that a user message separates', () => {
    const turns = [said(text('One.')), said(use('a'), use('b')), results, said(text('Two.'))];
    expect(chatMessages([...hello, ...turns])).toEqual([
      ...hello,
      { role: 'assistant', content: 'One.' },
      { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] },
      ...answers,
      { role: 'assistant', content: 'Two.' },
    ]);
  });
});

describe('tools', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const strictSchema = { ...schema, required: ['a'], additionalProperties: false };
  const tool = { name: 'f', description: 'does f', input_schema: schema };
  const tools = [tool];

  it.each<[string, object, object]>([
    ['without a type', tool, { name: 'f', description: 'does f', parameters: schema }],
    ['of type custom', { ...tool, type: 'custom' }, { name: 'f', description: 'does f', parameters: schema }],
    ['of type null', { ...tool, type: null }, { name: 'f', description: 'does f', parameters: schema }],
    ['without a description', { name: 'f', input_schema: {} }, { name: 'f', parameters: {} }],
    [
      'that are strict, with a schema that requires all of its properties',
      { ...tool, input_schema: strictSchema, strict: true },
      { name: 'f', description: 'does f', parameters: strictSchema, strict: true },
    ],
    [
      'that are strict, with an optional property, which the chat API rejects',
      { ...tool, strict: true },
      { name: 'f', description: 'does f', parameters: schema, strict: false },
    ],
    [
      'without properties, which are added for the chat API',
      { name: 'f', input_schema: { type: 'object', additionalProperties: false } },
      { name: 'f', parameters: { type: 'object', additionalProperties: false, properties: {} } },
    ],
    [
      'with hints that are dropped',
      {
        name: 'f',
        input_schema: {},
        cache_control: {},
        defer_loading: true,
        eager_input_streaming: true,
        x: 1,
      },
      { name: 'f', parameters: {} },
    ],
  ])('%s become functions', (_, given, made) => {
    expect(chatOf({ tools: [given] })).toEqual({
      ...chatOf({}),
      tools: [{ type: 'function', function: made }],
    });
  });

  it('keep their schema unchanged for a provider that translates chat bodies', () => {
    const input_schema = { type: 'object' };
    const value = { messages: hello, tools: [{ name: 'f', input_schema }] };
    const request = { model: 'fast', stream: false, document: { value } };
    expect(toChatBody(request, 'provider')).toMatchObject({
      right: { tools: [{ function: { name: 'f', parameters: input_schema } }] },
    });
  });

  it.each([
    'web_search_20250305',
    'bash_20250124',
    'computer_20250124',
    'text_editor_20250728',
    'code_execution_20250825',
    'mcp_toolset',
    'function',
  ])('of a type other than custom are rejected by the name of the type: %s', (type) => {
    expect(translate({ tools: [tool, { type, name: 'x' }] })).toEqual(
      E.left({
        code: 'invalid_request',
        message: `\`tools[1].type\` is \`${type}\`, which is not available on this model's route.`,
        param: 'tools[1].type',
      }),
    );
  });

  it.each<[string, object, string]>([
    ['a name', { input_schema: {} }, 'tools[0].name'],
    ['an empty name', { name: '', input_schema: {} }, 'tools[0].name'],
    ['a schema', { name: 'f' }, 'tools[0].input_schema'],
    ['a schema that is an object', { name: 'f', input_schema: [] }, 'tools[0].input_schema'],
    ['a schema of an object', { name: 'f', input_schema: { type: 'string' } }, 'tools[0].input_schema.type'],
    ['a description of text', { name: 'f', input_schema: {}, description: 5 }, 'tools[0].description'],
    ['a boolean in `strict`', { name: 'f', input_schema: {}, strict: 'true' }, 'tools[0].strict'],
  ])('must have %s', (_, given, param) => {
    expect(faultOf({ tools: [given] })).toBe(param);
  });

  it.each<[object, unknown]>([
    [{ type: 'auto' }, 'auto'],
    [{ type: 'any' }, 'required'],
    [{ type: 'none' }, 'none'],
    [
      { type: 'tool', name: 'f' },
      { type: 'function', function: { name: 'f' } },
    ],
  ])('tool_choice %j is translated', (tool_choice, made) => {
    expect(chatOf({ tools, tool_choice })).toEqual({ ...chatOf({ tools }), tool_choice: made });
  });

  it('`disable_parallel_tool_use: true` becomes `parallel_tool_calls: false`', () => {
    const choice = (disable_parallel_tool_use: boolean) =>
      chatOf({ tools, tool_choice: { type: 'any', disable_parallel_tool_use } });
    expect(choice(true)).toEqual({ ...choice(false), parallel_tool_calls: false });
    expect(choice(false)).toEqual({ ...chatOf({ tools }), tool_choice: 'required' });
  });

  it.each<[object]>([[{ type: 'auto', disable_parallel_tool_use: true }], [{ type: 'none' }]])(
    'tool_choice %j is dropped if there are no tools',
    (tool_choice) => {
      expect(chatOf({ tools: [], tool_choice })).toEqual(chatOf({}));
      expect(chatOf({ tool_choice })).toEqual(chatOf({}));
    },
  );

  it.each<[object, string]>([
    [{ tool_choice: { type: 'any' } }, 'tool_choice'],
    [{ tool_choice: { type: 'tool', name: 'f' }, tools: [] }, 'tool_choice'],
    [{ tool_choice: { type: 'tool' }, tools }, 'tool_choice.name'],
    [{ tool_choice: { type: 'required' }, tools }, 'tool_choice.type'],
    [{ tool_choice: {}, tools }, 'tool_choice.type'],
    [{ tool_choice: { type: 'tool', name: 'g' }, tools }, 'tool_choice.name'],
    [
      { tool_choice: { type: 'auto', disable_parallel_tool_use: 'true' }, tools },
      'tool_choice.disable_parallel_tool_use',
    ],
  ])('tool_choice is rejected by its path: %j', (over, param) => {
    expect(faultOf(over)).toBe(param);
  });
});
