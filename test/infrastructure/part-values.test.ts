import { describe, expect, it } from '@jest/globals';
import { endpointbRules, invokeRules } from '../../infrastructure/providers/messages-body/rules.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import * as generateContent from './generate-content-sending.ts';
import * as messagesBody from './messages-body-sending.ts';
import * as unified from './unified-sending.ts';

const imageOf = (url: string) => ({ type: 'image_url', image_url: { url } });
const fileOf = (file_data: string, filename = 'a.pdf') => ({ type: 'file', file: { file_data, filename } });
const audioOf = (data: string) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } });
const asking = (part: JsonObject) => ({ messages: [{ role: 'user', content: [part] }] });

/** The field, within the part, that a request with this part is rejected for. */
const refusedFor = {
  'generate-content': (part: JsonObject) => generateContent.refused(asking(part)),
  converse: (part: JsonObject) => unified.rejected(asking(part)),
  invoke: (part: JsonObject) =>
    messagesBody.refusal({ ...messagesBody.minimal, ...asking(part) }, invokeRules)?.param,
  endpointb_messages: (part: JsonObject) =>
    messagesBody.refusal({ ...messagesBody.minimal, ...asking(part) }, endpointbRules)?.param,
} as const;
const every = Object.entries(refusedFor);
const at = (field: string) => `messages[0].content[0].${field}`;

const noBase64 = ['', '!!!!', 'AAAAA', 'AA=A', 'AA===', '====', 'AA%3D', '{}'];

describe.each(every)('bytes of a part, for a body of %s,', (name, refused) => {
  it.each(noBase64)('are rejected by name if they are no base64: %j', (data) => {
    expect(refused(imageOf(`data:image/png;base64,${data}`))).toBe(at('image_url.url'));
    if (name !== 'invoke')
      expect(refused(fileOf(`data:application/pdf;base64,${data}`))).toBe(at('file.file_data'));
  });

  it.each([
    '',
    'ftp://h/a.png',
    'http://h/a.png',
    'file:///a.png',
    'data:image/png,a',
    'data:image/png',
    'a.png',
  ])('are rejected by name if the URL of an image is %j', (url) => {
    expect(refused(imageOf(url))).toBe(at('image_url.url'));
  });

  it.each(['', 'photo', 'data'])('are rejected by name if the media type of an image is %j', (mediaType) => {
    expect(refused(imageOf(`data:${mediaType};base64,AAAA`))).toBe(at('image_url.url'));
  });
});

describe('bytes of a part', () => {
  it.each(noBase64)(
    'of generate-content are rejected by name in each of its fields if they are no base64: %j',
    (data) => {
      expect(refusedFor['generate-content'](audioOf(data))).toBe(at('input_audio.data'));
      expect(refusedFor['generate-content'](fileOf(data))).toBe(at('file.file_data'));
    },
  );

  it('of generate-content may have the alphabet of URLs, no padding, and line breaks', () => {
    for (const data of ['ab-_', 'ab+/', 'abc', 'ab==', 'ab\n-_']) {
      const bytes = data.replace('\n', '');
      const contents = [
        { role: 'user', parts: [{ inlineData: { mimeType: 'application/pdf', data: bytes } }] },
      ];
      expect(generateContent.sent(asking(fileOf(data)))).toEqual({ contents });
      expect(generateContent.sent(asking(fileOf(`data:application/pdf;base64,${data}`)))).toEqual({
        contents,
      });
    }
  });

  it('of other bodies may not have the alphabet of URLs, which their upstreams do not read', () => {
    for (const name of ['converse', 'invoke', 'endpointb_messages'] as const)
      expect(refusedFor[name](imageOf('data:image/png;base64,ab-_'))).toBe(at('image_url.url'));
  });

  it('are not meant by a URL that the platform does not fetch', () => {
    const part = fileOf('http://example.com/a.pdf');
    const request = generateContent.outcome(asking(part));
    expect(request).toMatchObject({ left: { message: expect.stringContaining('`https://` URL') } });
  });
});

describe('an image in a body of the messages family', () => {
  it.each(['image/bmp', 'image/svg+xml', 'image/tiff', 'text/plain', 'application/pdf'])(
    'of the type %s is rejected, and the types that it takes are named',
    (mediaType) => {
      for (const rules of [invokeRules, endpointbRules])
        expect(
          messagesBody.refusal(
            { ...messagesBody.minimal, ...asking(imageOf(`data:${mediaType};base64,AAAA`)) },
            rules,
          ),
        ).toMatchObject({
          param: at('image_url.url'),
          message: expect.stringMatching(`\`${mediaType.replace('+', '\\+')}\`.*image/jpeg, image/png`),
        });
    },
  );
});
