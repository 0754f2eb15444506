import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseExact } from '../../domain/shared/json.ts';
import { mediaTypeOf } from '../../infrastructure/providers/cloud-a/media-types.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';

const hi = [{ role: 'user', content: 'Hi' }];
const older = 'gemini-2.5-flash';
const newer = 'gemini-3-pro-preview';

const outcome = (body: object, model = older) =>
  generateContentRequest(parseExact(JSON.stringify({ messages: hi, ...body })) as JsonObject, model);

function sent(body: object, model = older): JsonObject {
  const request = outcome(body, model);
  if (E.isLeft(request)) throw new Error(request.left.message);
  return JSON.parse(JSON.stringify(request.right)) as JsonObject;
}

const config = (body: object, model = older) => sent(body, model)['generationConfig'];
const contents = (messages: readonly object[], model = older) => sent({ messages }, model)['contents'];
const userParts = (...content: readonly object[]) =>
  (contents([{ role: 'user', content }]) as readonly { parts: unknown }[])[0]!.parts;

function refused(body: object, model = older) {
  const request = outcome(body, model);
  expect(E.isLeft(request)).toBe(true);
  const error = E.isLeft(request) ? request.left : undefined;
  expect(error?.code).toBe('invalid_request');
  expect(error?.message).toContain(`\`${error?.param}\``);
  return error?.param;
}

const call = (id: string, name: string, args = '{}') => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

describe('what was said', () => {
  it('system and developer text stands in systemInstruction, users and assistants take turns', () => {
    expect(
      sent({
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'developer', content: [{ type: 'text', text: 'In verse.' }] },
          { role: 'user', content: 'Hi', name: 'a' },
          { role: 'assistant', content: [{ type: 'text', text: 'Hello' }], refusal: null },
          { role: 'user', content: [{ type: 'text', text: 'Go on' }] },
        ],
      }),
    ).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'In verse.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        { role: 'model', parts: [{ text: 'Hello' }] },
        { role: 'user', parts: [{ text: 'Go on' }] },
      ],
    });
  });

  it('what the same role says in a row is one turn, and what says nothing is left out', () => {
    expect(
      contents([
        { role: 'user', content: 'a' },
        { role: 'assistant', content: '' },
        { role: 'user', content: 'b' },
        { role: 'assistant', content: null, refusal: 'No.' },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'Never.' }] },
      ]),
    ).toEqual([
      { role: 'user', parts: [{ text: 'a' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'No.' }, { text: 'Never.' }] },
    ]);
  });

  it('reasoning that is sent back is dropped (replay is not performed)', () => {
    expect(
      contents([
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'text', text: 'Yes' },
          ],
          reasoning: 'hm',
          reasoning_content: 'hm',
          provider_metadata: { cloud_a_platform: { reasoning: [{ type: 'thinking', thinking: 'hm' }] } },
        },
        ...hi,
      ]),
    ).toEqual([
      { role: 'model', parts: [{ text: 'Yes' }] },
      { role: 'user', parts: [{ text: 'Hi' }] },
    ]);
  });

  it.each([
    ['a role that nobody knows', [{ role: 'function', name: 'f', content: '{}' }], 'messages[0].role'],
    [
      'an older function call',
      [{ role: 'assistant', function_call: { name: 'f' } }],
      'messages[0].function_call',
    ],
    [
      'a system that is no text',
      [{ role: 'system', content: [{ type: 'image_url' }] }],
      'messages[0].content[0].type',
    ],
    [
      'an image of the assistant',
      [...hi, { role: 'assistant', content: [{ type: 'image_url' }] }],
      'messages[1].content[0].type',
    ],
    ['content that is a number', [{ role: 'user', content: 7 }], 'messages[0].content'],
    ['nothing at all', [{ role: 'system', content: 'Be brief.' }], 'messages'],
    [
      'a content part that nobody knows',
      [...hi, ...hi, { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'hologram' }] }],
      'messages[2].content[1].type',
    ],
  ])('%s is rejected by its path', (_case, messages, path) => {
    expect(refused({ messages })).toBe(path);
  });
});

