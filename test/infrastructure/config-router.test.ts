import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import type { RouteConfig } from '../../infrastructure/config/model-config.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import type { Json, JsonObject } from '../../domain/shared/json.ts';

const providers = [
  { id: 'chat', type: 'compat', base_url: 'http://h/v1' },
  { id: 'run', type: 'cloud_run_compat', base_url: 'https://svc.example.com/v1' },
  { id: 'a', type: 'cloud_a_platform', project_id: 'p' },
  { id: 'b', type: 'cloud_b_platform', region: 'us-east-1' },
];

/** A file with these routes, as JSON, which is also YAML. */
const load = (...routes: readonly JsonObject[]) =>
  parseConfig(
    JSON.stringify({
      providers,
      models: [
        { id: 'm', routes: routes.map((route) => ({ provider: 'chat', upstream_model: 'u', ...route })) },
      ],
    }),
    {},
  );

const problemsOf = (
  ...routes: readonly JsonObject[]
): readonly (readonly [path: string, message: string])[] => {
  const loaded = load(...routes);
  return loaded._tag === 'Left' ? loaded.left.map(({ path, message }) => [path, message]) : [];
};

const routesOf = (...routes: readonly JsonObject[]): readonly RouteConfig[] => {
  const loaded = load(...routes);
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left));
  return loaded.right.config.models[0]!.routes;
};

const policy = (provider: Json, more: JsonObject = {}): JsonObject => ({
  compatibility: { router: { provider } },
  ...more,
});

const route = 'models[0].routes[0]';
const block = `${route}.compatibility.router.provider`;

describe('compatibility.router.provider', () => {
  it('is parsed without changes', () => {
    const provider = {
      zdr: false,
      only: ['a', 'b/turbo'],
      ignore: ['c'],
      order: ['b/turbo', 'a'],
      preferred_max_latency: { p50: 0.5, p75: 1, p90: 2, p99: 9 },
      max_price: { prompt: 0, completion: 2.5, request: 0.01, image: 0.02 },
    };
    expect(routesOf(policy(provider))[0]!.compatibility).toEqual({ router: { provider } });
    expect(routesOf(policy({ preferred_max_latency: 2 }))[0]!.compatibility).toEqual({
      router: { provider: { preferred_max_latency: 2 } },
    });
  });

  describe('its shape is validated', () => {
    it.each<[string, Json, string]>([
      ['zdr', 'yes', 'zdr'],
      ['only', 'a', 'only'],
      ['only', [1], 'only[0]'],
      ['ignore', ['a', 'b c'], 'ignore[1]'],
      ['order', { a: 1 }, 'order'],
      ['order', [['a']], 'order[0]'],
      ['preferred_max_latency', 'soon', 'preferred_max_latency'],
      ['preferred_max_latency', -1, 'preferred_max_latency'],
      ['preferred_max_latency', [1], 'preferred_max_latency'],
      ['preferred_max_latency', { p50: 'soon' }, 'preferred_max_latency.p50'],
      ['preferred_max_latency', { p95: 1 }, 'preferred_max_latency.p95'],
      ['max_price', 1, 'max_price'],
      ['max_price', { prompt: -1 }, 'max_price.prompt'],
      ['max_price', { image: 'free' }, 'max_price.image'],
      ['max_price', { audio: 1 }, 'max_price.audio'],
      ['allow_fallbacks', false, 'allow_fallbacks'],
    ])('%s: %j', (key, value, path) => {
      expect(problemsOf(policy({ [key]: value })).map(([at]) => at)).toEqual([`${block}.${path}`]);
    });

    it.each<[string, JsonObject, string]>([
      ['a policy that is not an object', { provider: ['a'] }, block],
      ['no policy', {}, block],
      [
        'another key beside it',
        { provider: { zdr: true }, models: ['m'] },
        `${route}.compatibility.router.models`,
      ],
    ])('%s', (_, router, path) => {
      expect(problemsOf({ compatibility: { router } }).map(([at]) => at)).toEqual([path]);
    });
  });

  describe('empty values are rejected', () => {
    it.each<[JsonObject, string]>([
      [{}, ''],
      [{ zdr: null }, ''],
      [{ only: [] }, '.only'],
      [{ ignore: [] }, '.ignore'],
      [{ order: [] }, '.order'],
      [{ only: [''] }, '.only[0]'],
      [{ ignore: ['a', ' '] }, '.ignore[1]'],
      [{ preferred_max_latency: {} }, '.preferred_max_latency'],
      [{ max_price: {} }, '.max_price'],
      [{ max_price: { prompt: null } }, '.max_price'],
    ])('%j', (provider, path) => {
      expect(problemsOf(policy(provider)).map(([at]) => at)).toEqual([`${block}${path}`]);
    });
  });

  it.each(['only', 'ignore', 'order'])('duplicate slugs in `%s` are rejected, regardless of case', (list) => {
    expect(problemsOf(policy({ [list]: ['groq', 'other', 'Groq', 'groq'] }))).toEqual([
      [`${block}.${list}[2]`, expect.stringContaining('`groq`')],
      [`${block}.${list}[3]`, expect.stringContaining('`groq`')],
    ]);
  });

  it('contradictory `only`/`ignore` entries are rejected', () => {
    expect(problemsOf(policy({ only: ['a', 'groq'], ignore: ['b', 'Groq'], order: ['b'] }))).toEqual([
      [`${block}.ignore[1]`, expect.stringMatching(/contradicts `groq` in `only`/)],
    ]);
  });

  it.each<[Json]>([[{ sort: 'price' }], [{}], [null], ['groq']])(
    'a conflict with a raw extra_body.provider is rejected: %j',
    (provider) => {
      expect(problemsOf(policy({ zdr: true }, { extra_body: { provider, top_k: 1 } }))).toEqual([
        [
          `${route}.extra_body.provider`,
          expect.stringMatching(/conflicts with compatibility.router.provider/),
        ],
      ]);
    },
  );

  it('a raw extra_body.provider without the block is accepted, and other raw fields do not conflict', () => {
    expect(problemsOf({ extra_body: { provider: { sort: 'price' } } })).toEqual([]);
    expect(problemsOf(policy({ zdr: true }, { extra_body: { top_k: 1 } }))).toEqual([]);
  });

  it('slugs are not validated, for the upstream does so', () => {
    expect(problemsOf(policy({ only: ['no-such-provider', 'Ünknown/x:y'] }))).toEqual([]);
  });

  it('all violations are reported in one run, each with its own path', () => {
    const wrong = policy(
      { only: ['a', 'A'], ignore: ['b', 'a'], order: [], preferred_max_latency: {}, max_price: {} },
      { extra_body: { provider: {} } },
    );
    const paths = problemsOf(wrong, policy({}), policy({ zdr: 1 })).map(([path]) => path);
    expect(new Set(paths)).toEqual(
      new Set([
        `${block}.only[1]`,
        `${block}.ignore[1]`,
        `${block}.order`,
        `${block}.preferred_max_latency`,
        `${block}.max_price`,
        `${route}.extra_body.provider`,
        'models[0].routes[1].compatibility.router.provider',
        'models[0].routes[2].compatibility.router.provider.zdr',
      ]),
    );
    expect(paths).toHaveLength(8);
  });
});

