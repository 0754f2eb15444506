import { describe, expect, it } from '@jest/globals';
import { capabilities } from '../../domain/routing/capabilities.ts';
import { adminModelsScene, key, root } from './admin-models-scene.ts';

const { admin, query, gateway, upstreamUrl } = adminModelsScene();

interface Item {
  readonly model_key: string;
  readonly routes: readonly Record<string, unknown>[];
  readonly last_day: unknown;
}
const itemsIn = (data: unknown): readonly Item[] => (data as { items: readonly Item[] }).items;
const can = { configured: true, effective: true, reason: null };
const instant = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z$/);
const lastDay = { since: instant, requests: 0, errors: 0, is_lower_bound: false };

describe('GET /api/v1/admin/models', () => {
  it('pages the models by id, with every route as it is in the file', async () => {
    const answer = await admin('GET', root);
    expect(answer.status).toBe(200);
    expect(answer.data).toMatchObject({ page: 1, page_size: 50, total: 4, total_is_lower_bound: false });
    const items = itemsIn(answer.data);
    expect(items.map(({ model_key }) => model_key)).toEqual(['answers', 'fast', 'org/vision:1', 'vectors']);
    expect(items[1]?.routes.map((route) => [route['position'], route['priority'], route['enabled']])).toEqual(
      [
        [0, 200, true],
        [1, 100, true],
        [2, 100, false],
        [3, 300, true],
      ],
    );
    expect(items[1]?.routes[0]).toEqual({
      position: 0,
      provider_key: 'up',
      provider_kind: 'compat',
      provider_enabled: true,
      upstream_model: 'simulated-fast',
      priority: 200,
      enabled: true,
      capabilities: Object.fromEntries(capabilities.map((each) => [each, can])),
      compatibility: {},
      priced: true,
      price: {
        input_usd_per_million: '0.1',
        output_usd_per_million: '2',
        source: 'config pricing.overrides',
      },
      unpriced_reason: null,
    });
    const second = await admin('GET', `${root}?page=2&page_size=3`);
    expect(itemsIn(second.data).map(({ model_key }) => model_key)).toEqual(['vectors']);
  });

  it.each([
    ['model=fast', ['fast']],
    ['model=org%2Fvision%3A1', ['org/vision:1']],
    ['provider=cloud-a', ['org/vision:1']],
    ['provider=up&model=vectors', ['vectors']],
    ['enabled=false', []],
    ['enabled=true&provider=cloud-b', ['org/vision:1']],
    ['model=nobody', []],
  ])('?%s selects %j', async (asked, expected) => {
    const { data } = await admin('GET', `${root}?${asked}`);
    expect(itemsIn(data).map(({ model_key }) => model_key)).toEqual(expected);
    expect(data).toMatchObject({ total: expected.length });
  });

  it.each([
    ['enabled=yes', 'enabled'],
    ['models=fast', 'models'],
    ['model=', 'model'],
    ['provider=up&provider=up', 'provider'],
    ['page_size=201', 'page_size'],
  ])('?%s is refused with 400 and names the parameter %s', async (asked, param) => {
    expect(await admin('GET', `${root}?${asked}`)).toMatchObject({
      status: 400,
      error: { code: 'invalid_request', param },
    });
  });
});

describe('GET /api/v1/admin/models/{model_id}', () => {
  it('returns one model, with slashes in its id percent-encoded, and says why a capability is false', async () => {
    const { status, data } = await admin('GET', `${root}/${encodeURIComponent('org/vision:1')}`);
    expect(status).toBe(200);
    const [first, second] = (data as Item).routes;
    expect(first).toMatchObject({
      provider_kind: 'cloud_b_platform',
      compatibility: { cloud_b: { api_style: 'runtime_unified' } },
      capabilities: {
        chat_completions: can,
        stream: can,
        tools: {
          configured: false,
          effective: false,
          reason: "The route's `capabilities` set `tools` to false.",
        },
        responses: {
          configured: false,
          effective: false,
          reason:
            "The route's `capabilities` set `responses` to false. The `api_style` `runtime_unified` does not serve `responses`.",
        },
      },
      priced: false,
      price: null,
      unpriced_reason: 'no_catalogue_price',
    });
    expect(second).toMatchObject({
      provider_kind: 'cloud_a_platform',
      capabilities: {
        embeddings: can,
        stream: { configured: false },
        vision: {
          configured: true,
          effective: false,
          reason: 'A text-embedding model on `cloud_a_platform` does not serve `vision`.',
        },
      },
    });
  });

  it('returns 404 for an unknown model', async () => {
    for (const id of ['nobody', 'org%2Fnobody', '%00'])
      expect(await admin('GET', `${root}/${id}`)).toMatchObject({
        status: 404,
        error: { code: 'not_found' },
      });
  });

  it('returns a disabled model that has no routes any more', async () => {
    await query(`insert into models (model_key, enabled) values ('gone', false)`);
    expect((await admin('GET', `${root}/gone`)).data).toMatchObject({ enabled: false, routes: [] });
    expect(itemsIn((await admin('GET', `${root}?enabled=false`)).data)).toHaveLength(1);
    await query(`delete from models where model_key = 'gone'`);
  });

  it('counts the requests and errors of the last day, and of each provider', async () => {
    const ask = async (body: object) =>
      (
        await fetch(`${gateway().url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'fast', ...body }),
        })
      ).status;
    expect(await ask({ messages: [{ role: 'user', content: 'Hi' }] })).toBe(200);
    expect(await ask({ messages: [] })).toBe(400);
    await query(
      `insert into request_logs (request_log_id, ownership_scope_key, request_id, model_key, provider_key, status_code,
         latency_ms, metadata_json, occurred_at)
       values (gen_random_uuid(), 's', 'left', 'fast', 'up', 499, 1, '{}', now()),
              (gen_random_uuid(), 's', 'refused', 'fast', 'up', 400, 1, '{}', now()),
              (gen_random_uuid(), 's', 'old', 'fast', 'up', 500, 1, '{}', now() - interval '25 hours')`,
    );
    const model = await admin('GET', `${root}/fast`);
    // The log row of a refused body has a model but no provider.
    expect((model.data as Item).last_day).toEqual({ ...lastDay, requests: 4, errors: 2 });
    expect((await admin('GET', `${root}/vectors`)).data).toMatchObject({ last_day: lastDay });
    const providers = itemsIn((await admin('GET', '/api/v1/admin/providers')).data);
    expect(providers.map(({ last_day }) => last_day)).toEqual([
      lastDay,
      lastDay,
      { ...lastDay, requests: 3, errors: 1 },
    ]);
  });
});

describe('GET /api/v1/admin/providers', () => {
  it('shows kind, host, pricing id and number of routes of each provider', async () => {
    const { data, status } = await admin('GET', '/api/v1/admin/providers');
    expect(status).toBe(200);
    expect(data).toMatchObject({
      total: 3,
      items: [
        {
          provider_key: 'cloud-a',
          kind: 'cloud_a_platform',
          enabled: true,
          host: 'https://europe-west4-aiplatform.googleapis.com',
          endpointb_host: null,
          pricing_provider_id: 'cloud-a',
          routes: 1,
        },
        {
          provider_key: 'cloud-b',
          host: 'https://bedrock-runtime.us-east-1.amazonaws.com',
          endpointb_host: 'https://bedrock-mantle.us-east-1.api.aws',
          pricing_provider_id: 'platform-b',
          routes: 1,
        },
        { provider_key: 'up', kind: 'compat', host: upstreamUrl(), pricing_provider_id: 'up', routes: 6 },
      ],
    });
  });
});
