import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import { chatWatched, readChatRequest } from '../../../domain/chat/chat-request.ts';
import { parseDocument } from '../../../domain/shared/json-document.ts';
import { aJson } from '../../support/arbitraries/json-text.ts';
import type { GenerationRequest } from '../../../domain/routing/generation-request.ts';

const read = (body: object) => {
  const document = parseDocument(JSON.stringify(body), chatWatched);
  if (E.isLeft(document)) throw new Error(document.left.message);
  return readChatRequest(document.right);
};

const messages = [{ role: 'user', content: 'Hello' }];

const requestOf = (over: object): GenerationRequest => {
  const request = read({ model: 'fast', messages, ...over });
  if (E.isLeft(request)) throw new Error(request.left.message);
  return request.right;
};

const paramAtFault = (over: object): string | undefined => {
  const request = read({ model: 'fast', messages, ...over });
  if (E.isRight(request)) return undefined;
  expect(request.left.code).toBe('invalid_request');
  return request.left.param;
};

describe('the fields of a chat request that the gateway reads are validated, and named in the error', () => {
  it.each<[string, object, string]>([
    ['no model', { model: undefined }, 'model'],
    ['an empty model', { model: '' }, 'model'],
    ['a model that is null', { model: null }, 'model'],
    ['a model that is no string', { model: 1 }, 'model'],
    ['no messages', { messages: undefined }, 'messages'],
    ['empty messages', { messages: [] }, 'messages'],
    ['messages that are null', { messages: null }, 'messages'],
    ['messages that are a string', { messages: 'Hello' }, 'messages'],
    ['messages that are an object', { messages: { role: 'user' } }, 'messages'],
    ['a message that is a string', { messages: [...messages, 'Hello'] }, 'messages[1]'],
    ['a message that is null', { messages: [null] }, 'messages[0]'],
    ['a message that is an array', { messages: [[]] }, 'messages[0]'],
    ['a message without a role', { messages: [...messages, { content: 'x' }] }, 'messages[1]'],
    ['a role that is no string', { messages: [{ role: 1 }] }, 'messages[0]'],
    ['stream that is a string', { stream: 'true' }, 'stream'],
    ['stream that is a number', { stream: 1 }, 'stream'],
    ['tools that are an object', { tools: {} }, 'tools'],
    ['a tool that is a string', { tools: [{}, 'x'] }, 'tools'],
    ['functions that are a string', { functions: 'x' }, 'functions'],
    ['a function that is null', { functions: [null] }, 'functions'],
    ['stream_options that are a boolean', { stream_options: true }, 'stream_options'],
    ['stream_options that are an array', { stream_options: [] }, 'stream_options'],
    ['a response_format that is a string', { response_format: 'json' }, 'response_format'],
  ])('%s', (_, over, param) => {
    expect(paramAtFault(over)).toBe(param);
  });

  it.each<[object, string]>([
    [{ model: '' }, '`model` must be a non-empty string.'],
    [{ messages: [] }, '`messages` must be a non-empty array.'],
    [{ messages: ['x'] }, '`messages[0]` must be an object with a string `role`.'],
    [{ stream: 1 }, '`stream` must be a boolean.'],
    [{ tools: {} }, '`tools` must be an array of objects.'],
    [{ functions: {} }, '`functions` must be an array of objects.'],
    [{ stream_options: 1 }, '`stream_options` must be an object.'],
    [{ response_format: 1 }, '`response_format` must be an object.'],
  ])('the message says what the field must be: %j', (over, message) => {
    expect(read({ model: 'fast', messages, ...over })).toEqual(E.left(expect.objectContaining({ message })));
  });

  it.each([['stream'], ['tools'], ['functions'], ['stream_options'], ['response_format']])(
    'a null `%s` counts as absent',
    (field) => {
      const { needs, stream, exposedToolCount } = requestOf({ [field]: null });
      expect([needs, stream, exposedToolCount]).toEqual([['chat_completions'], false, 0]);
    },
  );

  it('all other fields of the body are accepted and kept', () => {
    const free = fc.dictionary(
      fc.constantFrom('temperature', 'n', 'stop', 'user', 'store', 'x', 'tool_choice', 'reasoning'),
      aJson,
    );
    fc.assert(
      fc.property(free, (fields) => {
        fc.pre(!JSON.stringify(fields).includes('__proto__'));
        const request = requestOf(fields);
        expect(request.model).toBe('fast');
        expect(request.document.value).toEqual(
          JSON.parse(JSON.stringify({ model: 'fast', messages, ...fields })),
        );
      }),
    );
  });

  it.each([
    ['system'],
    ['developer'],
    ['user'],
    ['assistant'],
    ['tool'],
    ['function'],
    ['a role that nobody knows'],
  ])('a message of the role %s passes with any content', (role) => {
    for (const content of [null, '', 'x', [], [{ type: 'text', text: 'x' }], 7])
      expect(paramAtFault({ messages: [{ role, content }] })).toBeUndefined();
  });
});