describe('images, video, audio and files', () => {
  it.each([
    [
      'a data URL',
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO', detail: 'high' } },
      { inlineData: { mimeType: 'image/png', data: 'iVBO' } },
    ],
    [
      'a data URL with parameters',
      { type: 'image_url', image_url: { url: 'data:image/svg+xml;charset=utf-8;base64,AA==' } },
      { inlineData: { mimeType: 'image/svg+xml', data: 'AA==' } },
    ],
    [
      'a bucket',
      { type: 'image_url', image_url: { url: 'gs://b/o#1?.webp' } },
      { fileData: { mimeType: 'image/webp', fileUri: 'gs://b/o#1?.webp' } },
    ],
    [
      'a signed URL',
      { type: 'image_url', image_url: { url: 'https://h/a/b.PNG?X-Sig=a%2Fb&e=.pdf' } },
      { fileData: { mimeType: 'image/png', fileUri: 'https://h/a/b.PNG?X-Sig=a%2Fb&e=.pdf' } },
    ],
    [
      'an image without an extension',
      { type: 'image_url', image_url: 'https://h/a' },
      { fileData: { mimeType: 'image/jpeg', fileUri: 'https://h/a' } },
    ],
    [
      'an image that is its URL',
      { type: 'image_url', image_url: 'https://h/a.gif' },
      { fileData: { mimeType: 'image/gif', fileUri: 'https://h/a.gif' } },
    ],
    [
      'an image whose type is told',
      { type: 'image_url', image_url: { url: 'https://h/a.png', format: 'image/webp' } },
      { fileData: { mimeType: 'image/webp', fileUri: 'https://h/a.png' } },
    ],
    [
      'a video',
      { type: 'video_url', video_url: { url: 'https://h/v.mov' } },
      { fileData: { mimeType: 'video/mov', fileUri: 'https://h/v.mov' } },
    ],
    [
      'a video page',
      { type: 'video_url', video_url: { url: 'https://h/watch?v=1' } },
      { fileData: { mimeType: 'video/mp4', fileUri: 'https://h/watch?v=1' } },
    ],
    [
      'audio',
      { type: 'input_audio', input_audio: { data: 'UklG', format: 'wav' } },
      { inlineData: { mimeType: 'audio/wav', data: 'UklG' } },
    ],
    [
      'a file in the request',
      { type: 'file', file: { filename: 'a', file_data: 'data:application/pdf;base64,JVBE' } },
      { inlineData: { mimeType: 'application/pdf', data: 'JVBE' } },
    ],
    [
      'the bare bytes of a file',
      { type: 'file', file: { filename: 'a.csv', file_data: 'YSxi' } },
      { inlineData: { mimeType: 'text/csv', data: 'YSxi' } },
    ],
    [
      'the URL of a file',
      { type: 'file', file: { file_url: 'https://h/a.pdf?s=1' } },
      { fileData: { mimeType: 'application/pdf', fileUri: 'https://h/a.pdf?s=1' } },
    ],
    [
      'a file in a bucket',
      { type: 'file', file: { file_id: 'gs://b/o', format: 'application/pdf' } },
      { fileData: { mimeType: 'application/pdf', fileUri: 'gs://b/o' } },
    ],
  ])('%s', (_case, block, part) => {
    expect(userParts({ type: 'text', text: 'Look' }, block)).toEqual([{ text: 'Look' }, part]);
  });

  it.each([
    ['http', { type: 'image_url', image_url: { url: 'http://h/a.png' } }, 'image_url.url'],
    ['no URL', { type: 'image_url', image_url: {} }, 'image_url.url'],
    ['no object', { type: 'video_url' }, 'video_url'],
    [
      'a data URL that is no base64',
      { type: 'image_url', image_url: { url: 'data:image/png,x' } },
      'image_url.url',
    ],
    [
      'a data URL without a type',
      { type: 'image_url', image_url: { url: 'data:;base64,AA' } },
      'image_url.url',
    ],
    [
      'a data URL without bytes',
      { type: 'image_url', image_url: { url: 'data:image/png;base64' } },
      'image_url.url',
    ],
    ['audio without a format', { type: 'input_audio', input_audio: { data: '' } }, 'input_audio.format'],
    ['an uploaded file', { type: 'file', file: { file_id: 'file-1' } }, 'file.file_id'],
    ['an empty file', { type: 'file', file: { filename: 'a.pdf' } }, 'file'],
    ['a file of an unknown type', { type: 'file', file: { file_url: 'https://h/a' } }, 'file.file_url'],
    [
      'bytes of an unknown type',
      { type: 'file', file: { file_data: 'YSxi', filename: 'a' } },
      'file.file_data',
    ],
  ])('%s is rejected by its path', (_case, block, field) => {
    expect(refused({ messages: [{ role: 'user', content: [block] }] })).toBe(
      `messages[0].content[0].${field}`,
    );
  });

  it('signed-URL queries pass upstream unchanged, and never decide what type a file has', () => {
    fc.assert(
      fc.property(fc.webQueryParameters(), fc.constantFrom('png', 'mp4', 'pdf'), (query, extension) => {
        const url = `https://h/a.${extension}?${query}`;
        expect(userParts({ type: 'file', file: { file_url: url } })).toEqual([
          { fileData: { mimeType: mediaTypeOf(`a.${extension}`), fileUri: url } },
        ]);
      }),
    );
  });
});

