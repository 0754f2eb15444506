import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { stringify } from 'yaml';
import { priceCatalogue } from '../../domain/money/price-catalogue.ts';
import { capabilities } from '../../domain/routing/capabilities.ts';
import type { Json } from '../../domain/shared/json.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { resolver } from '../../infrastructure/config/resolver.ts';
import { catalogueInsight } from '../../infrastructure/providers/catalogue-insight.ts';
import { basicConfig } from '../support/gateway.ts';

const loaded = parseConfig(
  stringify(basicConfig('http://127.0.0.1:1/v1', `gwk_${'0'.repeat(32)}.${'0'.repeat(64)}`)),
  {},
);
if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
const prices = priceCatalogue(
  [
    {
      pricingProviderId: 'list',
      upstreamModel: 'm',
      inputUsdPerMillion: '1.5',
      outputUsdPerMillion: '2',
      effectiveFrom: '2026-01-01T00:00:00Z',
      source: 'test',
    },
  ],
  [],
);
const insightAt = (now: string) =>
  catalogueInsight({
    resolver: () => resolver(loaded.right, { A_TOKEN: 'token-0123456789abcdef', PRICE_LIST: 'list' }),
    prices: () => prices,
    now: () => Date.parse(now),
  });
const insight = insightAt('2026-02-01T00:00:00Z');

const compat = (over: object = {}) => ({
  id: 'p',
  type: 'compat',
  base_url: 'https://models.example.com/v1',
  auth: { mode: 'none' },
  ...over,
});
const platformA = { id: 'p', type: 'cloud_a_platform', project_id: 'project-1' };
const platformB = { id: 'p', type: 'cloud_b_platform', region: 'eu-west-1' };
const stored = (config: Json & { readonly type: string }, kind = config.type) => ({
  providerKey: 'p',
  kind,
  enabled: true,
  config,
});
const routeOf = (config: object, provider = stored(compat())) => ({
  modelKey: 'of-the-database',
  position: 0,
  upstreamModel: 'm',
  priority: 100,
  enabled: true,
  compatibility: {},
  config: { provider: 'p', upstream_model: 'm', ...config },
  provider,
});

describe('the host of a provider', () => {
  it.each([
    ['https://models.example.com/v1', 'https://models.example.com/v1'],
    ['https://user:password@models.example.com/v1?key=secret#part', 'https://models.example.com/v1'],
    ['https:/user:pass@word@models.example.com/v1', 'https:/models.example.com/v1'],
    ['HTTPS://user:password@models.example.com/v1', 'HTTPS://models.example.com/v1'],
    ['https://${USER}:${PASSWORD}@models.example.com/v1', 'https://models.example.com/v1'],
    ['https://models.example.com/@scope/v1', 'https://models.example.com/@scope/v1'],
    ['${BASE_URL}', '${BASE_URL}'],
  ])('%s is shown as %s', (url, shown) => {
    expect(insight.ofProvider(stored(compat({ base_url: url })))).toMatchObject({
      host: shown,
      endpointbHost: undefined,
    });
  });

  it.each([
    [platformA, 'https://aiplatform.googleapis.com', undefined],
    [{ ...platformA, location: 'us-east5' }, 'https://us-east5-aiplatform.googleapis.com', undefined],
    [{ ...platformA, location: 'eu' }, 'https://aiplatform.eu.rep.googleapis.com', undefined],
    [{ ...platformA, api_host: 'private.example.com' }, 'private.example.com', undefined],
    [
      platformB,
      'https://bedrock-runtime.eu-west-1.amazonaws.com',
      'https://bedrock-mantle.eu-west-1.api.aws',
    ],
    [
      { ...platformB, region: 'eusc-de-east-1' },
      'https://bedrock-runtime.eusc-de-east-1.amazonaws.eu',
      'https://bedrock-mantle.eusc-de-east-1.api.aws',
    ],
    [
      {
        ...platformB,
        runtime_endpoint_url: 'https://r.example.com',
        endpointb_endpoint_url: 'https://e.example.com',
      },
      'https://r.example.com',
      'https://e.example.com',
    ],
  ])('of %j', (config, host, endpointbHost) => {
    expect(insight.ofProvider(stored(config))).toEqual({ host, endpointbHost, pricingProviderId: 'p' });
  });

  it('is undefined for a provider kind that this release does not have', () => {
    expect(insight.ofProvider(stored(compat(), 'of-tomorrow'))).toMatchObject({ host: undefined });
  });
});

