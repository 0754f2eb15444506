import { describe, expect, it } from '@jest/globals';
import { type LintKnowledge, lintConfig } from '../../infrastructure/config/lint.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { plainHosts } from '../../infrastructure/postgres/hosts.ts';
import { implementations } from '../../infrastructure/providers/registry.ts';
import { costWithin } from '../support/cost.ts';

const allKnown: LintKnowledge = {
  hasPrice: () => true,
  canServe: (kind, route, capability) => implementations[kind].supports(route)[capability],
  plainHosts,
};

function lint(text: string, knowledge: LintKnowledge = allKnown) {
  const loaded = parseConfig(text, {
    KEY: `gwk_public00.${'s'.repeat(32)}`,
    K2: `gwk_public01.${'s'.repeat(32)}`,
  });
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
  return lintConfig(loaded.right, knowledge);
}

const paths = (text: string) => lint(text).map(({ path, line }) => [path, line]);

const providers = `providers:
  - {id: p, type: compat, base_url: "http://h", pricing_provider_id: priced}
  - {id: a, type: cloud_a_platform, project_id: my-project}
`;
const keyOf = (n: number): string => `gwk_public${String(n).padStart(4, '0')}.${'s'.repeat(32)}`;
const strict = 'accounting: {duplicate_request_ids: reject, after_block: close_window}\n';
const hardTeam = 'teams: [{id: t, budget: {cadence: daily, amount_10000: 1, hard_limit: true}}]\n';
const model = (route: string) => `models:\n  - id: m\n    routes:\n      - ${route}\n`;

it.each([
  ['', 1],
  ['# providers: []\n', 1],
  ['{}\n', 1],
  ['providers: []\n', 0],
])('a file that says nothing is reported, because applying it removes everything: %j', (text, reported) => {
  const message = 'is empty: applying it would remove everything that earlier files configured';
  expect(lint(text).filter((finding) => finding.message === message)).toHaveLength(reported);
});

describe('a redaction path that matches nothing', () => {
  const at = (path: string): string =>
    `request_logging: {payloads: {redaction_paths: [body.a, "${path}"]}}\n`;

  it.each([
    'metadata.list',
    'metadata',
    'Headers.x-a',
    'messages.*.content',
    'headers.x-a.0.1',
    'stream.a',
    'request.body.a',
  ])('is reported: %s', (path) => {
    expect(lint(at(path))).toEqual([
      {
        path: 'request_logging.payloads.redaction_paths[1]',
        line: 1,
        column: expect.any(Number),
        message: expect.stringMatching(/^matches nothing: .*headers, body, stream, events, usage, error/),
      },
    ]);
  });

  it.each([
    'body',
    'body.metadata.list',
    'headers.X-Corp',
    'headers.x-forwarded-for.*',
    'events.*.choices',
    'usage.total_tokens',
    'error.message',
    'stream',
    'arguments.customer.*',
    'result.content',
    '*',
    '*.metadata',
  ])('is not reported, for it may match: %s', (path) => {
    expect(lint(at(path))).toEqual([]);
  });
});

describe('a public_base_url with a path', () => {
  it.each([
    ['https://g.example.com/gateway', [['server.public_base_url', 1]]],
    ['https://g.example.com/', []],
    ['https://g.example.com', []],
  ])('is reported, for the admin page does not work below a path: %s', (url, told) => {
    expect(paths(`server: {public_base_url: "${url}"}\n`)).toEqual(told);
  });
});

describe('an OTLP endpoint that ends with the path of a signal', () => {
  it.each([
    ['otel_endpoint: "http://c:4318/v1/metrics"', ['server.otel_endpoint']],
    ['otel_metrics_endpoint: "http://c:4318/v1/metrics/"', ['server.otel_metrics_endpoint']],
    [
      'otel_endpoint: "http://c:4318/v1/traces", otel_metrics_endpoint: "http://c:4318/v1/metrics"',
      ['server.otel_endpoint', 'server.otel_metrics_endpoint'],
    ],
    ['otel_endpoint: "http://c:4318/otlp"', []],
  ])('is reported, for the path is appended again: %s', (server, told) => {
    expect(paths(`server: {${server}}\n`)).toEqual(told.map((path) => [path, 1]));
  });
});

