import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { aCanaryUrl } from '../../support/arbitraries/payloads.ts';
import { builtIn, clean, expectNoCanary, redacted } from './redacting.ts';

/** The media URLs in the bodies of each family: a function makes the body for a URL. */
const mediaFields: readonly (readonly [family: string, field: string, body: (url: string) => Json])[] = [
  ['chat', 'image_url.url', (url) => chatPart({ type: 'image_url', image_url: { url, detail: 'auto' } })],
  ['chat', 'image_url as a string', (url) => chatPart({ type: 'image_url', image_url: url })],
  ['chat', 'input_image.image_url', (url) => chatPart({ type: 'input_image', image_url: url })],
  ['chat', 'image.image', (url) => chatPart({ type: 'image', image: url })],
  ['chat', 'video_url.url', (url) => chatPart({ type: 'video_url', video_url: { url } })],
  ['chat', 'video_url as a string', (url) => chatPart({ type: 'video_url', video_url: url })],
  ['chat', 'video as an array of frames', (url) => chatPart({ type: 'video', video: [url, url] })],
  ['chat', 'audio_url.url', (url) => chatPart({ type: 'audio_url', audio_url: { url } })],
  [
    'chat',
    'input_audio.url',
    (url) => chatPart({ type: 'input_audio', input_audio: { url, format: 'mp3' } }),
  ],
  ['chat', 'input_audio.data', (url) => chatPart({ type: 'input_audio', input_audio: { data: url } })],
  ['chat', 'file.file_url', (url) => chatPart({ type: 'file', file: { file_url: url } })],
  ['chat', 'file.file_id', (url) => chatPart({ type: 'file', file: { file_id: url } })],
  [
    'chat',
    'file.file_data',
    (url) => chatPart({ type: 'file', file: { filename: 'a.pdf', file_data: url } }),
  ],
  ['chat', 'file_url.url', (url) => chatPart({ type: 'file_url', file_url: { url } })],
  [
    'chat',
    'a tool’s content',
    (url) => ({ messages: [{ role: 'tool', content: [{ image_url: { url } }] }] }),
  ],
  ['chat', 'message.images', (url) => ({ choices: [{ message: { images: [{ image_url: { url } }] } }] })],
  ['chat', 'delta.images', (url) => ({ choices: [{ delta: { images: [{ image_url: { url } }] } }] })],
  [
    'chat',
    'annotations.url_citation.url',
    (url) => ({ choices: [{ message: { annotations: [{ type: 'url_citation', url_citation: { url } }] } }] }),
  ],
  ['responses', 'input_image.image_url', (url) => inputPart({ type: 'input_image', image_url: url })],
  ['responses', 'input_file.file_url', (url) => inputPart({ type: 'input_file', file_url: url })],
  ['responses', 'input_file.file_data', (url) => inputPart({ type: 'input_file', file_data: url })],
  ['responses', 'input_video.video_url', (url) => inputPart({ type: 'input_video', video_url: url })],
  [
    'responses',
    'function_call_output.output',
    (url) => ({
      input: [{ type: 'function_call_output', output: [{ type: 'input_image', image_url: url }] }],
    }),
  ],
  [
    'responses',
    'computer_call_output.output.image_url',
    (url) => ({
      input: [{ type: 'computer_call_output', output: { type: 'computer_screenshot', image_url: url } }],
    }),
  ],
  ['responses', 'code_interpreter outputs', (url) => ({ output: [{ outputs: [{ type: 'image', url }] }] })],
  ['responses', 'annotations.url', (url) => ({ output: [{ content: [{ annotations: [{ url }] }] }] })],
  [
    'responses',
    'web_search sources',
    (url) => ({ output: [{ action: { sources: [{ type: 'url', url }] } }] }),
  ],
  ['responses', 'tools.server_url', (url) => ({ tools: [{ type: 'mcp', server_url: url }] })],
  [
    'responses',
    'the input image mask of image generation',
    (url) => ({ tools: [{ type: 'image_generation', input_image_mask: { image_url: url } }] }),
  ],
  ['messages', 'image.source.url', (url) => block({ type: 'image', source: { type: 'url', url } })],
  ['messages', 'document.source.url', (url) => block({ type: 'document', source: { type: 'url', url } })],
  ['messages', 'source as a string', (url) => block({ type: 'image', source: url })],
  [
    'messages',
    'a document of blocks',
    (url) =>
      block({
        type: 'document',
        source: { type: 'content', content: [{ type: 'image', source: { type: 'url', url } }] },
      }),
  ],
  [
    'messages',
    'tool_result.content',
    (url) =>
      block({
        type: 'tool_result',
        content: [{ type: 'image', source: { type: 'url', url } }],
        is_error: false,
      }),
  ],
  [
    'messages',
    'web_search_result.url',
    (url) => block({ type: 'web_search_tool_result', content: [{ url }] }),
  ],
  ['messages', 'citations.url', (url) => block({ type: 'text', text: 't', citations: [{ url }] })],
  ['messages', 'mcp_servers.url', (url) => ({ mcp_servers: [{ type: 'url', url }] })],
  ['embeddings', 'input.image_url.url', (url) => ({ input: [{ type: 'image_url', image_url: { url } }] })],
  [
    'embeddings',
    'input.image_url',
    (url) => ({ input: [{ content: [{ type: 'image_url', image_url: url }] }] }),
  ],
  ['embeddings', 'input.image', (url) => ({ input: [{ image: url }] })],
  ['embeddings', 'input.url', (url) => ({ input: [{ url }] })],
  ['embeddings', 'images', (url) => ({ images: [url] })],
  ['embeddings', 'input.video_url', (url) => ({ input: [{ video_url: url }] })],
  ['native', 'fileData.fileUri', (url) => ({ contents: [{ parts: [{ fileData: { fileUri: url } }] }] })],
  ['native', 'file_data.file_uri', (url) => ({ contents: [{ parts: [{ file_data: { file_uri: url } }] }] })],
  ['native', 's3Location.uri', (url) => ({ source: { s3Location: { uri: url } } })],
];