describe('calls and their results', () => {
  const asked = {
    role: 'assistant',
    content: 'Let me look.',
    tool_calls: [call('a', 'weather', '{"at":"Bonn","n":9007199254740993}'), call('b', 'time', '')],
  };

  it('a round trip: results go by the name of their call, in the order of the calls, in one turn', () => {
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
        '{"functionResponse":{"name":"time","response":{"output":"12:00"}}},{"text":"And?"}]}]',
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
  ])('a result that is %s', (_case, content, response) => {
    const [, , turn] = contents([
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'f')] },
      { role: 'tool', tool_call_id: 'a', content },
    ]) as readonly unknown[];
    expect(turn).toEqual({ role: 'user', parts: [{ functionResponse: { name: 'f', response } }] });
  });

  it('an image in a result follows the results', () => {
    const image = { type: 'image_url', image_url: { url: 'gs://b/a.png' } };
    const [, , turn] = contents([
      ...hi,
      { role: 'assistant', tool_calls: [call('a', 'f'), call('b', 'g')] },
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'see' }, image] },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
    ]) as readonly { parts: readonly object[] }[];
    expect(turn!.parts.map((part) => Object.keys(part)[0])).toEqual([
      'functionResponse',
      'functionResponse',
      'fileData',
    ]);
  });

  it('ids that come again, in the next message or among parallel calls, mean the call that waits', () => {
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
  });

  it('ids of any shape find their call, whatever the order of the results', () => {
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

  it('the newest models get a stand-in for the signature of the first call of each turn', () => {
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
      'arguments that are no object',
      [{ role: 'assistant', tool_calls: [call('a', 'f'), call('b', 'f', '[1]')] }],
      'messages[0].tool_calls[1].function.arguments',
    ],
    [
      'arguments that are cut',
      [{ role: 'assistant', tool_calls: [call('a', 'f', '{"a":')] }],
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
  ])('%s is rejected by its path', (_case, messages, path) => {
    expect(refused({ messages })).toBe(path);
  });
});

describe('tools and the choice among them', () => {
  const tool = (described: object) => ({ type: 'function', function: described });
  const weather = tool({
    name: 'weather',
    description: 'Tells.',
    parameters: { type: 'object' },
    strict: true,
  });

  it('function tools become declarations with the JSON schema as it is', () => {
    const parameters = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { at: { $ref: '#/$defs/at', default: null }, n: { const: null } },
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
  ])('%s are no schema', (_case, members) => {
    expect(sent({ tools: [tool({ name: 'f', ...members })] })['tools']).toEqual([
      { functionDeclarations: [{ name: 'f' }] },
    ]);
  });

  it('keywords that are null are left out, at any depth', () => {
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
  ])('tool_choice %j', (tool_choice, functionCallingConfig) => {
    expect(sent({ tools: [weather], tool_choice })['toolConfig']).toEqual({ functionCallingConfig });
  });

  it.each([
    ['no tools at all', {}],
    ['no tools', { tools: [] }],
    ['no tools, and a neutral choice', { tools: [], tool_choice: 'none', parallel_tool_calls: false }],
  ])('%s: neither is sent', (_case, body) => {
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
  ])('%s is rejected by its name', (_case, body, path) => {
    expect(refused(body)).toBe(path);
  });
});

