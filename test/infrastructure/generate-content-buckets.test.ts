import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as E from 'fp-ts/lib/Either.js';
import type { JsonObject } from '../../domain/shared/json.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { generateContentRequest } from '../../infrastructure/providers/cloud-a/generate-content-request.ts';
import { readableBuckets } from '../../infrastructure/providers/cloud-a/readable-buckets.ts';

const model = 'gemini-2.5-flash';
const only = (...names: readonly string[]) => readableBuckets({ cloud_a: { gs_buckets: names } });

/** For each field that may hold a URL: the field's path within the part, and a part with this URL in it. */
const parts = (url: string) =>
  [
    ['image_url.url', { type: 'image_url', image_url: { url } }],
    ['image_url', { type: 'image_url', image_url: url }],
    ['video_url.url', { type: 'video_url', video_url: { url } }],
    ['video_url', { type: 'video_url', video_url: url }],
    ['file.file_data', { type: 'file', file: { file_data: url, format: 'application/pdf' } }],
    ['file.file_url', { type: 'file', file: { file_url: url, format: 'application/pdf' } }],
    ['file.file_id', { type: 'file', file: { file_id: url, format: 'application/pdf' } }],
  ] as const;

const called = {
  role: 'assistant',
  tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
};

/** The places where a caller may put a part: the part's path, and messages that hold it there. */
const places = (part: object) =>
  [
    ['messages[0].content[0]', [{ role: 'user', content: [part] }]],
    [
      'messages[2].content[1]',
      [
        { role: 'user', content: 'Hi' },
        called,
        { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'see' }, part] },
      ],
    ],
  ] as const;

const everywhere = (url: string) =>
  parts(url).flatMap(([field, part]) =>
    places(part).map(([path, messages]) => ({
      param: `${path}.${field}`,
      body: JSON.parse(JSON.stringify({ messages })) as JsonObject,
    })),
  );

describe('gs:// media on a route with `gs_buckets`', () => {
  it('is rejected with the field named where its bucket is not in the list, in every field that holds a URL', () => {
    const cases = everywhere('gs://others/secret.pdf');
    expect(cases).toHaveLength(14);
    for (const { param, body } of cases)
      expect(generateContentRequest(body, model, only('media', 'scans'))).toEqual(
        E.left({
          code: 'invalid_request',
          param,
          message: expect.stringMatching(/is in a bucket that is not open to this model's route\.$/),
        }),
      );
  });

  it('is accepted from a listed bucket, and from any bucket where the route has no list', () => {
    for (const { body } of everywhere('gs://scans/a.pdf'))
      expect(generateContentRequest(body, model, only('media', 'scans'))).toMatchObject({ _tag: 'Right' });
    for (const { body } of everywhere('gs://others/a.pdf'))
      expect(generateContentRequest(body, model, readableBuckets({}))).toMatchObject({ _tag: 'Right' });
  });

  it('is always rejected by an empty list, which still accepts https and data URLs', () => {
    const ask = (url: string) =>
      generateContentRequest({ messages: [{ role: 'user', content: [parts(url)[0][1]] }] }, model, only());
    expect(ask('gs://media/a.png')).toMatchObject({ _tag: 'Left' });
    expect(ask('https://media/a.png')).toMatchObject({ _tag: 'Right' });
    expect(ask('data:image/png;base64,AA==')).toMatchObject({ _tag: 'Right' });
  });

  it('is accepted only where its bucket name equals the listed name exactly', () => {
    const near = fc.oneof(
      fc.constantFrom(
        'media',
        'Media',
        'media.',
        'media%2Fx',
        'media\\x',
        'x@media',
        'media:1',
        'media?',
        '',
      ),
      fc.string({ maxLength: 8 }),
    );
    fc.assert(
      fc.property(near, fc.string({ maxLength: 8 }), (bucket, object) => {
        fc.pre(!bucket.includes('/'));
        const url = `gs://${bucket}/${object}`;
        const request = generateContentRequest(
          { messages: [{ role: 'user', content: [parts(url)[0][1]] }] },
          model,
          only('media'),
        );
        expect(E.isRight(request)).toBe(bucket === 'media');
      }),
    );
  });
});

describe('compatibility.cloud_a.gs_buckets', () => {
  const problems = (cloud_a: unknown, provider = 'a', upstream_model = 'google/gemini-2.5-flash') => {
    const file = {
      providers: [
        { id: 'a', type: 'cloud_a_platform', project_id: 'my-project' },
        { id: 'chat', type: 'compat', base_url: 'http://127.0.0.1:1' },
      ],
      models: [{ id: 'm', routes: [{ provider, upstream_model, compatibility: { cloud_a } }] }],
    };
    const loaded = parseConfig(JSON.stringify(file), {});
    return E.isRight(loaded)
      ? loaded.right.config.models[0]?.routes[0]?.compatibility
      : loaded.left.map(({ path, message }) => [path.replace('models[0].routes[0].', ''), message]);
  };

  it.each([[['media', 'scans.example.com', 'a_b-0']], [[]]])('is loaded unchanged: %j', (gs_buckets) => {
    expect(problems({ gs_buckets })).toEqual({ cloud_a: { gs_buckets } });
  });

  it.each([['gs://media'], ['media/x'], ['Media'], ['ab'], ['-media'], [''], ['*']])(
    'rejects an invalid bucket name: %s',
    (name) => {
      expect(problems({ gs_buckets: [name] })).toEqual([
        ['compatibility.cloud_a.gs_buckets[0]', expect.any(String)],
      ]);
    },
  );

  it('is rejected on a route where it would have no effect', () => {
    expect(problems({ gs_buckets: [] }, 'chat')).toEqual([
      ['compatibility.cloud_a', expect.stringMatching(/for platform A and would do nothing on compat/)],
    ]);
    expect(problems({ gs_buckets: [] }, 'a', 'anthropic/claude-sonnet-5')).toEqual([
      ['compatibility.cloud_a', expect.stringMatching(/for google\/… models/)],
    ]);
  });
});