const chatPart = (part: Json): Json => ({ messages: [{ role: 'user', content: [part] }] });
const inputPart = (part: Json): Json => ({ input: [{ role: 'user', content: [part] }] });
const block = (content: Json): Json => ({ messages: [{ role: 'user', content: [content] }] });

describe('URL query redaction keeps scheme, authority and path', () => {
  const url = 'https://user:pass@files.example.com:8443/a/b.png?X-Signature=s&e=1#part';
  const shown = 'https://files.example.com:8443/a/b.png?[REDACTED]';

  it.each(mediaFields)('in a media URL of %s: %s', (_, __, body) => {
    expect(clean(body(url))).toEqual(body(shown));
    expect(clean(body(shown))).toEqual(body(shown));
  });

  it.each(mediaFields)('in tool arguments, as in %s: %s', (_, __, body) => {
    const call = (args: Json): Json => ({ tool_calls: [{ function: { arguments: JSON.stringify(args) } }] });
    expect(clean(call(body(url)))).toEqual(call(body(shown)));
  });

  it.each(mediaFields)('and keeps URLs without a query, and inline data: %s, %s', (_, __, body) => {
    for (const text of [
      'https://h/a.png',
      'data:image/png;base64,AA+/=?#',
      'gs://bucket/a b',
      'file-123',
      '',
    ]) {
      const value = body(text);
      expect(clean(value)).toBe(value);
    }
  });

  it.each([
    ['url', '//h/a?sig=s', '//h/a?[REDACTED]'],
    ['url', '/files/a?sig=s', '/files/a?[REDACTED]'],
    ['image_url', 'h/a?sig=s', 'h/a?[REDACTED]'],
    ['imageURL', ' HTTPS://h/a?sig=s ', ' HTTPS://h/a?[REDACTED]'],
    ['url', 'https:\\/\\/u:p@h\\/a?sig=s', 'https:\\/\\/h\\/a?[REDACTED]'],
    ['file-uri', 'https://h/a#sig=s', 'https://h/a'],
    ['image', '//h/a?sig=s', '//h/a?[REDACTED]'],
    ['source', ' //u:p@h/a?sig=s#f', ' //h/a?[REDACTED]'],
    ['data', '\\/\\/u:p@h\\/a?sig=s', '\\/\\/h\\/a?[REDACTED]'],
  ])('in the field %s: %j', (key, text, expected) => {
    expect(clean({ [key]: text })).toEqual({ [key]: expected });
  });

  it.each([
    ['text', 'see https://h/a?b=c'],
    ['content', 'https://h/a?b=c'],
    ['source', 'what? this'],
    ['data', 'is it? #yes'],
    ['curl', 'https://h/a?b=c'],
    ['urls_seen', 'https://h/a?b=c'],
  ])('and keeps other fields: %s: %j', (key, text) => {
    const body = { [key]: text };
    expect(clean(body)).toBe(body);
  });

  const words = `Could not fetch ${url}, or '${url}'`;
  const shownWords = `Could not fetch ${shown} or '${shown}'`;

  it.each<[string, (words: string) => Json]>([
    ['error.message', (message) => ({ error: { message, type: 't', param: null, code: 1 } })],
    ['error as a string', (error) => ({ error })],
    ['error.metadata.raw', (raw) => ({ error: { message: 'm', metadata: { raw } } })],
    ['error.metadata.raw as JSON', (raw) => ({ error: { metadata: { raw: JSON.stringify({ m: raw }) } } })],
    ['error.failed_generation', (failed_generation) => ({ error: { failed_generation } })],
    ['error.details', (message) => ({ error: { details: [{ reason: [message] }] } })],
    ['errors', (message) => ({ errors: [message, { message }] })],
    ['response.error', (message) => ({ type: 'response.failed', response: { error: { message } } })],
    ['last_error', (message) => ({ last_error: { message } })],
    ['choices.error', (message) => ({ choices: [{ error: { message } }] })],
    ['an item’s error', (error) => ({ output: [{ type: 'mcp_call', error }] })],
    ['message', (message) => ({ message })],
    ['Message', (Message) => ({ Message })],
    ['detail', (detail) => ({ detail })],
    ['detail as an array', (msg) => ({ detail: [{ loc: ['body'], msg }] })],
    ['a failed tool result', (text) => block({ type: 'tool_result', is_error: true, content: text })],
    [
      'blocks of a failed tool result',
      (text) => block({ type: 'tool_result', is_error: true, content: [{ type: 'text', text }] }),
    ],
  ])('in an error message: %s', (_, body) => {
    expect(clean(body(words))).toEqual(body(shownWords));
  });

  it.each<[string, (words: string) => Json]>([
    ['error.message', (message) => ({ error: { message } })],
    ['error', (error) => ({ type: 'error', error })],
    ['an array', (message) => [{ errors: [{ deep: { message } }, message] }]],
  ])('in an error message in JSON inside a text: %s', (_, body) => {
    for (const inText of [
      (value: Json) => JSON.stringify(value),
      (value: Json) => JSON.stringify(value).replaceAll('/', '\\/'),
      (value: Json) => `Error: ${JSON.stringify({ body: JSON.stringify(value, null, 1) })} (500)`,
    ])
      expect(clean({ content: inText(body(words)) })).toEqual({ content: inText(body(shownWords)) });
  });

  it.each<[string, (words: string) => Json]>([
    ['before its content', (content) => ({ is_error: true, content })],
    ['after its content', (content) => ({ content, isError: true })],
    ['with blocks as its content', (text) => ({ is_error: true, content: [{ type: 'text', text }] })],
    ['at a deeper level', (content) => [{ a: { result: { is_error: true, content } } }]],
  ])('in a failed tool result in JSON inside a text, marked as an error %s', (_, body) => {
    for (const inText of [
      (value: Json) => JSON.stringify(value),
      (value: Json) => JSON.stringify(value, null, 2),
      (value: Json) => `Result: ${JSON.stringify({ body: JSON.stringify(value) })}`,
      (value: Json) => JSON.stringify(value).replaceAll('is', '\\u0069s'),
    ])
      expect(clean({ content: inText(body(words)) })).toEqual({ content: inText(body(shownWords)) });
    const succeeded = JSON.stringify(body(words)).replaceAll('true', 'false');
    expect(clean({ content: succeeded })).toEqual({ content: succeeded });
  });

  it('in the message of an error event, and in the error that the caller received', () => {
    const stream = (message: string): JsonObject => ({
      stream: true,
      events: [{ type: 'error', message, code: 'c' }],
      usage: null,
      error: { error: { message } },
    });
    expect(redacted(stream(words), builtIn)).toEqual(stream(shownWords));
  });

  it('but not in the message of an answer, which is not an error message', () => {
    const body = {
      choices: [{ message: { role: 'assistant', content: words } }],
      message: { content: words },
    };
    expect(clean(body)).toBe(body);
  });

  it('and leaves no query, userinfo or fragment in any media URL', () => {
    fc.assert(
      fc.property(fc.constantFrom(...mediaFields), aCanaryUrl, ([, , body], url) => {
        expectNoCanary(clean(body(url)));
      }),
    );
  });
});
