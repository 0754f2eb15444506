import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { toChatBody } from '../../../domain/messages/to-chat.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import {
  chatMessages,
  chatOf,
  faultOf,
  hello,
  png,
  pngPart,
  text,
  translate,
  translated,
  user,
} from './told-in-chat.ts';

const assistant = (...content: readonly object[]) => ({
  messages: [...hello, { role: 'assistant', content }],
});

describe('the translated chat body', () => {
  it('has only the fields of the request', () => {
    expect(chatOf({})).toEqual({ model: 'fast', messages: hello, max_completion_tokens: 100 });
  });

  it('has the sampling, stop and stream fields of the request', () => {
    expect(chatOf({ temperature: 0, top_p: 0.5, stop_sequences: ['a', 'b'], stream: true })).toEqual({
      model: 'fast',
      messages: hello,
      max_completion_tokens: 100,
      temperature: 0,
      top_p: 0.5,
      stop: ['a', 'b'],
      stream: true,
    });
  });

  it('may have hundreds of thousands of content blocks and tool results', () => {
    const many = Array.from({ length: 200_000 }, () => text('a'));
    const results = Array.from({ length: 200_000 }, () => ({ type: 'tool_result', tool_use_id: 'a' }));
    const document = { type: 'document', source: { type: 'content', content: many } };
    const content = [...many, document, { ...results[0], content: [document] }];
    const body = chatOf({ messages: [{ role: 'user', content }] });
    expect((body['messages'] as readonly JsonObject[])[1]?.['content']).toHaveLength(400_000);
    expect(chatOf({ messages: [{ role: 'user', content: results }] })['messages']).toHaveLength(200_000);
  });

  it('keeps every digit of numbers', () => {
    const body = translated(
      `{"model":"fast","max_tokens":1e3,"temperature":0.10,"messages":[{"role":"user","content":"x"},{"role":"assistant",
        "content":[{"type":"tool_use","id":"a","name":"f","input":{"n":9007199254740993,"m":[1.0,-0]}}]}],
        "tools":[{"name":"f","input_schema":{"maximum":12345678901234567890}}]}`,
    );
    const text = JSON.stringify(E.isRight(body) ? body.right : undefined);
    expect(text).toContain('"max_completion_tokens":1e3,"temperature":0.10');
    expect(text).toContain('"maximum":12345678901234567890');
    expect(text).toContain(JSON.stringify('{"n":9007199254740993,"m":[1.0,-0]}'));
  });

  it.each<[string, object]>([
    ['metadata', { metadata: { user_id: '{"device":"d"}' } }],
    ['context_management', { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }],
    ['cache_control', { cache_control: { type: 'ephemeral' } }],
    ['service_tier', { service_tier: 'auto' }],
    ['inference_geo: global', { inference_geo: 'global' }],
    ['betas', { betas: ['a-2025-01-01'] }],
    ['stream: false', { stream: false }],
    ['empty stop_sequences', { stop_sequences: [] }],
    ['empty tools', { tools: [] }],
    ['empty mcp_servers', { mcp_servers: [] }],
    ['a null container', { container: null }],
    [
      'nulls',
      { temperature: null, top_p: null, system: null, tools: null, tool_choice: null, output_config: null },
    ],
    ['unknown fields', { x_unknown: { a: 1 } }],
  ])('does not depend on %s', (_, over) => {
    expect(chatOf(over)).toEqual(chatOf({}));
  });

  it.each<[string, object, string]>([
    ['mcp_servers', { mcp_servers: [{ type: 'url', name: 'a', url: 'https://example.com' }] }, 'mcp_servers'],
    ['a region', { inference_geo: 'us' }, 'inference_geo'],
    ['a container', { container: 'c1' }, 'container'],
    ['a request that only fills the prompt cache', { max_tokens: 0 }, 'max_tokens'],
    ['a container with skills', { container: { skills: [] } }, 'container'],
    [
      'a task budget',
      { output_config: { task_budget: { type: 'tokens', total: 20_000 } } },
      'output_config.task_budget',
    ],
  ])('a field that changes the meaning of the answer is rejected by name: %s', (_, over, param) => {
    expect(faultOf(over)).toBe(param);
  });
});

