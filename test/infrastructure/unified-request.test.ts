import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import * as fc from 'fast-check';
import { type JsonObject, parseExact } from '../../domain/shared/json.ts';
import { unifiedRequest } from '../../infrastructure/providers/cloud-b/unified-request.ts';
import { textDigest } from '../../infrastructure/text-digest.ts';
import { anyText } from '../support/arbitraries/text.ts';

interface About {
  readonly model?: string;
  readonly stream?: boolean;
  readonly cloudB?: JsonObject;
  readonly extraBody?: JsonObject;
}

const asked = (body: JsonObject, about: About = {}) =>
  unifiedRequest(
    parseExact(
      JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }], ...body }),
    ) as JsonObject,
    {
      route: {
        upstreamModel: about.model ?? 'amazon.nova-lite-v1:0',
        compatibility: { cloud_b: { api_style: 'runtime_unified', ...about.cloudB } },
        extraBody: about.extraBody ?? {},
      },
      stream: about.stream ?? false,
    },
    textDigest,
  );

/** The converse body, as it goes out. */
function sent(body: JsonObject, about?: About): JsonObject {
  const request = asked(body, about);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return JSON.parse(JSON.stringify(request.right.body)) as JsonObject;
}

/** The field that a request is rejected for. */
function rejected(body: JsonObject, about?: About): string | undefined {
  const request = asked(body, about);
  if (E.isRight(request)) throw new Error(`accepted: ${JSON.stringify(request.right)}`);
  expect(request.left).toMatchObject({ code: 'invalid_request' });
  expect(request.left.message).toContain(`\`${request.left.param}\``);
  return request.left.param;
}

const turns = (messages: readonly JsonObject[], about?: About) =>
  sent({ messages, tools: [tool('f'), tool('g')] }, about)['messages'];
const tool = (name: string, more: JsonObject = {}): JsonObject => ({
  type: 'function',
  function: { name, ...more },
});
const call = (id: string, name = 'f', text = '{}'): JsonObject => ({
  id,
  type: 'function',
  function: { name, arguments: text },
});
const text = (words: string): JsonObject => ({ type: 'text', text: words });
const image = (url: string): JsonObject => ({ type: 'image_url', image_url: { url } });
const file = (filename: string | undefined, file_data: string): JsonObject => ({
  type: 'file',
  file: { ...(filename === undefined ? {} : { filename }), file_data },
});
const user = (...content: readonly JsonObject[]): JsonObject => ({ role: 'user', content });

const png = 'data:image/png;base64,iVBORw0KGgo=';
const pdf = 'data:application/pdf;base64,JVBERi0=';