describe('a route without a price', () => {
  const text = providers + model('{provider: p, upstream_model: u}');

  it('is reported after a lookup by the exact pair of pricing_provider_id and upstream_model', () => {
    const asked: (readonly [string, string])[] = [];
    const found = lint(text, { ...allKnown, hasPrice: (...pair) => asked.push(pair) === 0 });
    expect(asked).toEqual([['priced', 'u']]);
    expect(found).toEqual([
      {
        path: 'models[0].routes[0].upstream_model',
        line: 7,
        column: 39,
        message:
          'has no price for the exact pair (priced, u): its requests are unpriced and never count toward budgets',
      },
    ]);
  });

  it('is not reported where the route is disabled or has a price override', () => {
    const without = { ...allKnown, hasPrice: () => false };
    expect(lint(providers + model('{provider: p, upstream_model: u, enabled: false}'), without)).toEqual([]);
    const override =
      'pricing: {overrides: [{provider: priced, model: u, input_usd_per_million: 1, output_usd_per_million: 1}]}\n';
    expect(lint(text + override, without)).toEqual([]);
  });
});

describe('a capability that the provider kind cannot serve', () => {
  const knowledge: LintKnowledge = {
    ...allKnown,
    canServe: (kind, _, need) => kind !== 'cloud_a_platform' || need !== 'embeddings',
  };

  it('is reported where the file sets it to true', () => {
    const text =
      providers +
      model('{provider: a, upstream_model: google/u, capabilities: {embeddings: true, tools: true}}');
    expect(lint(text, knowledge)).toMatchObject([
      {
        path: 'models[0].routes[0].capabilities.embeddings',
        line: 7,
        message: expect.stringMatching(/cloud_a_platform/),
      },
    ]);
  });

  it('is not reported where it is true by default, or false', () => {
    expect(lint(providers + model('{provider: a, upstream_model: google/u}'), knowledge)).toEqual([]);
    expect(
      lint(
        providers + model('{provider: a, upstream_model: google/u, capabilities: {embeddings: false}}'),
        knowledge,
      ),
    ).toEqual([]);
  });
});