describe('the system prompt', () => {
  it.each<[string, unknown, readonly object[]]>([
    ['a string', 'Be kind.', [{ role: 'system', content: 'Be kind.' }]],
    [
      'blocks, which are joined, since many chat upstreams accept only a string',
      [{ ...text('Be kind.'), cache_control: { type: 'ephemeral' } }, text(''), text('Be brief.')],
      [{ role: 'system', content: 'Be kind.\n\nBe brief.' }],
    ],
    ['an empty string', '', []],
    ['no blocks', [], []],
  ])('%s', (_, system, messages) => {
    expect(chatOf({ system })['messages']).toEqual([...messages, ...hello]);
  });

  it('in messages of the role system stays at its position', () => {
    expect(
      chatMessages([
        ...hello,
        { role: 'system', content: [text('a'), text('b')] },
        { role: 'assistant', content: 'c' },
        { role: 'system', content: 'd' },
      ]),
    ).toEqual([
      ...hello,
      { role: 'system', content: 'a\n\nb' },
      { role: 'assistant', content: 'c' },
      { role: 'system', content: 'd' },
    ]);
  });

  it.each<[string, object, string]>([
    ['a number', { system: 7 }, 'system'],
    ['a block that is a string', { system: ['x'] }, 'system[0]'],
    ['an image', { system: [text('x'), { type: 'image', source: png }] }, 'system[1].type'],
    ['a text block without text', { system: [{ type: 'text' }] }, 'system[0].text'],
    [
      'an image in a system message',
      { messages: [{ role: 'system', content: [{ type: 'image' }] }] },
      'messages[0].content[0].type',
    ],
  ])('rejects %s by its path', (_, over, param) => {
    expect(faultOf(over)).toBe(param);
  });
});

