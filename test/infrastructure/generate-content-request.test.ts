import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseExact } from '../../domain/shared/json.ts';
import { mediaTypeOf } from '../../infrastructure/providers/cloud-a/media-types.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';
import { contents, hi, newer, older, refused, sent } from './generate-content-sending.ts';
import { aUrlQuery } from '../support/arbitraries/text.ts';

const userParts = (...content: readonly object[]) =>
  (contents([{ role: 'user', content }]) as readonly { parts: unknown }[])[0]!.parts;

describe('messages', () => {
  it('system and developer text becomes systemInstruction, and user and assistant messages become turns', () => {
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

  it('consecutive messages of one role become one turn, and empty messages are dropped', () => {
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

  it('system messages between the turns of a messages caller stay there as reminders, behind results', () => {
    const messages = [
      { role: 'system', content: 'S' },
      { role: 'user', content: 'Look.' },
      {
        role: 'assistant',
        tool_calls: [{ id: '1', type: 'function', function: { name: 'f', arguments: '' } }],
      },
      { role: 'system', content: 'Be brief.' },
      { role: 'tool', tool_call_id: '1', content: 'one' },
    ];
    const before = [
      { role: 'user', parts: [{ text: 'Look.' }] },
      { role: 'model', parts: [{ functionCall: { name: 'f', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'f', response: { output: 'one' } } }] },
    ];
    const reminder = { text: '<system-reminder>\nBe brief.\n</system-reminder>' };
    expect(generateContentRequest({ messages }, older, undefined, true)).toMatchObject({
      right: {
        systemInstruction: { parts: [{ text: 'S' }] },
        contents: [...before, { role: 'user', parts: [reminder] }],
      },
    });
    expect(sent({ messages })).toMatchObject({
      systemInstruction: { parts: [{ text: 'S' }, { text: 'Be brief.' }] },
      contents: before,
    });
  });

  it('reasoning in an assistant message is dropped', () => {
    expect(
      contents([
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm' },
            { type: 'redacted_thinking', data: 'x' },
            { type: 'reasoning', text: 'hm' },
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
    [
      'content of the assistant that is a number',
      [...hi, { role: 'assistant', content: 7 }],
      'messages[1].content',
    ],
    [
      'a text of the assistant that is none',
      [...hi, { role: 'assistant', content: [{ type: 'text', text: 7 }] }],
      'messages[1].content[0].text',
    ],
    ['nothing at all', [{ role: 'system', content: 'Be brief.' }], 'messages'],
    [
      'a content part that nobody knows',
      [...hi, ...hi, { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'hologram' }] }],
      'messages[2].content[1].type',
    ],
  ])('%s is rejected with its path', (_case, messages, path) => {
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
      'an image whose type is named by nothing',
      { type: 'image_url', image_url: { url: 'gs://b/a.webp', format: '' } },
      { fileData: { mimeType: 'image/webp', fileUri: 'gs://b/a.webp' } },
    ],
    [
      'a file in a bucket',
      { type: 'file', file: { file_id: 'gs://b/o', format: 'application/pdf' } },
      { fileData: { mimeType: 'application/pdf', fileUri: 'gs://b/o' } },
    ],
  ])('translates %s', (_case, block, part) => {
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
    ['audio that is none', { type: 'input_audio', input_audio: 'AA' }, 'input_audio'],
    ['audio without bytes', { type: 'input_audio', input_audio: { format: 'wav' } }, 'input_audio.data'],
    ['audio without a format', { type: 'input_audio', input_audio: { data: '' } }, 'input_audio.format'],
    ['an uploaded file', { type: 'file', file: { file_id: 'file-1' } }, 'file.file_id'],
    [
      'an uploaded file that says what it is',
      { type: 'file', file: { file_id: 'file-1', format: 'application/pdf' } },
      'file.file_id',
    ],
    ['a file that is none', { type: 'file', file: 'file-1' }, 'file'],
    ['an empty file', { type: 'file', file: { filename: 'a.pdf' } }, 'file'],
    ['a file of an unknown type', { type: 'file', file: { file_url: 'https://h/a' } }, 'file.file_url'],
    [
      'bytes of an unknown type',
      { type: 'file', file: { file_data: 'YSxi', filename: 'a' } },
      'file.file_data',
    ],
  ])('%s is rejected with its path', (_case, block, field) => {
    expect(refused({ messages: [{ role: 'user', content: [block] }] })).toBe(
      `messages[0].content[0].${field}`,
    );
  });

  it('the query of a signed URL is sent unchanged and never decides the media type', () => {
    fc.assert(
      fc.property(aUrlQuery, fc.constantFrom('png', 'mp4', 'pdf'), (query, extension) => {
        const url = `https://h/a.${extension}?${query}`;
        expect(userParts({ type: 'file', file: { file_url: url } })).toEqual([
          { fileData: { mimeType: mediaTypeOf(`a.${extension}`), fileUri: url } },
        ]);
      }),
    );
  });
});

it('the request translation never throws, for any JSON in its fields', () => {
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