describe('a hard budget on a route whose streams report no usage', () => {
  const silent = '{provider: p, upstream_model: u}';
  const key = (models: string) =>
    `api_keys: [{name: k, owner: "team:t", value: "\${KEY}", allowed_models: [${models}]}]\n`;
  const base = providers + strict + hardTeam;

  it('is reported with the owners that can call the route', () => {
    expect(lint(base + model(silent) + key(''))).toMatchObject([
      {
        path: 'models[0].routes[0]',
        line: 9,
        message: expect.stringMatching(/owners that can call it: team:t$/),
      },
    ]);
  });

  it('is reported for an owner without API keys, for one may be created at any time', () => {
    expect(paths(base + model(silent))).toEqual([['models[0].routes[0]', 9]]);
  });

  it('is found within 500 ms for 200 models and 1500 owners with keys', () => {
    const numbers = Array.from({ length: 1500 }, (_, index) => index);
    const budget = '{cadence: daily, amount_10000: 1, hard_limit: true}';
    const text = [
      strict + providers,
      'models:',
      ...numbers.slice(0, 200).map((n) => `  - {id: m${n}, routes: [{provider: p, upstream_model: x}]}`),
      'users:',
      ...numbers.map((n) => `  - {email: u${n}@example.com, budget: ${budget}}`),
      'api_keys:',
      ...numbers.map((n) => `  - {name: k${n}, owner: "user:u${n}@example.com", value: "${keyOf(n)}"}`),
    ];
    const loaded = parseConfig(text.join('\n'), {});
    if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
    const lints = () => lintConfig(loaded.right, allKnown);
    expect(lints().filter(({ message }) => message.endsWith('and 1497 more'))).toHaveLength(200);
    expect(costWithin(500, lints)).toBeLessThan(500);
  });

  it('is reported for a team by the keys of its service accounts', () => {
    const account =
      'service_accounts: [{id: s, team: t}]\napi_keys: [{name: k, owner: "service_account:s", value: "${KEY}", allowed_models: [m]}]\n';
    expect(paths(base + model(silent) + account)).toHaveLength(1);
  });

  it.each([
    [
      'the route asks for usage',
      model('{provider: p, upstream_model: u, compatibility: {compat: {supports_stream_usage: true}}}'),
    ],
    [
      'the extra_body of the route asks for usage',
      model('{provider: p, upstream_model: u, extra_body: {stream_options: {include_usage: true}}}'),
    ],
    ['the route does not stream', model('{provider: p, upstream_model: u, capabilities: {stream: false}}')],
    [
      'the route serves no chat',
      model('{provider: p, upstream_model: u, capabilities: {chat_completions: false}}'),
    ],
    ['the route is disabled', model('{provider: p, upstream_model: u, enabled: false}')],
    ['the provider is of another kind', model('{provider: a, upstream_model: google/u}')],
    [
      'no key of the owner may use the model',
      `${model(silent)}  - {id: other, routes: [{provider: p, upstream_model: u, enabled: false}]}\n${key('other')}`,
    ],
  ])('is not reported when %s', (_, rest) => {
    expect(lint(base + rest)).toEqual([]);
  });

  it.each(['null', '{include_usage: false}'])(
    'is reported where the extra_body of the route sets stream_options to %s',
    (own) => {
      const route = `compatibility: {compat: {supports_stream_usage: true}}, extra_body: {stream_options: ${own}}`;
      expect(lint(base + model(`{provider: p, upstream_model: u, ${route}}`))).toMatchObject([
        { path: 'models[0].routes[0]', message: expect.stringMatching(/^streams report no usage/) },
      ]);
    },
  );

  it.each(['runtime_chat', 'endpointb_chat'])(
    'is reported on a route of platform B with %s, unless the route requests usage',
    (style) => {
      const platform = '  - {id: b, type: cloud_b_platform, region: us-east-1}\n';
      const route = (compat: string) =>
        model(
          `{provider: b, upstream_model: u, capabilities: {embeddings: false, responses: false, json_schema: false}, compatibility: {${compat}cloud_b: {api_style: ${style}, openai_base_path: /openai/v1}}}`,
        );
      expect(lint(providers + platform + strict + hardTeam + route(''))).toMatchObject([
        { path: 'models[0].routes[0]', message: expect.stringMatching(/owners that can call it: team:t$/) },
      ]);
      const asks = route('compat: {supports_stream_usage: true}, ');
      expect(lint(providers + platform + strict + hardTeam + asks)).toEqual([]);
    },
  );

  it('is not reported where the budget is not hard', () => {
    expect(lint(providers + hardTeam.replace('true', 'false') + model(silent))).toEqual([]);
  });
});

describe('an inline secret', () => {
  it('is reported with its path, line and column', () => {
    const text =
      'providers:\n  - id: p\n    type: compat\n    base_url: http://h\n    auth: {mode: bearer, token: sk-inline}\n';
    const found = lint(text);
    expect(found).toEqual([
      {
        path: 'providers[0].auth.token',
        line: 5,
        column: 33,
        message: 'is a secret written into the file: write ${NAME} instead',
      },
    ]);
  });
});

it('a default header whose name ends with -auth is an inline secret, as Helicone-Auth', () => {
  const [found] = lint(
    'providers:\n  - id: p\n    type: compat\n    base_url: http://h\n    auth: {mode: none}\n    default_headers: {Helicone-Auth: Bearer sk-inline}\n',
  );
  expect(found).toMatchObject({
    path: 'providers[0].default_headers.Helicone-Auth',
    message: 'is a secret written into the file: write ${NAME} instead',
  });
});