describe('a user message', () => {
  it.each<[string, unknown, unknown]>([
    ['a string', 'Hello', 'Hello'],
    ['one text', [{ ...text('Hello'), cache_control: { type: 'ephemeral' } }], 'Hello'],
    ['several texts', [text('a'), text('b')], [text('a'), text('b')]],
    ['an empty text is dropped', [text(''), text('b')], 'b'],
    ['no blocks', [], ''],
    ['an image', [text('a'), { type: 'image', source: png }], [text('a'), pngPart]],
    [
      'an image by URL',
      [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png?x=1' } }],
      [{ type: 'image_url', image_url: { url: 'https://example.com/a.png?x=1' } }],
    ],
    [
      'a text document',
      [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'd' } }],
      'd',
    ],
    [
      'a text document with a title and a context',
      [
        {
          type: 'document',
          title: 't',
          context: 'c',
          source: { type: 'text', data: 'd' },
          citations: { enabled: false },
        },
      ],
      't\n\nc\n\nd',
    ],
    [
      'a document of blocks',
      [
        {
          type: 'document',
          title: 't',
          source: { type: 'content', content: [text('a'), { type: 'image', source: png }] },
        },
      ],
      [text('t'), text('a'), pngPart],
    ],
    [
      'a document with a string as its content',
      [{ type: 'document', source: { type: 'content', content: 'd' } }],
      'd',
    ],
    [
      'a PDF',
      [
        {
          type: 'document',
          title: 'a.pdf',
          context: 'c',
          source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' },
        },
      ],
      [
        text('c'),
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
      ],
    ],
    [
      'a PDF without a title',
      [{ type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'aGk=' } }],
      [{ type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,aGk=' } }],
    ],
  ])('%s', (_, content, said) => {
    expect(chatMessages([{ role: 'user', content }])).toEqual([{ role: 'user', content: said }]);
  });

  it.each<[string, object, string]>([
    ['a text without text', { type: 'text' }, '.text'],
    ['an image without a source', { type: 'image' }, '.source'],
    ['an image with a source that is a string', { type: 'image', source: 'x' }, '.source'],
    ['an image by file id', { type: 'image', source: { type: 'file', file_id: 'f' } }, '.source.type'],
    ['an image with a source without a type', { type: 'image', source: {} }, '.source.type'],
    ['an image without data', { type: 'image', source: { ...png, data: 1 } }, '.source.data'],
    [
      'an image without a media type',
      { type: 'image', source: { type: 'base64', data: 'x' } },
      '.source.media_type',
    ],
    [
      'an image with an empty media type',
      { type: 'image', source: { ...png, media_type: '' } },
      '.source.media_type',
    ],
    ['an image that is no base64', { type: 'image', source: { ...png, data: '!!' } }, '.source.data'],
    ['an empty image', { type: 'image', source: { ...png, data: '' } }, '.source.data'],
    [
      'a document that is no base64',
      { type: 'document', source: { ...png, media_type: 'application/pdf', data: 'a.pdf' } },
      '.source.data',
    ],
    ['an image without a URL', { type: 'image', source: { type: 'url' } }, '.source.url'],
    [
      'a document by URL',
      { type: 'document', source: { type: 'url', url: 'https://example.com' } },
      '.source.type',
    ],
    ['a document by file id', { type: 'document', source: { type: 'file', file_id: 'f' } }, '.source.type'],
    ['a document without data', { type: 'document', source: { type: 'text' } }, '.source.data'],
    [
      'a document of unknown blocks',
      { type: 'document', source: { type: 'content', content: [{ type: 'x' }] } },
      '.source.content[0].type',
    ],
    [
      'a document with a title that is a number',
      { type: 'document', source: { type: 'text', data: 'd' }, title: 5 },
      '.title',
    ],
    [
      'a document with a context that is a list',
      { type: 'document', source: { type: 'text', data: 'd' }, context: [] },
      '.context',
    ],
    [
      'a search result with a source that is an object',
      { type: 'search_result', source: {}, title: 'T', content: [] },
      '.source',
    ],
    ['an upload', { type: 'container_upload', file_id: 'f' }, '.type'],
    ['a tool use', { type: 'tool_use', id: 'a', name: 'f', input: {} }, '.type'],
    ['an unknown block', { type: 'hologram' }, '.type'],
  ])('rejects %s by its path', (_, block, path) => {
    expect(faultOf(user(text('a'), block))).toBe(`messages[0].content[1]${path}`);
  });

  const linked = { type: 'document', source: { type: 'url', url: 'https://example.com/a?b=c' } };
  it.each<[string, object, string]>([
    ['a tool result', { type: 'tool_result', tool_use_id: 'a', content: [linked] }, '.content[0]'],
    [
      'a document of blocks',
      { type: 'document', source: { type: 'content', content: [text('a'), linked] } },
      '.source.content[1]',
    ],
  ])('rejects a document by URL also inside %s', (_, block, path) => {
    expect(faultOf(user(text('a'), block))).toBe(`messages[0].content[1]${path}.source.type`);
  });

  it('has a document by URL as a file for a provider that translates chat bodies', () => {
    const value: JsonObject = { messages: [{ role: 'user', content: [{ ...linked, title: 'T' }] }] };
    const ask = { model: 'm', stream: false, document: { value } };
    expect(toChatBody(ask, 'provider')).toMatchObject(
      E.right({
        messages: [
          {
            role: 'user',
            content: [
              {
                type: 'file',
                file: {
                  filename: 'T',
                  file_data: 'https://example.com/a?b=c',
                  format: 'application/pdf',
                },
              },
            ],
          },
        ],
      }),
    );
  });

  it('is rejected with the type of the block in the error message', () => {
    expect(translate(user({ type: 'container_upload' }))).toEqual(
      E.left(expect.objectContaining({ message: expect.stringContaining('`container_upload`') })),
    );
  });
});