describe('compat', () => {
  it.each<[string, Json, RegExp]>([
    ['supports_store', 'no', /true or false/],
    ['max_tokens_field', 'max_output_tokens', /max_completion_tokens, max_tokens/],
    ['developer_role', 'user', /developer, system/],
    ['reasoning_effort', 'drop', /passthrough, omit, reasoning_object/],
    ['supports_stream_usage', 1, /true or false/],
    ['empty_tools', 'drop', /preserve, omit, preserve_with_tool_history/],
  ])('%s rejects %j, which is not one of its values', (key, value, message) => {
    expect(problemsOf({ compatibility: { compat: { [key]: value } } })).toEqual([
      [`${route}.compatibility.compat.${key}`, expect.stringMatching(message)],
    ]);
  });

  it('has defaults for the keys of a present block, and no block by default', () => {
    const [present, absent] = routesOf({ compatibility: { compat: {} } }, {});
    expect(present!.compatibility).toEqual({
      compat: {
        supports_store: true,
        max_tokens_field: 'max_completion_tokens',
        developer_role: 'developer',
        reasoning_effort: 'passthrough',
        supports_stream_usage: false,
        stream_options: 'preserve',
        system_messages: 'preserve',
        user_after_results: 'preserve',
        assistant_reasoning: 'preserve',
        call_ids: 'preserve',
        empty_tools: 'preserve',
        cache_control: false,
      },
    });
    expect(absent!.compatibility).toEqual({});
  });
});

describe('a block for chat-style bodies', () => {
  const blocks = { compat: {}, router: { provider: { zdr: true } } };
  const on = (provider: string, compatibility: JsonObject) =>
    problemsOf({ provider, compatibility }).map(([path]) => path.replace(`${route}.compatibility.`, ''));

  it.each(['chat', 'run'])('is accepted on the chat-style provider `%s`', (provider) => {
    expect(on(provider, blocks)).toEqual([]);
  });

  it('is rejected on platform A, whose bodies are not chat-style', () => {
    expect(on('a', blocks)).toEqual(['compat', 'router']);
    expect(on('a', { compat: { supports_stream_usage: true } })).toEqual(['compat']);
  });

  it.each([
    ['runtime_unified', ['compat', 'router']],
    ['runtime_messages', ['compat', 'router']],
    ['endpointb_messages', ['compat', 'router']],
    ['endpointb_responses', ['router']],
    ['runtime_chat', []],
    ['endpointb_chat', []],
  ])(
    'is rejected on platform B where the bodies of the api_style are not chat-style: %s',
    (api_style, refused) => {
      const cloud_b = { api_style, openai_base_path: '/openai/v1' };
      const faults = on('b', { ...blocks, cloud_b }).filter((path) => !path.includes('capabilities'));
      expect(faults).toEqual(refused);
    },
  );
});

describe('docs/compatibility.md', () => {
  it('shows configuration files that load', async () => {
    const text = await readFile(new URL('../../docs/compatibility.md', import.meta.url), 'utf8');
    const files = [...text.matchAll(/```yaml\n(.*?)```/gs)].map(([, yaml]) => yaml!);
    expect(files).toHaveLength(3);
    const keys = { ROUTER_API_KEY: 'r', MISTRAL_API_KEY: 'm' };
    for (const file of files) expect(parseConfig(file, keys)._tag).toBe('Right');
  });
});