describe('the accounting options of a hard budget', () => {
  it('duplicate_request_ids: allow and after_block: as_specified are reported, also as defaults', () => {
    expect(paths(hardTeam)).toEqual([
      ['accounting.after_block', 1],
      ['accounting.duplicate_request_ids', 1],
    ]);
    expect(
      paths(`${hardTeam}accounting:\n  duplicate_request_ids: allow\n  after_block: as_specified\n`),
    ).toEqual([
      ['accounting.duplicate_request_ids', 3],
      ['accounting.after_block', 4],
    ]);
    expect(lint(hardTeam + strict)).toEqual([]);
  });

  const afterBlock = (text: string): string | undefined =>
    lint(text).find(({ path }) => path === 'accounting.after_block')?.message;
  const streams = /team:t \(streams, which team:t can call, have been read in full by then\); close_window/;
  const elsewhere =
    'api_keys: [{name: k, owner: "team:t", value: "${KEY}", allowed_models: [other]}]\n' +
    'models:\n  - id: other\n    routes: [{provider: p, upstream_model: u, capabilities: {stream: false}}]\n' +
    '  - id: m\n    routes: [{provider: p, upstream_model: u}]\n';

  it.each([
    ['a route that streams', model('{provider: p, upstream_model: u}'), true],
    [
      'responses alone',
      model('{provider: p, upstream_model: u, capabilities: {chat_completions: false}}'),
      true,
    ],
    ['a disabled route', model('{provider: p, upstream_model: u, enabled: false}'), false],
    [
      'a route without streams',
      model('{provider: p, upstream_model: u, capabilities: {stream: false}}'),
      false,
    ],
    ['a model that no key of the owner reaches', elsewhere, false],
  ])(
    'the report of after_block: as_specified mentions streams only where an owner can call any: %s',
    (_, models, told) => {
      const message = afterBlock(providers + hardTeam + models);
      expect(message).toMatch(/^is as_specified: .*; close_window stops that after the first$/);
      expect(streams.test(message ?? '')).toBe(told);
    },
  );

  it('are not reported without a hard budget', () => {
    expect(lint('teams: [{id: t}]\n')).toEqual([]);
  });
});

describe('a router policy on a route that also serves other families', () => {
  const route = (more: string) =>
    model(`{provider: p, upstream_model: u, compatibility: {router: {provider: {zdr: true}}}${more}}`);
  const reported = (family: string) => ({
    path: 'models[0].routes[0].compatibility.router',
    message: `does not reach ${family} requests: set capabilities.${family} to false if the policy must hold`,
  });

  it.each([
    ['responses and embeddings', '', ['responses', 'embeddings']],
    ['responses', ', capabilities: {embeddings: false}', ['responses']],
    ['embeddings', ', capabilities: {responses: false}', ['embeddings']],
    ['embeddings alone', ', capabilities: {chat_completions: false, responses: false}', ['embeddings']],
  ])('is reported for each, for only chat-completions bodies contain the policy: %s', (_, more, families) => {
    expect(lint(providers + route(more))).toMatchObject(families.map(reported));
  });

  it.each([
    ['it serves neither', ', capabilities: {responses: false, embeddings: false}'],
    ['it is disabled', ', enabled: false'],
  ])('is not reported where %s', (_, more) => {
    expect(lint(providers + route(more))).toEqual([]);
  });
});

describe('a model on cloud_a_platform of an unknown publisher', () => {
  it.each(['gemini-2.5-pro', 'meta/llama-4', 'Google/gemini-2.5-pro', 'google', 'publishers/google/x'])(
    'is reported: %s',
    (name) => {
      expect(lint(providers + model(`{provider: a, upstream_model: ${name}}`))).toMatchObject([
        {
          path: 'models[0].routes[0].upstream_model',
          message: expect.stringMatching(/neither google\/… nor anthropic\/…/),
        },
      ]);
    },
  );

  it.each([
    ['of google', '{provider: a, upstream_model: google/gemini-2.5-pro}'],
    ['of anthropic', '{provider: a, upstream_model: anthropic/claude-sonnet-5}'],
    ['on a disabled route', '{provider: a, upstream_model: u, enabled: false}'],
    ['of another provider', '{provider: p, upstream_model: u}'],
  ])('is not reported: %s', (_, route) => {
    expect(lint(providers + model(route))).toEqual([]);
  });
});