describe('a chat request as a converse request', () => {
  it('is small when it says little', () => {
    expect(sent({})).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hi' }] }] });
  });

  it('system and developer text become system blocks', () => {
    const messages = [
      { role: 'system', content: 'One.' },
      { role: 'user', content: 'Hi' },
      { role: 'developer', content: [text('Two.'), text('Three.')] },
      { role: 'system', content: '' },
    ];
    expect(sent({ messages })).toEqual({
      system: [{ text: 'One.' }, { text: 'Two.\n\nThree.' }],
      messages: [{ role: 'user', content: [{ text: 'Hi' }] }],
    });
  });

  it('what the same side says in a row is one turn', () => {
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

  it('blank text, which the platform refuses, is left out', () => {
    expect(
      turns([
        { role: 'user', content: ' \n' },
        { role: 'assistant', content: '' },
        user(text(''), text('a')),
        { role: 'tool', tool_call_id: '1', content: '' },
      ]),
    ).toEqual([{ role: 'user', content: [{ toolResult: { toolUseId: '1', content: [] } }, { text: 'a' }] }]);
  });

  it('a request that says nothing is rejected', () => {
    expect(rejected({ messages: [{ role: 'system', content: 'a' }, user(text(''))] })).toBe('messages');
  });

  it('many thousands of parts are no trouble', () => {
    const parts = Array.from({ length: 200_000 }, () => text('a'));
    expect(turns([user(...parts.slice(0, 1)), { role: 'user', content: parts }])).toMatchObject([
      { content: { length: 200_001 } },
    ]);
  });

  it.each([
    ['an unknown role', [{ role: 'function', content: 'a' }], 'messages[0].role'],
    ['a part that nobody knows', [user({ type: 'thinking', thinking: 'a' })], 'messages[0].content[0].type'],
    ['audio of a user', [user({ type: 'input_audio', input_audio: {} })], 'messages[0].content[0].type'],
    ['audio of an assistant', [{ role: 'assistant', audio: { id: 'a' } }], 'messages[0].audio'],
    [
      'a call of the older kind',
      [{ role: 'assistant', function_call: { name: 'f', arguments: '' } }],
      'messages[0].function_call',
    ],
    ['content that is a number', [{ role: 'user', content: 1 }], 'messages[0].content'],
    ['a text that is none', [user({ type: 'text', text: 1 })], 'messages[0].content[0].text'],
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
    ['calls that are no array', [{ role: 'assistant', tool_calls: {} }], 'messages[0].tool_calls'],
    ['a call that is no object', [{ role: 'assistant', tool_calls: [1] }], 'messages[0].tool_calls[0]'],
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
  ])('%s is rejected by name', (_, messages, param) => {
    expect(rejected({ messages })).toBe(param);
  });
});

describe('tool calls and their results', () => {
  it('consecutive tool results are one user turn, and so is what the user says next', () => {
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

  it('tool results stand before user text that came between, whatever the order', () => {
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

  it('tool results accept text, JSON, base64 images and documents', () => {
    const content = [
      text('a'),
      { type: 'json', json: { b: 1 } },
      { type: 'json', json: [1, 2] },
      image(png),
      file('c.csv', 'data:text/csv;base64,YQ=='),
    ];
    expect(turns([{ role: 'tool', tool_call_id: '1', content }])).toEqual([
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
    expect(turns([{ role: 'tool', tool_call_id: '1', content: { b: 1 } }])).toMatchObject([
      { content: [{ toolResult: { content: [{ json: { b: 1 } }] } }] },
    ]);
  });

  it('arguments keep every digit, and bad ones stay what they are', () => {
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

  it('arguments that are no text are rejected by name', () => {
    const bad = { id: '1', type: 'function', function: { name: 'f', arguments: { a: 1 } } };
    expect(rejected({ messages: [{ role: 'assistant', tool_calls: [bad] }] })).toBe(
      'messages[0].tool_calls[0].function.arguments',
    );
  });

  it('without tools to offer, calls and results are told as text', () => {
    const messages = [
      { role: 'user', content: 'Do.' },
      {
        role: 'assistant',
        content: 'Well.',
        tool_calls: [call('a|b', 'any name at all', '{"x":1}'), call('2')],
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
  ])('an invalid one is replaced on both sides by the same bounded value: %s', (_, id) => {
    const bounded = `tool_${textDigest(id)}`;
    expect(bounded).toMatch(/^tool_[A-Za-z0-9_-]{43}$/);
    expect(idsOf(id)).toEqual([bounded, bounded]);
  });

  it('any id is one that the platform takes, the same on both sides, and different for different ones', () => {
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

describe('images', () => {
  it.each([
    ['png', 'data:image/png;base64,YQ==', 'png'],
    ['jpeg', 'data:image/jpeg;base64,YQ==', 'jpeg'],
    ['jpg, as some call it', 'data:image/jpg;base64,YQ==', 'jpeg'],
    ['gif', 'data:image/gif;base64,YQ==', 'gif'],
    ['webp', 'DATA:image/WEBP;charset=utf-8;BASE64,YQ==', 'webp'],
  ])('base64 data URLs are taken: %s', (_, url, format) => {
    expect(turns([user(image(url))])).toEqual([
      { role: 'user', content: [{ image: { format, source: { bytes: 'YQ==' } } }] },
    ]);
  });

  it.each([
    ['remote', 'https://example.com/a.png'],
    ['in a bucket', 's3://bucket/a.png'],
    ['of another format', 'data:image/tiff;base64,YQ=='],
    ['no image', 'data:text/plain;base64,YQ=='],
    ['not in base64', 'data:image/png,abc'],
    ['without data', 'data:image/png;base64,'],
    ['bad base64', 'data:image/png;base64,Y Q='],
    ['no URL', 'abc'],
  ])('others are rejected by name: %s', (_, url) => {
    expect(rejected({ messages: [user(text('a'), image(url))] })).toBe(
      'messages[0].content[1].image_url.url',
    );
  });

  it('an image part without a URL is rejected by name', () => {
    expect(rejected({ messages: [user({ type: 'image_url' })] })).toBe('messages[0].content[0].image_url');
  });
});

describe('documents', () => {
  const documentOf = (part: JsonObject): unknown =>
    (turns([user(part)]) as unknown as [{ content: [{ document: unknown }] }])[0].content[0].document;

  it.each([
    ['pdf', 'a.pdf', 'application/pdf'],
    ['csv', 'a.csv', 'text/csv'],
    ['doc', 'a.doc', 'application/msword'],
    ['docx', 'a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['xls', 'a.xls', 'application/vnd.ms-excel'],
    ['xlsx', 'a.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['html', 'a.html', 'text/html'],
    ['md', 'a.md', 'text/markdown'],
    ['txt', 'a.txt', 'text/plain'],
  ])('of the format %s are taken, told by media type or by name', (format, filename, mediaType) => {
    const document = { format, name: 'a', source: { bytes: 'YQ==' } };
    expect(documentOf(file(filename, `data:${mediaType};base64,YQ==`))).toEqual(document);
    expect(documentOf(file(filename, 'data:application/octet-stream;base64,YQ=='))).toEqual(document);
    expect(documentOf(file(filename.toUpperCase(), 'YQ=='))).toEqual({ ...document, name: 'A' });
    expect(documentOf(file(undefined, `data:${mediaType};base64,YQ==`))).toEqual({
      ...document,
      name: 'document',
    });
  });

  it.each([
    ['notes.md', 'data:text/plain;base64,YQ==', 'md'],
    ['main.py', 'data:text/plain;base64,YQ==', 'txt'],
    ['report.txt', 'data:application/pdf;base64,YQ==', 'pdf'],
  ])('the media type decides, unless it is a general one: %s', (filename, data, format) => {
    expect(documentOf(file(filename, data))).toMatchObject({ format });
  });

  it.each([
    ['a remote URL', file('a.pdf', 'https://example.com/a.pdf'), 'file_data'],
    ['a bucket', file('a.pdf', 's3://bucket/a.pdf'), 'file_data'],
    ['another format', file('a.zip', 'data:application/zip;base64,YQ=='), 'file_data'],
    ['no format at all', file('a', 'YQ=='), 'file_data'],
    ['bad base64', file('a.pdf', 'data:application/pdf;base64,%%'), 'file_data'],
    ['no data', file('a.pdf', 'data:application/pdf;base64,'), 'file_data'],
    ['no data member', { type: 'file', file: { filename: 'a.pdf' } }, 'file_data'],
    ['an uploaded file', { type: 'file', file: { file_id: 'file-1' } }, 'file_id'],
  ])('%s is rejected by name', (_, part, field) => {
    expect(rejected({ messages: [user(part)] })).toBe(`messages[0].content[0].file.${field}`);
  });

  it('remote ones are told that they must come along', () => {
    const request = asked({ messages: [user(file('a.pdf', 'https://example.com/a.pdf'))] });
    expect(E.isLeft(request) ? request.left.message : '').toContain('reads no remote files');
  });

  it('have names of their own in the whole request, also in tool results', () => {
    const request = turns([
      user(file('a/report.pdf', pdf), file('b\\report.csv', 'YQ==')),
      { role: 'assistant', tool_calls: [call('1')] },
      { role: 'tool', tool_call_id: '1', content: [file('report.md', 'YQ==')] },
    ]);
    expect(JSON.stringify(request).match(/"name":"(?!f")[^"]*"/g)).toEqual([
      '"name":"report"',
      '"name":"report (2)"',
      '"name":"report (3)"',
    ]);
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

  it('a schema without a type is one of an object, and `properties: null` is none', () => {
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
  ])('the choice %j', (tool_choice, toolChoice) => {
    expect(config({ tools: [tool('f')], tool_choice })).toEqual({
      tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }],
      ...(toolChoice === undefined ? {} : { toolChoice }),
    });
  });

  it('the choice `none` leaves the tools out', () => {
    expect(sent({ tools: [tool('f')], tool_choice: 'none' })).not.toHaveProperty('toolConfig');
  });

  it.each([
    ['another type', { tools: [tool('f'), { type: 'web_search' }] }, 'tools[1].type'],
    ['a custom tool', { tools: [{ type: 'custom', custom: {} }] }, 'tools[0].type'],
    ['no function', { tools: [{ type: 'function' }] }, 'tools[0].function'],
    ['no name', { tools: [{ type: 'function', function: {} }] }, 'tools[0].function.name'],
    ['a name with a dot', { tools: [tool('a.b')] }, 'tools[0].function.name'],
    [
      'parameters that are no object',
      { tools: [tool('f', { parameters: [] })] },
      'tools[0].function.parameters',
    ],
    ['a choice that nobody knows', { tools: [tool('f')], tool_choice: 'any' }, 'tool_choice'],
    [
      'a choice among allowed tools',
      { tools: [tool('f')], tool_choice: { type: 'allowed_tools' } },
      'tool_choice.type',
    ],
    [
      'a choice of a tool that is not there',
      { tools: [tool('f')], tool_choice: { type: 'function', function: { name: 'g' } } },
      'tool_choice.function.name',
    ],
    ['a required call without tools', { tool_choice: 'required' }, 'tool_choice'],
    [
      'calls one at a time, on a model of another family,',
      { tools: [tool('f')], parallel_tool_calls: false },
      'parallel_tool_calls',
    ],
    ['calls at a time', { tools: [tool('f')], parallel_tool_calls: 1 }, 'parallel_tool_calls'],
  ])('%s is rejected by name', (_, body, param) => {
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
  ])('one call at a time is part of the choice that the messages family is told: %j', (tool_choice, told) => {
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

  it('names of tools are rejected beyond 64 characters, naming the limit, also where they were called', () => {
    expect(specs([tool('f'.repeat(64))])).toHaveLength(1);
    expect(rejected({ tools: [tool('f'.repeat(65))] })).toBe('tools[0].function.name');
    const error = asked({ tools: [tool('f'.repeat(65))] });
    expect(E.isLeft(error) ? error.left.message : '').toMatch(/65 characters.*at most 64/);
    expect(
      rejected({
        tools: [tool('f')],
        messages: [{ role: 'assistant', tool_calls: [call('1', 'g'.repeat(65))] }],
      }),
    ).toBe('messages[0].tool_calls[0].function.name');
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
  ])('an explicit strict value: %s', (_, model, supports, strict, expected) => {
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

describe('inference controls', () => {
  it('are told in the platform’s words, with every digit', () => {
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
    [{ stop: [] }, undefined],
    [
      { temperature: 0, top_p: 1 },
      { temperature: 0, topP: 1 },
    ],
  ])('%j', (body, inferenceConfig) => {
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
    [{ top_k: 1.5 }, 'top_k'],
    [{ top_k: -1 }, 'top_k'],
  ])('%j is rejected by name', (body, param) => {
    expect(rejected(body as JsonObject)).toBe(param);
  });

  it('controls that change the answer and that the platform has no word for are rejected by name', () => {
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

  it('controls that change nothing are dropped', () => {
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

  it('latest-generation models sample by themselves: defaults are left out, the rest is rejected', () => {
    const model = 'anthropic.claude-opus-4-7';
    expect(sent({ temperature: 1, top_p: 1 }, { model })).toEqual(sent({}));
    expect(rejected({ temperature: 0.5 }, { model })).toBe('temperature');
    expect(rejected({ top_k: 5 }, { model })).toBe('top_k');
  });
});

describe('thinking controls', () => {
  const fields = (body: JsonObject, model: string): unknown =>
    sent(body, { model })['additionalModelRequestFields'];
  const latest = 'us.anthropic.claude-opus-4-7-v1:0';
  const previous = 'anthropic.claude-sonnet-4-6';
  const oneOlder = 'anthropic.claude-opus-4-5-20251101-v1:0';
  const older = 'anthropic.claude-sonnet-4-20250514-v1:0';

  it.each([
    ['effort', latest, { reasoning_effort: 'high' }, { thinking: { type: 'adaptive', effort: 'high' } }],
    ['effort', previous, { reasoning: { effort: 'low' } }, { thinking: { type: 'adaptive', effort: 'low' } }],
    ['no effort', previous, { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
    ['adaptive thinking', latest, { thinking: { type: 'adaptive' } }, { thinking: { type: 'adaptive' } }],
    [
      'adaptive thinking, more of it, and an effort',
      latest,
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'max' } },
      { thinking: { type: 'adaptive', display: 'omitted', effort: 'max' } },
    ],
    [
      'a budget',
      older,
      { reasoning_budget_tokens: 2000 },
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
    ],
    [
      'manual thinking',
      previous,
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
    ],
    [
      'effort and budget',
      oneOlder,
      { reasoning_effort: 'low', thinking_budget_tokens: 2000 },
      {
        thinking: { type: 'enabled', budget_tokens: 2000 },
        output_config: { effort: 'low' },
        anthropic_beta: ['effort-2025-11-24'],
      },
    ],
    [
      'an effort of the whole answer',
      latest,
      { output_config: { effort: 'low' } },
      { output_config: { effort: 'low' } },
    ],
    ['nothing', latest, {}, undefined],
  ])('%s on %s', (_, model, body, expected) => {
    expect(fields(body as JsonObject, model)).toEqual(expected);
  });

  it.each([
    [
      'manual thinking',
      latest,
      { thinking: { type: 'enabled', budget_tokens: 2000 } },
      'thinking.budget_tokens',
    ],
    ['adaptive thinking', older, { thinking: { type: 'adaptive' } }, 'thinking.type'],
    ['effort without a budget', older, { reasoning_effort: 'high' }, 'reasoning_effort'],
    ['two efforts', latest, { reasoning_effort: 'high', reasoning: { effort: 'low' } }, 'reasoning_effort'],
  ])('the family tier decides: %s on %s is rejected', (_, model, body, param) => {
    expect(rejected(body as JsonObject, { model })).toBe(param);
  });

  it('unrelated keys of the caller’s are preserved', () => {
    const own = {
      anthropic_beta: ['a'],
      custom: { x: 1 },
      thinking: { type: 'adaptive', display: 'omitted' },
    };
    expect(fields({ reasoning_effort: 'high', additionalModelRequestFields: own }, latest)).toEqual({
      ...own,
      thinking: { type: 'adaptive', display: 'omitted', effort: 'high' },
    });
    expect(
      fields(
        {
          output_config: { effort: 'low' },
          additional_model_request_fields: { anthropic_beta: ['a'], output_config: { x: 1 } },
        },
        oneOlder,
      ),
    ).toEqual({ anthropic_beta: ['a', 'effort-2025-11-24'], output_config: { x: 1, effort: 'low' } });
  });

  it('the caller’s own `thinking` stays where nothing else asks for thinking', () => {
    const own = { thinking: { type: 'enabled', budget_tokens: 5 } };
    expect(fields({ additionalModelRequestFields: own }, older)).toEqual(own);
  });

  it.each([
    [{ thinking: { type: 'enabled', budget_tokens: 2000 } }, 'thinking'],
    [{ thinking: { type: 'adaptive', effort: 'low' } }, 'thinking'],
    [{ thinking: { display: 'omitted' } }, 'thinking'],
    [{ thinking: 'yes' }, 'thinking'],
  ])('a conflicting one is rejected: %j', (own, name) => {
    expect(rejected({ reasoning_effort: 'high', additionalModelRequestFields: own }, { model: latest })).toBe(
      `additionalModelRequestFields.${name}`,
    );
    expect(
      rejected({ reasoning_effort: 'high', additional_model_request_fields: own }, { model: latest }),
    ).toBe(`additional_model_request_fields.${name}`);
  });

  it('so is a `top_k` that disagrees, and two spellings at once', () => {
    expect(rejected({ top_k: 5, additionalModelRequestFields: { top_k: 6 } })).toBe(
      'additionalModelRequestFields.top_k',
    );
    expect(sent({ top_k: 5, additionalModelRequestFields: { top_k: 5 } })).toMatchObject({
      additionalModelRequestFields: { top_k: 5 },
    });
    expect(rejected({ additionalModelRequestFields: {}, additional_model_request_fields: {} })).toBe(
      'additionalModelRequestFields',
    );
    expect(rejected({ additionalModelRequestFields: [] })).toBe('additionalModelRequestFields');
  });
});

describe('where an effort stands', () => {
  const model = 'us.anthropic.claude-opus-4-7-v1:0';
  it.each([
    [undefined, { thinking: { type: 'adaptive', effort: 'high' } }],
    ['thinking', { thinking: { type: 'adaptive', effort: 'high' } }],
    ['output_config', { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
  ])('`effort_placement: %s`', (effort_placement, expected) => {
    const cloudB = effort_placement === undefined ? {} : { effort_placement };
    expect(sent({ reasoning_effort: 'high' }, { model, cloudB })).toMatchObject({
      additionalModelRequestFields: expected,
    });
    const native = { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } };
    expect(sent(native, { model, cloudB })['additionalModelRequestFields']).toEqual(expected);
  });

  it('`model_tier` says for an opaque profile what it takes', () => {
    const profile = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6';
    expect(rejected({ reasoning_effort: 'low' }, { model: profile })).toBe('reasoning_effort');
    const latest = { model: profile, cloudB: { model_tier: 'latest' } };
    expect(sent({ reasoning_effort: 'low' }, latest)).toMatchObject({
      additionalModelRequestFields: { thinking: { type: 'adaptive', effort: 'low' } },
    });
    expect(rejected({ temperature: 0.5 }, latest)).toBe('temperature');
    expect(sent({ tools: [tool('f', { strict: true })] }, latest)['toolConfig']).toEqual({
      tools: [{ toolSpec: { name: 'f', inputSchema: { json: { type: 'object' } } } }],
    });
    expect(rejected({ reasoning_effort: 'low' }, { model: profile, cloudB: { model_tier: 'none' } })).toBe(
      'reasoning_effort',
    );
  });
});

describe('models that are no messages family', () => {
  const nova = (effort: string) => ({ reasoningConfig: { type: 'enabled', maxReasoningEffort: effort } });
  const nova2 = 'us.amazon.nova-2-lite-v1:0';
  const gptOss = 'openai.gpt-oss-120b-1:0';
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
    ['adaptive thinking', llama, { thinking: { type: 'adaptive' } }, undefined],
    ['nothing', llama, {}, undefined],
  ])('are asked in their own words: %s on %s', (_, model, body, fields) => {
    expect(sent(body as JsonObject, { model })['additionalModelRequestFields']).toEqual(fields);
  });

  it.each([
    ['an effort', llama, { reasoning_effort: 'low' }, 'reasoning_effort'],
    ['an effort', 'amazon.nova-lite-v1:0', { reasoning: { effort: 'low' } }, 'reasoning.effort'],
    ['an effort', 'deepseek.v3-v1:0', { output_config: { effort: 'low' } }, 'output_config.effort'],
    ['a budget', 'qwen.qwen3-32b-v1:0', { reasoning_budget_tokens: 9 }, 'reasoning_budget_tokens'],
    ['thinking disabled', llama, { thinking: { type: 'disabled' } }, 'thinking.type'],
    ['no effort', gptOss, { reasoning_effort: 'none' }, 'reasoning_effort'],
    ['no budget', nova2, { thinking: { type: 'enabled' } }, 'thinking.budget_tokens'],
  ])('are never asked what they have no word for: %s on %s', (_, model, body, param) => {
    expect(rejected(body as JsonObject, { model })).toBe(param);
  });

  it('say why, and what may be sent instead', () => {
    const request = asked({ reasoning_effort: 'low' }, { model: llama });
    expect(E.isLeft(request) ? request.left.message : '').toMatch(
      /no field of its API.*additionalModelRequest/,
    );
    const own = { reasoning: 'deep' };
    expect(sent({ additionalModelRequestFields: own }, { model: llama })).toMatchObject({
      additionalModelRequestFields: own,
    });
  });

  it('sample as the caller says', () => {
    expect(sent({ temperature: 0.5, top_p: 0.9 }, { model: nova2 })['inferenceConfig']).toEqual({
      temperature: 0.5,
      topP: 0.9,
    });
  });
});

describe('manual thinking in a tool loop', () => {
  const model = 'anthropic.claude-sonnet-4-20250514-v1:0';
  const asks: JsonObject = { thinking: { type: 'enabled', budget_tokens: 2000 }, tools: [tool('f')] };
  const loop = [
    { role: 'user', content: 'Do.' },
    { role: 'assistant', tool_calls: [call('1')] },
    { role: 'tool', tool_call_id: '1', content: 'done' },
  ];
  const notes = { reasoning: { thinking: 'left_out', reason: 'no_signed_thinking_in_tool_loop' } };
  const outcome = (body: JsonObject) => {
    const request = asked(body, { model });
    if (E.isLeft(request)) throw new Error(request.left.message);
    return { thinking: request.right.body['additionalModelRequestFields'], notes: request.right.notes };
  };

  it('is left out of that call, and noted', () => {
    expect(outcome({ ...asks, messages: loop })).toEqual({ thinking: undefined, notes });
    const own = { additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 5 }, x: 1 } };
    expect(outcome({ tools: [tool('f')], ...own, messages: loop })).toEqual({ thinking: { x: 1 }, notes });
  });

  it('stays in every other call', () => {
    const thinking = { thinking: { type: 'enabled', budget_tokens: 2000 } };
    for (const messages of [
      loop.slice(0, 1),
      [...loop, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'More.' }],
    ])
      expect(outcome({ ...asks, messages })).toEqual({ thinking, notes: undefined });
    expect(outcome({ ...asks, tool_choice: 'none', messages: loop })).toEqual({ thinking, notes: undefined });
  });

  it('adaptive thinking stays: the upstream takes it there', () => {
    const request = asked(
      { thinking: { type: 'adaptive' }, tools: [tool('f')], messages: loop },
      { model: 'anthropic.claude-opus-4-7' },
    );
    expect(E.isRight(request) && request.right).toMatchObject({
      body: { additionalModelRequestFields: { thinking: { type: 'adaptive' } } },
    });
    expect(E.isRight(request) && request.right.notes).toBeUndefined();
  });
});

describe('the format of the answer, and the tier that serves it', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } };
  const textFormat = {
    type: 'json_schema',
    structure: { jsonSchema: { schema: JSON.stringify(schema) } },
  };

  it.each([
    ['outputConfig', { outputConfig: { textFormat } }],
    ['its snake case', { output_config: { text_format: textFormat } }],
    ['the messages family’s `format`', { output_config: { format: { type: 'json_schema', schema } } }],
  ])('the platform’s `outputConfig`: %s', (_, body) => {
    expect(sent(body as JsonObject)).toEqual({ ...sent({}), outputConfig: { textFormat } });
  });

  it.each([
    ['a word of chat', { service_tier: 'flex' }, { type: 'flex' }],
    ['another', { service_tier: 'default' }, { type: 'default' }],
    ['the platform’s own', { serviceTier: { type: 'priority' } }, { type: 'priority' }],
    ['its snake case', { service_tier: { type: 'reserved' } }, { type: 'reserved' }],
  ])('`serviceTier`: %s', (_, body, serviceTier) => {
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
  ])('%j is rejected by name', (body, param) => {
    expect(rejected(body as JsonObject)).toBe(param);
  });
});

describe('`extra_body`', () => {
  it('is the final override: objects merge deeply, the rest replaces', () => {
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