describe('why a capability of a route is not effective', () => {
  const reasonsOf = (route: ReturnType<typeof routeOf>) => {
    const { capabilities: explained } = insight.ofRoute(route);
    return capabilities.flatMap((each) => (explained[each].effective ? [] : [explained[each].reason]));
  };

  it('is not given where route and provider kind support every capability', () => {
    expect(reasonsOf(routeOf({}))).toEqual([]);
  });

  it.each([
    ['google/gemini-2.5-flash', ['responses', 'embeddings'], 'A generation model on `cloud_a_platform`'],
    [
      'google/gemini-embedding-001',
      ['chat_completions', 'responses', 'stream', 'tools', 'vision', 'json_schema'],
      'A text-embedding model on `cloud_a_platform`',
    ],
    [
      'anthropic/claude-sonnet-4-6',
      ['responses', 'embeddings', 'vision'],
      'A messages model on `cloud_a_platform`',
    ],
    ['nobody/model', [...capabilities], 'A model that it does not know on `cloud_a_platform`'],
  ])('is the kind of model: %s', (upstreamModel, missing, subject) => {
    const route = routeOf({ upstream_model: upstreamModel }, stored(platformA));
    expect(reasonsOf(route)).toEqual(missing.map((each) => `${subject} does not serve \`${each}\`.`));
  });

  it.each([
    ['runtime_unified', ['responses', 'embeddings', 'json_schema']],
    ['runtime_messages', ['responses', 'embeddings', 'stream', 'json_schema']],
    ['endpointb_messages', ['responses', 'embeddings', 'json_schema']],
  ])('is the api_style: %s', (style, missing) => {
    const route = routeOf({ compatibility: { cloud_b: { api_style: style } } }, stored(platformB));
    expect(reasonsOf(route)).toEqual(
      missing.map((each) => `The \`api_style\` \`${style}\` does not serve \`${each}\`.`),
    );
  });

  it('is an unset variable, by its name, or an unknown provider kind', () => {
    const auth = { mode: 'bearer', token: '${NOT_SET}' };
    const [reason] = reasonsOf(routeOf({}, stored(compat({ auth }))));
    expect(reason).toMatch(/^This process cannot use the provider: .*NOT_SET/);
    expect(reasonsOf(routeOf({}, stored(compat({ auth: { mode: 'bearer', token: '${A_TOKEN}' } }))))).toEqual(
      [],
    );
    const broken = routeOf({
      capabilities: { tools: false, vision: true },
      extra_body: { user: '${NOT_SET}' },
    });
    expect(insight.ofRoute(broken).capabilities).toMatchObject({
      tools: { configured: false },
      vision: { configured: true },
      stream: {
        configured: true,
        reason: expect.stringMatching(/^This process cannot use the route: .*NOT_SET/),
      },
    });
    expect(reasonsOf(routeOf({}, stored(compat(), 'of-tomorrow')))).toContain(
      'This release has no provider kind `of-tomorrow`.',
    );
  });
});

describe('the price of a route', () => {
  it('is found by pricing provider id and upstream model, and applies from its effective date', () => {
    const priced = routeOf({}, stored(compat({ pricing_provider_id: 'list' })));
    expect(insight.ofRoute(priced).price).toMatchObject({ input: 1_500_000n, output: 2_000_000n });
    expect(insightAt('2025-12-31T00:00:00Z').ofRoute(priced).price).toBeUndefined();
    expect(insight.ofRoute(routeOf({})).price).toBeUndefined();
    // The price is also shown for a provider that this process cannot use.
    const unusable = stored(
      compat({ pricing_provider_id: 'list', auth: { mode: 'bearer', token: '${NOT_SET}' } }),
    );
    expect(insight.ofRoute(routeOf({}, unusable)).price).toBeDefined();
  });

  it('is found by the resolved value of a placeholder in `pricing_provider_id`', () => {
    const provider = stored(compat({ pricing_provider_id: '${PRICE_LIST}' }));
    expect(insight.ofProvider(provider)).toMatchObject({ pricingProviderId: 'list' });
    expect(insight.ofRoute(routeOf({}, provider)).price).toBeDefined();
  });
});