describe('capabilities that a chat request requires of a route', () => {
  const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };

  it.each<[string, object, readonly string[]]>([
    ['plain text', {}, ['chat_completions']],
    ['stream: false', { stream: false }, ['chat_completions']],
    ['stream: true', { stream: true }, ['chat_completions', 'stream']],
    ['tools', { tools: [{ type: 'function', function: { name: 'f' } }] }, ['chat_completions', 'tools']],
    ['a tool of an unknown type', { tools: [{ type: 'web_search' }] }, ['chat_completions', 'tools']],
    ['legacy functions', { functions: [{ name: 'f' }] }, ['chat_completions', 'tools']],
    ['empty tools', { tools: [], functions: [] }, ['chat_completions']],
    ['tool_choice without tools', { tool_choice: 'auto' }, ['chat_completions']],
    [
      'an image that the assistant made',
      {
        messages: [
          { role: 'assistant', content: '', images: [{ type: 'image_url', image_url: { url: 'u' } }] },
        ],
      },
      ['chat_completions', 'vision'],
    ],
    [
      'an image',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, image] }] },
      ['chat_completions', 'vision'],
    ],
    [
      'an image, spelled in another way',
      { messages: [{ role: 'user', content: [{ type: 'input_image' }] }] },
      ['chat_completions', 'vision'],
    ],
    [
      'an image, as messages callers spell it',
      { messages: [{ role: 'user', content: [{ type: 'image' }] }] },
      ['chat_completions', 'vision'],
    ],
    [
      'an image in an earlier message',
      { messages: [{ role: 'user', content: [image] }, ...messages] },
      ['chat_completions', 'vision'],
    ],
    [
      'an image in a tool’s answer',
      { messages: [{ role: 'tool', content: [image] }] },
      ['chat_completions', 'vision'],
    ],
    ...['video_url', 'input_video', 'video', 'file', 'input_file', 'document'].map(
      (type): [string, object, readonly string[]] => [
        `a part \`${type}\``,
        { messages: [...messages, { role: 'user', content: [{ type: 'text', text: 'x' }, { type }] }] },
        ['chat_completions', 'vision'],
      ],
    ),
    [
      'audio',
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] },
      ['chat_completions'],
    ],
    [
      'text parts',
      { messages: [{ role: 'user', content: [{ type: 'text', text: 'image_url' }] }] },
      ['chat_completions'],
    ],
    [
      'a JSON schema',
      { response_format: { type: 'json_schema', json_schema: {} } },
      ['chat_completions', 'json_schema'],
    ],
    ['a JSON object', { response_format: { type: 'json_object' } }, ['chat_completions']],
    ['a response format of text', { response_format: { type: 'text' } }, ['chat_completions']],
    [
      'all of it',
      {
        stream: true,
        tools: [{}],
        messages: [{ role: 'user', content: [image] }],
        response_format: { type: 'json_schema' },
      },
      ['chat_completions', 'stream', 'tools', 'vision', 'json_schema'],
    ],
  ])('%s', (_, over, needs) => {
    expect(requestOf(over).needs).toEqual(needs);
  });

  it('are reported with the field of the caller’s body that requires them', () => {
    const hi = { role: 'user', content: 'Hi' };
    const shows = { role: 'user', content: [{ type: 'text', text: 'x' }, image] };
    expect(requestOf({ messages: [hi, shows] }).fields.vision).toBe('messages[1].content[1]');
    expect(requestOf({ messages: [hi, { role: 'assistant', images: [image] }] }).fields.vision).toBe(
      'messages[1].images[0]',
    );
    expect(requestOf({ tools: [{}], functions: [{}] }).fields.tools).toBe('tools');
    expect(requestOf({ tools: [], functions: [{}] }).fields.tools).toBe('functions');
  });
});

