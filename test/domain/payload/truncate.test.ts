import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { withoutBulk as withoutBulkWritten } from '../../../domain/payload/truncate.ts';
import type { Json, JsonObject } from '../../../domain/shared/json.ts';
import { maxInlineChars } from '../../../domain/shared/limits.ts';
import { aJsonObject } from '../../support/arbitraries/json-text.ts';
import { onJson } from '../../support/written.ts';

const withoutBulk = onJson(withoutBulkWritten);

const data = 'iVBORw0KGgo+/A=='.repeat(100);
const mark = '[TRUNCATED 1600 characters]';
const inline = `data:image/png;base64,${data}`;
const inlineMark = `data:image/png;base64,${mark}`;

/** Known bulky fields of each family: a payload, what is left of it, and a function that makes the body. */
const bulkyFields: readonly (readonly [
  field: string,
  payload: string,
  left: string,
  body: (text: string) => Json,
])[] = [
  ['chat image_url.url', inline, inlineMark, (url) => ({ type: 'image_url', image_url: { url } })],
  ['chat image_url', inline, inlineMark, (image_url) => ({ type: 'image_url', image_url })],
  ['chat image_url without a scheme', data, mark, (url) => ({ type: 'image_url', image_url: { url } })],
  ['chat image', data, mark, (image) => ({ type: 'image', image })],
  ['chat images', data, mark, (image) => ({ role: 'user', images: [image, 'x'] })],
  ['chat input_audio.data', data, mark, (text) => ({ input_audio: { data: text, format: 'wav' } })],
  ['chat file.file_data', inline, inlineMark, (text) => ({ file: { filename: 'a.pdf', file_data: text } })],
  [
    'chat audio.data',
    data,
    mark,
    (text) => ({ message: { audio: { id: 'a', data: text, transcript: 't' } } }),
  ],
  ['chat delta.audio.data', data, mark, (text) => ({ choices: [{ delta: { audio: { data: text } } }] })],
  ['chat video_url', inline, inlineMark, (url) => ({ video_url: { url } })],
  [
    'responses input_image.image_url',
    inline,
    inlineMark,
    (image_url) => ({ type: 'input_image', image_url }),
  ],
  ['responses input_file.file_data', inline, inlineMark, (file_data) => ({ type: 'input_file', file_data })],
  ['responses file_data, bare', data, mark, (file_data) => ({ type: 'input_file', file_data })],
  ['responses image generation', data, mark, (result) => ({ type: 'image_generation_call', result })],
  ['responses partial image', data, mark, (text) => ({ type: 'x', partial_image_b64: text })],
  ['responses audio', data, mark, (delta) => ({ type: 'response.audio.delta', delta })],
  ['responses output audio', data, mark, (delta) => ({ type: 'response.output_audio.delta', delta })],
  [
    'messages image source',
    data,
    mark,
    (text) => ({ source: { type: 'base64', media_type: 'image/png', data: text } }),
  ],
  [
    'messages document source',
    data,
    mark,
    (text) => ({ type: 'document', source: { type: 'base64', data: text } }),
  ],
  ['a tool’s image', data, mark, (text) => ({ type: 'image', data: text, mimeType: 'image/png' })],
  [
    'a file with a long head',
    `data:text/plain;name=${'n'.repeat(200)};base64,${data}`,
    `[TRUNCATED ${data.length + 229} characters]`,
    (text) => ({ file: { file_data: text } }),
  ],
  ['embeddings images', inline, inlineMark, (text) => ({ input: [{ image: text }] })],
  ['images of the images API', data, mark, (b64_json) => ({ data: [{ b64_json }] })],
  ['native inlineData', data, mark, (text) => ({ inlineData: { mimeType: 'image/png', data: text } })],
  ['native inline_data', data, mark, (text) => ({ inline_data: { data: text } })],
  ['native bytes', data, mark, (bytes) => ({ image: { format: 'png', source: { bytes } } })],
  ['inline data anywhere', inline, inlineMark, (output) => ({ type: 'function_call_output', output })],
  [
    'inline data with parameters',
    `DATA:text/plain;charset=utf-8;base64,${data}`,
    `DATA:text/plain;charset=utf-8;base64,${mark}`,
    (url) => ({ url }),
  ],
];

describe('shape-preserving truncation of known bulky fields', () => {
  it.each(bulkyFields)('%s', (_, payload, left, body) => {
    expect(withoutBulk({ body: [body(payload), 1] })).toEqual({ body: [body(left), 1] });
  });

  it.each(bulkyFields)('keeps short data, and URLs: %s', (_, __, ___, body) => {
    for (const text of ['', 'AAAA', 'data:image/png;base64,AAAA', 'a'.repeat(maxInlineChars)]) {
      const payload = { body: body(text) };
      expect(withoutBulk(payload)).toBe(payload);
    }
    const url = { body: body(`https://example.com/${'a/'.repeat(200)}`) };
    expect(withoutBulk(url)).toBe(url);
  });

  it.each<[string, JsonObject]>([
    ['text', { type: 'text', text: data }],
    ['content', { role: 'user', content: data }],
    ['a plain text source', { type: 'document', source: { type: 'text', data: `${data} ${data}` } }],
    ['data of a thinking block', { type: 'redacted_thinking', data }],
    ['a result', { type: 'tool', result: data }],
    ['a delta', { type: 'response.output_text.delta', delta: data }],
    ['text under a media key', { image: 'a picture of a cat and of a dog '.repeat(20) }],
    ['text that begins like inline data', { text: `data: one, two, ${data}`, more: `data:one,${data}` }],
    ['an embedding', { data: [{ embedding: [0.1, 0.2], index: 0 }], bytes: 7 }],
  ])('keeps everything else: %s', (_, body) => {
    const payload = { body };
    expect(withoutBulk(payload)).toBe(payload);
  });

  it('never changes JSON without such fields, and is idempotent', () => {
    fc.assert(
      fc.property(aJsonObject, (body) => {
        expect(withoutBulk(body)).toBe(body);
      }),
    );
    fc.assert(
      fc.property(fc.constantFrom(...bulkyFields), fc.nat(2000), ([, payload, , body], length) => {
        const once = withoutBulk({ body: body(payload.slice(0, length)) });
        expect(withoutBulk(once)).toBe(once);
      }),
    );
  });
});
