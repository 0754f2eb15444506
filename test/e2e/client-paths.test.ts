import { describe, expect, it } from '@jest/globals';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { rawExchange } from './raw-http.ts';
import { json, scene } from './scene.ts';

const narrow = aKey();

/** Model ids may contain slashes and other characters that have a meaning in URLs. */
const ids = ['fast', 'openai/gpt-4o', 'vendor/family/model:v1@2', 'granted'];

function config(url: string, key: string): ConfigFile {
  const routes = [{ provider: 'up', upstream_model: 'simulated-fast' }];
  return {
    ...basicConfig(url, key),
    models: ids.map((id) => ({ id, routes })),
    api_keys: [
      { name: 'dev', owner: 'user:a@example.com', value: key },
      { name: 'narrow', owner: 'user:a@example.com', value: narrow, allowed_models: ['granted'] },
    ],
  };
}

const { gateway, key: devKey } = scene(config);

interface AskedOf {
  readonly method?: string;
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const asked = (path: string, { method = 'GET', key = devKey, headers = {} }: AskedOf = {}) =>
  rawExchange(gateway().url, {
    method,
    path,
    headers: [
      ...(key === '' ? [] : [['authorization', `Bearer ${key}`] as const]),
      ['x-request-id', 'asked'],
      ...Object.entries(headers),
    ],
  });

describe('GET /v1/models/{id}', () => {
  it.each(ids)('%s: returns the item of the list, whether the id is percent-encoded or not', async (id) => {
    const list = json((await asked('/v1/models')).body).data as readonly { readonly id: string }[];
    const spellings = [id, encodeURIComponent(id), id.replaceAll('/', '%2f'), `${id}?beta=true`];
    for (const spelled of spellings) {
      const answer = await asked(`/v1/models/${spelled}`);
      expect(answer.status).toBe(200);
      expect(json(answer.body)).toEqual(list.find((item) => item.id === id));
      expect(answer.headers).toMatchObject({ 'x-request-id': 'asked', 'request-id': 'asked' });
    }
    const head = await asked(`/v1/models/${encodeURIComponent(id)}`, { method: 'HEAD' });
    expect([head.status, head.body]).toEqual([200, '']);
  });

  it('returns one item with the fields of both families', async () => {
    expect(json((await asked('/v1/models/openai%2Fgpt-4o')).body)).toEqual({
      id: 'openai/gpt-4o',
      object: 'model',
      created: expect.any(Number),
      owned_by: 'model-gateway',
      type: 'model',
      display_name: 'openai/gpt-4o',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it.each([
    ['unknown', 'nope', devKey],
    ['a part of an id', 'openai', devKey],
    ['another case', 'Fast', devKey],
    ['with a slash at its end', 'fast/', devKey],
    ['with an invalid percent-encoding', '%E0%A4%A', devKey],
    ['not granted, and therefore not in the list', 'fast', narrow],
  ])('returns 404 model_not_found in the envelope of the family for an id that is %s', async (_, id, key) => {
    const plain = await asked(`/v1/models/${id}`, { key });
    expect(plain.status).toBe(404);
    expect(json(plain.body).error).toMatchObject({ code: 'model_not_found', param: 'model' });
    const messages = await asked(`/v1/models/${id}`, { key, headers: { 'anthropic-version': '2023-06-01' } });
    expect(messages.status).toBe(404);
    expect(json(messages.body)).toMatchObject({
      type: 'error',
      error: { type: 'not_found_error', details: { error_code: 'model_not_found' } },
    });
  });

  it('is 401 without a key, and returns a model that the key is granted', async () => {
    expect((await asked('/v1/models/fast', { key: '' })).status).toBe(401);
    expect((await asked('/v1/models/granted', { key: narrow })).status).toBe(200);
  });
});

it.each([
  ['GET', '{"name":"model-gateway"}'],
  ['HEAD', ''],
])('%s / is 200 with and without a key', async (method, body) => {
  for (const key of ['', devKey, 'gwk_no.no']) {
    const answer = await asked('/', { method, key });
    expect([answer.status, answer.body]).toEqual([200, body]);
    expect(answer.headers['x-request-id']).toBe('asked');
  }
});