describe('exposed_tool_count is a shallow count of request tools', () => {
  it.each<[string, object, number]>([
    ['no tools', {}, 0],
    ['empty tools', { tools: [] }, 0],
    ['functions', { tools: [{ type: 'function' }, { type: 'function' }] }, 2],
    [
      'tools of any type',
      { tools: [{ type: 'function' }, { type: 'namespace', tools: [{}, {}] }, { type: 'web_search' }, {}] },
      4,
    ],
    ['legacy functions', { functions: [{ name: 'a' }, { name: 'b' }] }, 2],
    ['both', { tools: [{}], functions: [{}] }, 2],
  ])('%s', (_, over, count) => {
    expect(requestOf(over).exposedToolCount).toBe(count);
  });
});

describe('stream selects SSE', () => {
  it.each<[object, boolean]>([
    [{}, false],
    [{ stream: false }, false],
    [{ stream: null }, false],
    [{ stream: true }, true],
  ])('%j', (over, stream) => {
    expect(requestOf(over).stream).toBe(stream);
  });
});

describe('a chat body that repeats a key at a level that the gateway reads or edits', () => {
  const twice = '{"x":1,"\\u0078":2}';
  const faultPath = (text: string): string | undefined => {
    const parsed = parseDocument(text, chatWatched);
    return E.isLeft(parsed) ? parsed.left.path : undefined;
  };

  it.each([
    ['{"model":"a","model":"b"}', 'model'],
    ['{"model":"a","\\u006dodel":"b"}', 'model'],
    [`{"messages":[${twice}]}`, 'messages[0].x'],
    [`{"messages":[{},{"content":[{},${twice}]}]}`, 'messages[1].content[1].x'],
    [`{"messages":[{"content":[{"image_url":${twice}}]}]}`, 'messages[0].content[0].image_url.x'],
    [`{"messages":[{"content":[{"input_audio":${twice}}]}]}`, 'messages[0].content[0].input_audio.x'],
    [`{"messages":[{"content":[{"file":${twice}}]}]}`, 'messages[0].content[0].file.x'],
    [`{"messages":[{"tool_calls":[${twice}]}]}`, 'messages[0].tool_calls[0].x'],
    [`{"messages":[{"tool_calls":[{"function":${twice}}]}]}`, 'messages[0].tool_calls[0].function.x'],
    [`{"messages":[{"function_call":${twice}}]}`, 'messages[0].function_call.x'],
    [`{"tools":[${twice}]}`, 'tools[0].x'],
    [`{"tools":[{"function":${twice}}]}`, 'tools[0].function.x'],
    [`{"functions":[${twice}]}`, 'functions[0].x'],
    [`{"tool_choice":${twice}}`, 'tool_choice.x'],
    [`{"tool_choice":{"function":${twice}}}`, 'tool_choice.function.x'],
    [`{"safety_settings":[${twice}]}`, 'safety_settings[0].x'],
    [`{"guardrailConfig":${twice}}`, 'guardrailConfig.x'],
    [`{"request_metadata":${twice}}`, 'request_metadata.x'],
    [`{"additionalModelRequestFields":${twice}}`, 'additionalModelRequestFields.x'],
    [
      `{"additional_model_request_fields":{"thinking":${twice}}}`,
      'additional_model_request_fields.thinking.x',
    ],
    [`{"response_format":${twice}}`, 'response_format.x'],
    [`{"response_format":{"json_schema":${twice}}}`, 'response_format.json_schema.x'],
    [`{"stream_options":${twice}}`, 'stream_options.x'],
    [`{"reasoning":${twice}}`, 'reasoning.x'],
  ])('is rejected, and the error names the key: %s', (text, path) => {
    expect(faultPath(text)).toBe(path);
  });

  it.each([
    [`{"metadata":${twice}}`],
    [`{"tools":[{"function":{"parameters":${twice}}}]}`],
    [`{"response_format":{"json_schema":{"schema":${twice}}}}`],
    [`{"functions":[{"parameters":${twice}}]}`],
    [`{"x_unknown":[${twice}]}`],
  ])('is accepted if the key is below those levels: %s', (text) => {
    expect(faultPath(text)).toBeUndefined();
  });
});

describe('the parsed chat request', () => {
  it('keeps the caller’s text unchanged', () => {
    const text =
      '{ "model" : "fast", "messages":[{"role":"user","content":"Hello"}], "seed": 9007199254740993 }';
    const document = parseDocument(text, chatWatched);
    if (E.isLeft(document)) throw new Error(document.left.message);
    const request = readChatRequest(document.right);
    expect(E.isRight(request) && request.right.document.text).toBe(text);
    expect(document.right.value['model']).toBe('fast');
  });
});