describe('generation controls', () => {
  it('each has its name', () => {
    expect(
      config({
        max_completion_tokens: 5,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        n: 2,
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: -0.1,
        stop: ['a', 'b'],
        logprobs: true,
        top_logprobs: 3,
      }),
    ).toEqual({
      maxOutputTokens: 5,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      candidateCount: 2,
      seed: 7,
      presencePenalty: 0.1,
      frequencyPenalty: -0.1,
      stopSequences: ['a', 'b'],
      responseLogprobs: true,
      logprobs: 3,
    });
  });

  it('numbers go upstream digit for digit', () => {
    const request = generateContentRequest(
      parseExact('{"messages":[{"role":"user","content":"Hi"}],"temperature":1.0,"seed":1e2}') as JsonObject,
      older,
    );
    expect(JSON.stringify(E.isRight(request) && request.right['generationConfig'])).toBe(
      '{"temperature":1.0,"seed":1e2}',
    );
  });

  it.each([
    [{ max_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ max_tokens: 5, max_completion_tokens: 5 }, { maxOutputTokens: 5 }],
    [{ stop: 'a' }, { stopSequences: ['a'] }],
    [{ stop: [] }, undefined],
    [{ stop: '', temperature: null, logprobs: false, top_logprobs: 3 }, undefined],
    [{ response_format: { type: 'text' } }, undefined],
    [{ response_format: { type: 'json_object' } }, { responseMimeType: 'application/json' }],
    [
      {
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'a', schema: { type: 'object', required: null } },
        },
      },
      { responseMimeType: 'application/json', responseJsonSchema: { type: 'object' } },
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a' } } },
      { responseMimeType: 'application/json' },
    ],
  ])('%j', (body, expected) => {
    expect(config(body)).toEqual(expected);
  });

  it('a control that cannot change the meaning is dropped, and so are messages-only fields', () => {
    expect(
      sent({
        model: 'm',
        stream: true,
        user: 'u',
        store: true,
        metadata: { a: 'b' },
        prompt_cache_key: 'k',
        stream_options: { include_usage: true },
        service_tier: 'auto',
        safety_identifier: 's',
        parallel_tool_calls: true,
        modalities: ['text'],
        logit_bias: {},
        functions: [],
        nobody_knows: 1,
        thinking: { type: 'enabled', budget_tokens: 5 },
        output_config: { effort: 'max' },
        anthropic_version: 'x',
      }),
    ).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] });
  });

  it.each([
    [{ logit_bias: { 7: -100 } }, 'logit_bias'],
    [{ functions: [{ name: 'f' }] }, 'functions'],
    [{ function_call: 'auto' }, 'function_call'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ modalities: ['text', 'audio'] }, 'modalities[1]'],
    [{ max_tokens: 5, max_completion_tokens: 6 }, 'max_tokens'],
    [{ response_format: { type: 'grammar' } }, 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'response_format.json_schema'],
    [
      { response_format: { type: 'json_schema', json_schema: { schema: [] } } },
      'response_format.json_schema.schema',
    ],
  ])('%j is rejected by its name', (body, path) => {
    expect(refused(body)).toBe(path);
  });
});

