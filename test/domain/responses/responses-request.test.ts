import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { readResponsesRequest, responsesWatched } from '../../../domain/responses/responses-request.ts';
import type { GatewayError } from '../../../domain/shared/gateway-error.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { aJson } from '../../support/arbitraries/json-text.ts';
import type { GenerationRequest } from '../../../domain/routing/generation-request.ts';

const read = (body: object): E.Either<GatewayError, GenerationRequest> => {
  const document = parseDocument(JSON.stringify(body), responsesWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  return readResponsesRequest(document.right);
};

const requestOf = (over: object): GenerationRequest => {
  const request = read({ model: 'fast', input: 'Hello', ...over });
  if (E.isLeft(request)) throw new Error(request.left.message);
  return request.right;
};

describe('reading a responses request', () => {
  it.each<[string, object, string, string]>([
    ['no model', { model: undefined }, 'model', '`model` must be a non-empty string.'],
    ['an empty model', { model: '' }, 'model', '`model` must be a non-empty string.'],
    ['a model that is not a string', { model: 1 }, 'model', '`model` must be a non-empty string.'],
    ['input that is an object', { input: {} }, 'input', '`input` must be a string or an array of objects.'],
    ['input that is a number', { input: 7 }, 'input', '`input` must be a string or an array of objects.'],
    [
      'an input item that is a string',
      { input: [{}, 'x'] },
      'input',
      '`input` must be a string or an array of objects.',
    ],
    [
      'an input item that is null',
      { input: [null] },
      'input',
      '`input` must be a string or an array of objects.',
    ],
    ['stream that is a string', { stream: 'true' }, 'stream', '`stream` must be a boolean.'],
    ['stream that is a number', { stream: 1 }, 'stream', '`stream` must be a boolean.'],
    [
      'background without stream',
      { background: true },
      'background',
      '`background` needs `stream: true`: an answer that is fetched later can be neither fetched nor paid for here.',
    ],
    ['tools that are an object', { tools: {} }, 'tools', '`tools` must be an array of objects.'],
    ['a tool that is a string', { tools: [{}, 'x'] }, 'tools', '`tools` must be an array of objects.'],
  ])('rejects an invalid field by name: %s', (_, over, param, message) => {
    expect(read({ model: 'fast', input: 'Hello', ...over })).toEqual(
      E.left({ code: 'invalid_request', message, param }),
    );
  });

  it.each([
    ['no input', { input: undefined }],
    ['null input', { input: null }],
    ['no items', { input: [] }],
    ['an empty text', { input: '' }],
    ['a null stream', { stream: null }],
    ['no background', { background: false }],
    ['null tools', { tools: null }],
  ])('leaves to the upstream: %s', (_, over) => {
    const { needs, stream, exposedToolCount } = requestOf(over);
    expect([needs, stream, exposedToolCount]).toEqual([['responses'], false, 0]);
  });

  it('accepts `background` with `stream`', () => {
    expect(requestOf({ background: true, stream: true }).stream).toBe(true);
  });

  it('keeps unknown item and tool types, and all other fields', () => {
    const free = fc.dictionary(
      fc.constantFrom('instructions', 'include', 'store', 'text', 'x', 'tool_choice', 'client_metadata'),
      aJson,
    );
    const items = fc.array(fc.dictionary(fc.constantFrom('type', 'id', 'content', 'role', 'y'), aJson));
    fc.assert(
      fc.property(free, items, items, (fields, input, tools) => {
        const body = { model: 'fast', ...fields, input, tools };
        fc.pre(!JSON.stringify(body).includes('__proto__'));
        const request = requestOf(body);
        expect(request.exposedToolCount).toBe(tools.length);
        expect(request.document.value).toEqual(JSON.parse(JSON.stringify(body)));
      }),
    );
  });
});

describe('the capabilities that a responses request needs', () => {
  const image = { type: 'input_image', image_url: 'https://example.com/a.png' };
  const format = (type: string) => ({ text: { format: { type, name: 'n', schema: {} } } });

  it.each<[string, object, readonly string[]]>([
    ['a text', {}, ['responses']],
    ['stream: false', { stream: false }, ['responses']],
    ['stream: true', { stream: true }, ['responses', 'stream']],
    ['a function', { tools: [{ type: 'function', name: 'f' }] }, ['responses', 'tools']],
    ['a hosted tool', { tools: [{ type: 'web_search' }] }, ['responses', 'tools']],
    ...['additional_tools', 'tool_search_output'].map((type): [string, object, string[]] => [
      `tools of the item ${type}`,
      { input: [{ type, tools: [{ type: 'function', name: 'f' }] }] },
      ['responses', 'tools'],
    ]),
    ['an item without tools', { input: [{ type: 'tool_search_output', tools: [] }] }, ['responses']],
    ['an item that lists tools', { input: [{ type: 'mcp_list_tools', tools: [{}] }] }, ['responses']],
    ['empty tools', { tools: [], include: [] }, ['responses']],
    ['tool_choice without tools', { tool_choice: 'auto' }, ['responses']],
    [
      'an image',
      { input: [{ role: 'user', content: [{ type: 'input_text' }, image] }] },
      ['responses', 'vision'],
    ],
    [
      'an image in an earlier item',
      {
        input: [
          { type: 'message', content: [image] },
          { role: 'user', content: 'Hi' },
        ],
      },
      ['responses', 'vision'],
    ],
    [
      'an image returned by a tool',
      { input: [{ type: 'function_call_output', call_id: 'c', output: [image] }] },
      ['responses', 'vision'],
    ],
    ...[
      ['a file', { content: [{ type: 'input_file', file_id: 'f' }] }],
      ['a video', { content: [{ type: 'input_video' }] }],
      ['a file returned by a tool', { type: 'custom_tool_call_output', output: [{ type: 'input_file' }] }],
      ['a screenshot', { type: 'computer_call_output', output: { type: 'computer_screenshot' } }],
      ['a screenshot as a part', { type: 'function_call_output', output: [{ type: 'computer_screenshot' }] }],
      ['a generated image', { type: 'image_generation_call', id: 'ig_1', result: 'AAAA' }],
      ['an image made by hosted code', { type: 'code_interpreter_call', outputs: [{ type: 'image' }] }],
    ].map(([name, item]): [string, object, readonly string[]] => [
      name as string,
      { input: [{ role: 'user', content: 'Hi' }, item] },
      ['responses', 'vision'],
    ]),
    ...['input_image', 'input_file'].map((type): [string, object, readonly string[]] => [
      `an ${type} in a variable of a prompt`,
      { prompt: { id: 'pmpt_1', variables: { name: 'A', photo: { type } } } },
      ['responses', 'vision'],
    ]),
    [
      'a variable of a prompt that is text',
      { prompt: { id: 'pmpt_1', variables: { photo: 'input_image', text: { type: 'input_text' } } } },
      ['responses'],
    ],
    [
      'calls and logs',
      {
        input: [
          { type: 'computer_call', action: { type: 'screenshot' } },
          { type: 'code_interpreter_call', outputs: [{ type: 'logs', logs: 'image' }] },
          { type: 'function_call_output', output: 'input_image' },
        ],
      },
      ['responses'],
    ],
    [
      'a text that says input_image',
      { input: [{ content: [{ type: 'input_text', text: 'input_image' }] }, { output: 'input_image' }] },
      ['responses'],
    ],
    ['a JSON schema', format('json_schema'), ['responses', 'json_schema']],
    ['a JSON object', format('json_object'), ['responses']],
    ['a text format', format('text'), ['responses']],
    ['a chat format', { response_format: { type: 'json_schema' } }, ['responses']],
    [
      'all of them',
      { stream: true, tools: [{}], input: [{ content: [image] }], ...format('json_schema') },
      ['responses', 'stream', 'tools', 'vision', 'json_schema'],
    ],
  ])('%s', (_, over, needs) => {
    expect(requestOf(over).needs).toEqual(needs);
  });

  it('are reported with the path of the field that needs them', () => {
    expect(requestOf({ input: [{}, { content: [{}, image] }] }).fields).toEqual({
      vision: 'input[1].content[1]',
      json_schema: 'text.format',
    });
    for (const item of [{ outputs: [image] }, { output: image }])
      expect(requestOf({ input: [item] }).fields.vision).toMatch(/^input\[0\]\.output(?:s\[0\])?$/);
    expect(requestOf({ input: [{ type: 'computer_call_output' }] }).fields.vision).toBe('input[0]');
    const prompt = { variables: { photo: image } };
    expect(requestOf({ prompt }).fields.vision).toBe('prompt.variables');
    const input = [{}, { type: 'additional_tools', tools: [{}] }];
    expect(requestOf({ input }).fields.tools).toBe('input[1].tools');
    expect(requestOf({ input, tools: [{}] }).fields.tools).toBeUndefined();
  });
});

describe('exposed_tool_count is a shallow count of request tools', () => {
  it.each<[string, object, number]>([
    ['no tools', {}, 0],
    ['empty tools', { tools: [] }, 0],
    ['functions', { tools: [{ type: 'function' }, { type: 'function' }] }, 2],
    [
      'tools as an agent sends them',
      {
        tools: [
          { type: 'function', name: 'shell', strict: false },
          { type: 'namespace', name: 'mcp', tools: [{ type: 'function' }, { type: 'function' }] },
          { type: 'web_search', external_web_access: false },
          { type: 'custom', name: 'apply_patch' },
          {},
        ],
      },
      5,
    ],
  ])('%s', (_, over, count) => {
    expect(requestOf(over).exposedToolCount).toBe(count);
  });
});

describe('a repeated key in a responses body', () => {
  const twice = '{"x":1,"\\u0078":2}';
  const faultPath = (text: string): string | undefined => {
    const parsed = parseDocument(text, responsesWatched);
    return E.isLeft(parsed) ? parsed.left.path : undefined;
  };

  it.each([
    ['{"model":"a","\\u006dodel":"b"}', 'model'],
    [`{"input":[${twice}]}`, 'input[0].x'],
    ['{"input":[{},{"type":"message","id":"a","id":"b"}]}', 'input[1].id'],
    [`{"input":[{"content":[{},${twice}]}]}`, 'input[0].content[1].x'],
    [`{"input":[{"output":[${twice}]}]}`, 'input[0].output[0].x'],
    [`{"tools":[{},${twice}]}`, 'tools[1].x'],
    [`{"tool_choice":${twice}}`, 'tool_choice.x'],
    [`{"text":${twice}}`, 'text.x'],
    [`{"text":{"format":${twice}}}`, 'text.format.x'],
  ])('is rejected by its path at a level that the gateway reads or edits: %s', (text, path) => {
    expect(faultPath(text)).toBe(path);
  });

  it.each([
    [`{"metadata":${twice}}`],
    [`{"tools":[{"parameters":${twice}}]}`],
    [`{"text":{"format":{"schema":${twice}}}}`],
    [`{"input":[{"content":[{"annotations":[${twice}]}]}]}`],
    [`{"client_metadata":${twice}}`],
  ])('passes at a level that the gateway neither reads nor edits: %s', (text) => {
    expect(faultPath(text)).toBeUndefined();
  });
});