describe('an assistant message', () => {
  const use = (over: object) => ({ type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: 1 }, ...over });
  const call = (id: string, name: string, input: string) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  });
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };

  it.each<[string, unknown, readonly object[]]>([
    ['a string', 'a', [{ role: 'assistant', content: 'a' }]],
    ['an empty string', '', []],
    [
      'several texts, which are joined',
      [text('a'), { ...text('b'), citations: [] }],
      [{ role: 'assistant', content: 'ab' }],
    ],
    [
      'calls alone',
      [use({ cache_control: null, caller: { type: 'direct' } }), use({ id: 'x|y:z', input: {} })],
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [call('toolu_1', 'f', '{"a":1}'), call('x|y:z', 'f', '{}')],
        },
      ],
    ],
    [
      'a text and a call',
      [text('a'), use({})],
      [{ role: 'assistant', content: 'a', tool_calls: [call('toolu_1', 'f', '{"a":1}')] }],
    ],
    [
      'thinking is dropped',
      [thinking, { type: 'redacted_thinking', data: 'x' }, text('a')],
      [{ role: 'assistant', content: 'a' }],
    ],
    ['a message with only thinking is left out', [thinking], []],
    ['thinking with no signature and no text', [{ type: 'thinking', thinking: '', signature: '' }], []],
    ['no blocks', [], []],
  ])('%s', (_, content, said) => {
    expect(chatMessages([...hello, { role: 'assistant', content }, ...hello])).toEqual([
      ...hello,
      ...said,
      ...hello,
    ]);
  });

  it('is rejected if nothing of the conversation is left', () => {
    expect(faultOf({ messages: [{ role: 'assistant', content: [thinking] }], system: 'x' })).toBe('messages');
  });

  it.each<[string, object, string]>([
    ['a call without an id', use({ id: undefined }), '.id'],
    ['a call with an empty name', use({ name: '' }), '.name'],
    ['a call without input', use({ input: undefined }), '.input'],
    ['a call whose input is text', use({ input: '{}' }), '.input'],
    ['a call whose input is an array', use({ input: [] }), '.input'],
    ['a text without text', { type: 'text', text: 1 }, '.text'],
    ['a server’s call without a name', { type: 'server_tool_use', id: 'a', input: {} }, '.type'],
    ['a summary that cannot be read', { type: 'compaction', content: null, encrypted_content: 'x' }, '.type'],
    ['an image', { type: 'image', source: png }, '.type'],
  ])('rejects %s by its path', (_, block, path) => {
    expect(faultOf(assistant(text('a'), block))).toBe(`messages[1].content[1]${path}`);
  });

  it('rejects a number as the input of a call, however it is written', () => {
    const body = translated(
      '{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":1.0}]}]}',
    );
    expect(E.isLeft(body) && body.left.param).toBe('messages[0].content[0].input');
  });
});

describe('an answer schema', () => {
  const schema = { type: 'object', properties: {}, additionalProperties: false };
  const format = { type: 'json_schema', schema };
  const response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } };

  it.each<[string, object]>([
    ['output_config.format', { output_config: { format } }],
    ['output_format', { output_format: format }],
    [
      'both, of which output_config.format is used',
      { output_config: { format }, output_format: { type: 'x' } },
    ],
  ])('%s', (_, over) => {
    expect(chatOf(over)).toEqual({ ...chatOf({}), response_format });
  });

  it.each<[object, string]>([
    [{ output_config: { format: { type: 'grammar' } } }, 'output_config.format.type'],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config.format.schema'],
    [{ output_format: { type: 'json_object' } }, 'output_format.type'],
  ])('is rejected by its path: %j', (over, param) => {
    expect(faultOf(over)).toBe(param);
  });
});