describe('reasoning controls', () => {
  const thinking = (body: object, model = older) =>
    (config(body, model) as JsonObject | undefined)?.['thinkingConfig'];

  it.each([
    ['none', { thinkingBudget: 0 }, { thinkingBudget: 0 }],
    [
      'minimal',
      { thinkingBudget: 1024, includeThoughts: true },
      { thinkingLevel: 'MINIMAL', includeThoughts: true },
    ],
    ['low', { thinkingBudget: 1024, includeThoughts: true }, { thinkingLevel: 'LOW', includeThoughts: true }],
    [
      'medium',
      { thinkingBudget: 8192, includeThoughts: true },
      { thinkingLevel: 'MEDIUM', includeThoughts: true },
    ],
    [
      'high',
      { thinkingBudget: 24_576, includeThoughts: true },
      { thinkingLevel: 'HIGH', includeThoughts: true },
    ],
  ])('effort %s is a budget for older models and a level for newer ones', (effort, budget, level) => {
    expect(thinking({ reasoning_effort: effort }, older)).toEqual(budget);
    expect(thinking({ reasoning: { effort } }, newer)).toEqual(level);
  });

  it.each(['xhigh', 'max'])('effort %s is the highest that the model has', (effort) => {
    const highest = {
      'gemini-2.5-flash': 24_576,
      'gemini-2.5-pro': 32_768,
      'gemini-2.5-pro-preview': 32_768,
    };
    for (const [model, thinkingBudget] of Object.entries(highest))
      expect(thinking({ reasoning_effort: effort }, model)).toEqual({
        thinkingBudget,
        includeThoughts: true,
      });
    expect(thinking({ reasoning: { effort } }, newer)).toEqual({
      thinkingLevel: 'HIGH',
      includeThoughts: true,
    });
  });

  it.each([
    ['gemini-2.5-pro', 'thinkingBudget'],
    ['gemini-live-2.5-flash', 'thinkingBudget'],
    ['gemini-2.0-flash-001', 'thinkingBudget'],
    ['gemini-3-flash-preview', 'thinkingLevel'],
    ['gemini-3.5-flash-lite', 'thinkingLevel'],
    ['gemini-10-pro', 'thinkingLevel'],
    ['gemini-flash-latest', 'thinkingLevel'],
    ['gemma-3-27b-it', 'thinkingBudget'],
  ])('%s takes a %s', (model, field) => {
    expect(Object.keys(thinking({ reasoning_effort: 'low' }, model) as JsonObject)).toContain(field);
  });

  it.each([
    [{ reasoning: { budget_tokens: 99 } }, 99],
    [{ reasoning_budget_tokens: 1 }, 1],
    [{ thinking_budget_tokens: 99, reasoning_budget_tokens: 99 }, 99],
  ])('%j is a budget', (body, thinkingBudget) => {
    expect(thinking(body, older)).toEqual({ thinkingBudget, includeThoughts: true });
    expect(thinking(body, newer)).toEqual({ thinkingBudget, includeThoughts: true });
  });

  it('who asks for nothing gets what the model does, and who asks twice for the same gets that', () => {
    expect(config({ reasoning: {}, reasoning_effort: null })).toBeUndefined();
    expect(thinking({ reasoning_effort: 'low', reasoning: { effort: 'low', summary: 'auto' } })).toEqual({
      thinkingBudget: 1024,
      includeThoughts: true,
    });
  });

  it.each([
    [{ reasoning_effort: 'low', reasoning: { effort: 'high' } }, 'reasoning_effort'],
    [{ reasoning: { budget_tokens: 1 }, reasoning_budget_tokens: 2 }, 'reasoning.budget_tokens'],
    [{ reasoning_budget_tokens: 1, thinking_budget_tokens: 2 }, 'reasoning_budget_tokens'],
    [{ reasoning_effort: 'low', thinking_budget_tokens: 1024 }, 'thinking_budget_tokens'],
    [{ reasoning_effort: 'ultra' }, 'reasoning_effort'],
    [{ reasoning: { effort: 'most' } }, 'reasoning.effort'],
    [{ reasoning_effort: 3 }, 'reasoning_effort'],
    [{ thinking_budget_tokens: 1.5 }, 'thinking_budget_tokens'],
    [{ thinking_budget_tokens: 0 }, 'thinking_budget_tokens'],
    [{ thinking_budget_tokens: 'many' }, 'thinking_budget_tokens'],
  ])('%j is rejected by its name', (body, path) => {
    expect(refused(body, older)).toBe(path);
    expect(refused(body, newer)).toBe(path);
  });
});

it('no body makes it throw', () => {
  fc.assert(
    fc.property(
      fc.json({ maxDepth: 5 }),
      fc.constantFrom(
        'messages',
        'tools',
        'tool_choice',
        'reasoning',
        'google',
        'extra_body',
        'thinking_config',
      ),
      (text, field) => {
        generateContentRequest(
          parseExact(`{"messages":[{"role":"user","content":"Hi"}],"${field}":${text}}`) as JsonObject,
          newer,
        );
      },
    ),
    { numRuns: 300 },
  );
});
