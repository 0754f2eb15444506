import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GatewayConfig } from '../../infrastructure/config/config.ts';
import type { Variables } from '../../infrastructure/config/interpolation.ts';
import { environment, loadConfig, parseConfig } from '../../infrastructure/config/load.ts';
import type { ConfigProblem } from '../../infrastructure/config/problem.ts';

const aKey = `gwk_public00.${'s'.repeat(32)}`;

function problemsOf(text: string, variables: Variables = {}): readonly ConfigProblem[] {
  const loaded = parseConfig(text, variables);
  return loaded._tag === 'Left' ? loaded.left : [];
}

function configOf(text: string, variables: Variables = {}): GatewayConfig {
  const loaded = parseConfig(text, variables);
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
  return loaded.right.config;
}

const exampleVariables = {
  DATABASE_URL: 'postgres://db.example.com/gateway',
  SMTP_PASSWORD: 'mail-password',
  OPENAI_API_KEY: 'sk-1',
  MODELS_API_KEY: 'k-2',
  ROUTER_API_KEY: 'r-3',
  AWS_ACCESS_KEY_ID: 'AKIA0',
  AWS_SECRET_ACCESS_KEY: 'aws-4',
  AWS_SESSION_TOKEN: 'aws-5',
  DEV_KEY: aKey,
  CI_KEY: `gwk_public01.${'t'.repeat(32)}`,
};

const provider = (more: string) =>
  `providers:\n  - id: p\n    type: compat\n    base_url: http://h/v1\n${more}`;
const route = (more: string, providerLines = '') =>
  `${provider(providerLines)}models:\n  - id: m\n    routes:\n      - provider: p\n        upstream_model: u\n${more}`;

describe('a wrong file', () => {
  it.each<[string, string, readonly [string, number, number, RegExp][]]>([
    [
      'unknown key',
      'server:\n  bnd: x\n',
      [['server.bnd', 2, 3, /^unknown key `bnd`, did you mean `bind`\?$/]],
    ],
    [
      'unknown key in a tagged object',
      'providers:\n  - id: p\n    type: compat\n    base_url: http://h\n    basurl: http://h\n',
      [['providers[0].basurl', 5, 5, /^unknown key `basurl`, did you mean `base_url`\?$/]],
    ],
    ['unknown section', 'sever: {}\n', [['sever', 1, 1, /did you mean `server`/]]],
    [
      'port out of range',
      'server:\n  bind: 127.0.0.1:70000\n',
      [['server.bind', 2, 9, /port from 0 to 65535/]],
    ],
    ['bind without a port', 'server: {bind: localhost}', [['server.bind', 1, 16, /host:port/]]],
    [
      'ratio above one',
      'server:\n  otel_trace_sample_ratio: 1.5',
      [['server.otel_trace_sample_ratio', 2, 28, /from 0 to 1/]],
    ],
    ['fraction', 'server:\n  workers: 1.5', [['server.workers', 2, 12, /integer from 1 to 256/]]],
    [
      'zero bytes',
      'request_logging: {payloads: {request_max_bytes: 0}}',
      [['request_logging.payloads.request_max_bytes', 1, 49, /from 1/]],
    ],
    [
      'no origin of a browser app',
      'server:\n  cors_origins: [https://app.example.com/, HTTPS://app.example.com, https://a.example:443, null]',
      [
        ['server.cors_origins[0]', 2, 18, /origin/],
        ['server.cors_origins[1]', 2, 44, /lower case/],
        ['server.cors_origins[2]', 2, 69, /default port/],
        ['server.cors_origins[3]', 2, 92, /text/],
      ],
    ],
    [
      'no proxy address',
      'server:\n  trusted_proxies: [10.0.0.0/8, 10.0.0.0/33]',
      [['server.trusted_proxies[1]', 2, 33, /CIDR/]],
    ],
    [
      'less room than one body',
      'server: {body_max_bytes: 2000, max_buffered_bytes: 1000}',
      [['server.max_buffered_bytes', 1, 52, /not be smaller/]],
    ],
    [
      'a word outside the list',
      'accounting:\n  after_block: close',
      [['accounting.after_block', 2, 16, /one of: as_specified, close_window/]],
    ],
    ['text for a list', 'teams: none', [['teams', 1, 8, /must be a list/]]],
    ['a list for an object', 'server: []', [['server', 1, 1, /must be an object/]]],
    [
      'a missing key',
      'providers:\n  - type: compat\n    base_url: http://h\n',
      [['providers[0].id', 2, 5, /^is required$/]],
    ],
    [
      'a missing type',
      'providers:\n  - id: p\n',
      [['providers[0].type', 2, 5, /^is required, one of: compat, /]],
    ],
    [
      'an unknown type',
      'providers:\n  - id: p\n    type: gpt\n',
      [['providers[0].type', 3, 11, /^is unknown, one of: compat, cloud_run_compat/]],
    ],
    [
      'userinfo in a URL',
      'providers: [{id: p, type: compat, base_url: "http://u:pw@h/v1"}]',
      [['providers[0].base_url', 1, 45, /user name or password/]],
    ],
    [
      'a query in a URL',
      'providers: [{id: p, type: compat, base_url: "http://h/v1?key=1"}]',
      [['providers[0].base_url', 1, 45, /no query/]],
    ],
    [
      'another scheme',
      'providers: [{id: p, type: compat, base_url: "ftp://h"}]',
      [['providers[0].base_url', 1, 45, /http or https/]],
    ],
    [
      'no audience for a plain URL',
      'providers:\n  - id: p\n    type: cloud_run_compat\n    base_url: http://h\n',
      [['providers[0].auth.audience', 2, 5, /required when base_url is not https/]],
    ],
    [
      'a token with a line end',
      provider('    auth: {mode: bearer, token: "abc\\n"}\n'),
      [['providers[0].auth.token', 5, 33, /must be a token/]],
    ],
    ['a number for a name', 'teams: [{id: 12}]', [['teams[0].id', 1, 14, /quotes/]]],
    [
      'default_headers over auth',
      provider('    auth: {mode: header, name: X-Key, value: v}\n    default_headers: {x-key: w}\n'),
      [['providers[0].default_headers.x-key', 6, 30, /would replace what `auth` sends/]],
    ],
    [
      'a framing header',
      provider('    default_headers: {Host: x}\n'),
      [['providers[0].default_headers.Host', 5, 29, /set by the gateway itself/]],
    ],
    [
      'a header twice',
      provider('    default_headers: {x-a: x, X-A: y}\n'),
      [['providers[0].default_headers.X-A', 5, 36, /there twice/]],
    ],
    [
      'a header with a line end',
      provider('    default_headers: {x-a: "a\\r\\nb: c"}\n'),
      [['providers[0].default_headers.x-a', 5, 28, /valid header value/]],
    ],
    [
      'an unknown provider',
      'models:\n  - id: m\n    routes: [{provider: opnai, upstream_model: u}]\nproviders: [{id: openai, type: compat, base_url: "http://h"}]',
      [['models[0].routes[0].provider', 3, 25, /^unknown provider `opnai`, did you mean `openai`\?$/]],
    ],
    [
      'an unknown capability',
      route('        capabilities: {chat: true}\n'),
      [['models[0].routes[0].capabilities.chat', 10, 24, /unknown key `chat`/]],
    ],
    [
      'a capability that is no boolean',
      route('        capabilities: {tools: "no"}\n'),
      [['models[0].routes[0].capabilities.tools', 10, 31, /true or false/]],
    ],
    [
      'a compat value',
      route('        compatibility: {compat: {empty_tools: drop}}\n'),
      [['models[0].routes[0].compatibility.compat.empty_tools', 10, 47, /preserve_with_tool_history/]],
    ],
    [
      'an api_style',
      route('        compatibility: {cloud_b: {api_style: chat}}\n'),
      [['models[0].routes[0].compatibility.cloud_b.api_style', 10, 46, /runtime_unified/]],
    ],
    [
      'a router preference',
      route('        compatibility: {router: {provider: {preferred_max_latency: {p95: 1}}}}\n'),
      [
        [
          'models[0].routes[0].compatibility.router.provider.preferred_max_latency.p95',
          10,
          69,
          /unknown key `p95`/,
        ],
      ],
    ],
    [
      'an inexact integer in extra_body',
      route('        extra_body: {seed: 9007199254740993}\n'),
      [['models[0].routes[0].extra_body', 10, 9, /lose digits/]],
    ],
    [
      'a repeated provider',
      'providers:\n  - {id: p, type: compat, base_url: http://h}\n  - {id: p, type: compat, base_url: http://h}\n',
      [['providers[1].id', 3, 10, /there already/]],
    ],
    ['a repeated model', 'models: [{id: a}, {id: a}]', [['models[1].id', 1, 24, /there already/]]],
    ['a repeated team', 'teams: [{id: a}, {id: a}]', [['teams[1].id', 1, 23, /there already/]]],
    [
      'a repeated service account',
      'teams: [{id: t}]\nservice_accounts: [{id: a, team: t}, {id: a, team: t}]',
      [['service_accounts[1].id', 2, 43, /there already/]],
    ],
    [
      'addresses that differ in case',
      'users:\n  - email: A@x.org\n  - email: a@X.org\n',
      [['users[1].email', 3, 12, /there already/]],
    ],
    [
      'a repeated price',
      'pricing:\n  overrides:\n    - {provider: p, model: m, input_usd_per_million: 1, output_usd_per_million: 1}\n    - {provider: p, model: m, input_usd_per_million: 2, output_usd_per_million: 2}\n',
      [['pricing.overrides[1].model', 4, 28, /there already/]],
    ],
    [
      'an unknown team of a user',
      'teams: [{id: team-a}]\nusers: [{email: a@x.org, team: team-b}]',
      [['users[0].team', 2, 32, /unknown team `team-b`, did you mean `team-a`/]],
    ],
    [
      'an unknown team of a service account',
      'service_accounts: [{id: a, team: t}]',
      [['service_accounts[0].team', 1, 34, /unknown team `t`$/]],
    ],
    [
      'team_role without a team',
      'users:\n  - email: a@x.org\n    team_role: admin\n',
      [['users[0].team_role', 3, 16, /needs a `team`/]],
    ],
    [
      'an unknown time zone',
      'teams:\n  - id: t\n    budget: {cadence: daily, amount_10000: 1, timezone: Mars/Olympus}\n',
      [['teams[0].budget.timezone', 3, 57, /IANA/]],
    ],
    [
      'an offset as time zone',
      'teams: [{id: t, budget: {cadence: daily, amount_10000: 1, timezone: "+01:00"}}]',
      [['teams[0].budget.timezone', 1, 69, /IANA/]],
    ],
    [
      'a negative amount',
      'teams: [{id: t, budget: {cadence: daily, amount_10000: -1}}]',
      [['teams[0].budget.amount_10000', 1, 56, /from 0 to 9007199254740991/]],
    ],
    [
      'an amount beyond 2^53',
      'teams: [{id: t, budget: {cadence: daily, amount_10000: 9007199254740992}}]',
      [['teams[0].budget.amount_10000', 1, 56, /from 0 to 9007199254740991/]],
    ],
    [
      'too many decimals',
      'pricing: {overrides: [{provider: p, model: m, input_usd_per_million: "0.1234567", output_usd_per_million: 1}]}',
      [['pricing.overrides[0].input_usd_per_million', 1, 70, /at most 6 decimals/]],
    ],
    [
      'an exponent as price',
      'pricing: {overrides: [{provider: p, model: m, input_usd_per_million: 1.5e1, output_usd_per_million: 1}]}',
      [['pricing.overrides[0].input_usd_per_million', 1, 70, /decimal/]],
    ],
    [
      'a hexadecimal price',
      'pricing: {overrides: [{provider: p, model: m, input_usd_per_million: 0x10, output_usd_per_million: 1}]}',
      [['pricing.overrides[0].input_usd_per_million', 1, 70, /decimal/]],
    ],
    [
      'a price with more digits than a number holds',
      'pricing: {overrides: [{provider: p, model: m, input_usd_per_million: 0.15000000000000000001, output_usd_per_million: 1}]}',
      [['pricing.overrides[0].input_usd_per_million', 1, 70, /19 characters/]],
    ],
    [
      'a schedule more often than daily',
      'request_logging: {purge: {schedule: "0 * * * *"}}',
      [['request_logging.purge.schedule', 1, 37, /more often than daily/]],
    ],
    [
      'a redaction wildcard inside a key',
      'request_logging: {payloads: {redaction_paths: ["body.x*"]}}',
      [['request_logging.payloads.redaction_paths[0]', 1, 48, /whole key/]],
    ],
    [
      'a password without a user name',
      'mail:\n  from: a@x.org\n  smtp: {host: h, password: p}\n',
      [['mail.smtp', 3, 3, /both `username` and `password`/]],
    ],
    ['a database of another kind', 'database: {url: "mysql://h/db"}', [['database.url', 1, 17, /postgres/]]],
    [
      'a malformed placeholder',
      'teams: [{id: a, name: "${not a name}"}]',
      [['teams[0].name', 1, 23, /malformed placeholder/]],
    ],
    [
      'an open placeholder',
      'teams: [{id: a, name: "${A"}]',
      [['teams[0].name', 1, 23, /malformed placeholder/]],
    ],
    [
      'an empty file name',
      'providers: [{id: p, type: cloud_a_platform, project_id: x, auth: {mode: service_account, credentials_path: ""}}]',
      [['providers[0].auth.credentials_path', 1, 108, /at least 1/]],
    ],
  ])('%s', (_, text, expected) => {
    const problems = problemsOf(text);
    expect(problems.map(({ path, line, column }) => [path, line, column])).toEqual(
      expected.map(([path, line, column]) => [path, line, column]),
    );
    for (const [index, { message }] of problems.entries()) expect(message).toMatch(expected[index]![3]);
  });

  it.each<[string, string, RegExp]>([
    [
      'an unknown user',
      `api_keys: [{name: k, owner: "user:b@x.org", value: "${aKey}"}]`,
      /unknown user `b@x.org`/,
    ],
    ['an unknown team', `api_keys: [{name: k, owner: "team:t", value: "${aKey}"}]`, /unknown team `t`/],
    [
      'an unknown service account',
      `api_keys: [{name: k, owner: "service_account:s", value: "${aKey}"}]`,
      /unknown service account `s`/,
    ],
    [
      'no kind of owner',
      `api_keys: [{name: k, owner: "robot:s", value: "${aKey}"}]`,
      /must be user:EMAIL, team:ID/,
    ],
  ])('names %s of an api key', (_, text, message) => {
    expect(problemsOf(text)).toEqual([
      { path: 'api_keys[0].owner', line: 1, column: 29, message: expect.stringMatching(message) },
    ]);
  });

  it('names an unknown model of allowed_models, and repeated names and public ids of keys', () => {
    const text = [
      'models: [{id: fast}]',
      'teams: [{id: t}]',
      'api_keys:',
      `  - {name: k, owner: "team:t", value: "${aKey}", allowed_models: [fast, fats]}`,
      `  - {name: k, owner: "team:t", value: "${aKey.replaceAll('s', 'z')}"}`,
    ].join('\n');
    expect(problemsOf(text).map(({ path, line }) => [path, line])).toEqual([
      ['api_keys[0].allowed_models[1]', 4],
      ['api_keys[1].name', 5],
      ['api_keys[1].value', 5],
    ]);
  });

  it.each([
    ['gwk_short.'.concat('s'.repeat(32))],
    [`gwk_public00.${'s'.repeat(31)}`],
    [`key_public00.${'s'.repeat(32)}`],
    [`gwk_public-0.${'s'.repeat(32)}`],
  ])('refuses %s as a key without repeating it', (value) => {
    const [problem] = problemsOf('teams: [{id: t}]\napi_keys: [{name: k, owner: "team:t", value: "${K}"}]', {
      K: value,
    });
    expect(problem).toMatchObject({ path: 'api_keys[0].value', line: 2 });
    expect(problem!.message).not.toContain(value);
  });

  it.each([
    ['authorization'],
    ['X-API-Key'],
    ['api-key'],
    ['x-goog-api-key'],
    ['anthropic-api-key'],
    ['x-own'],
    ['Host'],
    ['content-length'],
    ['connection'],
    ['transfer-encoding'],
  ])('refuses %s in extra_headers', (name) => {
    const text = route(
      `        extra_headers: {${name}: x}\n`,
      '    auth: {mode: header, name: X-Own, value: v}\n',
    );
    expect(problemsOf(text)).toMatchObject([{ path: `models[0].routes[0].extra_headers.${name}`, line: 11 }]);
  });

  it('leaves Authorization to a route whose ID token goes into a header of its own', () => {
    const text = (header: string) =>
      `providers: [{id: p, type: cloud_run_compat, base_url: "https://h", auth: {mode: adc, auth_header: ${header}}}]\n` +
      'models: [{id: m, routes: [{provider: p, upstream_model: u, extra_headers: {Authorization: Bearer x}}]}]\n';
    expect(problemsOf(text('x_serverless_authorization'))).toEqual([]);
    expect(problemsOf(text('authorization'))).toHaveLength(1);
  });

  it('reports everything at once, in the order of the file', () => {
    const text = [
      'models:',
      '  - id: m',
      '    routes: [{provider: nobody, upstream_model: ""}]',
      'server: {workers: none, bnd: x}',
      'teams: [{id: t}, {id: t}]',
      'mail: {from: "${MAIL_FROM}", smtp: {}}',
    ].join('\n');
    expect(problemsOf(text).map(({ path }) => path)).toEqual([
      'models[0].routes[0].provider',
      'models[0].routes[0].upstream_model',
      'server.workers',
      'server.bnd',
      'teams[1].id',
      'mail.from',
      'mail.smtp.host',
    ]);
  });
});

describe('YAML itself', () => {
  it.each<[string, string, number, RegExp]>([
    ['a duplicate key', 'server:\n  workers: 1\n  workers: 2\n', 3, /the key `workers` is there already/],
    ['a tab', 'server:\n\tworkers: 1\n', 2, /tab/],
    ['an open quote', 'server:\n  bind: "127\n', 3, /closing quote/],
    ['a reserved character', 'a: 1\nb: @x\n', 2, /put the value in quotes/],
    ['two documents', 'server: {}\n---\nserver: {}\n', 2, /more than one YAML document/],
    ['a tag', 'server: !thing {}\n', 1, /YAML tag/],
    ['a binary', 'server: !!binary aGk=\n', 1, /YAML tag/],
    ['an unknown anchor', 'teams:\n  - *team\n', 2, /anchor that is not defined/],
    ['an anchor in itself', 'teams: &t [*t]\n', 1, /too much|nested/],
    ['a key that is no text', '? [1]\n: 2\n', 1, /cannot be a key/],
    ['__proto__', 'server:\n  __proto__: {}\n', 2, /cannot be a key/],
    ['no finite number', 'server: {otel_trace_sample_ratio: .inf}\n', 1, /finite/],
    ['deep nesting', `models: ${'['.repeat(70)}${']'.repeat(70)}\n`, 1, /nested more than 64 levels/],
    ['very deep nesting', `models: ${'['.repeat(100_000)}\n`, 1, /nested too deep/],
  ])('refuses %s and names its line', (_, text, line, message) => {
    const problems = problemsOf(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems[0]).toMatchObject({ line, message: expect.stringMatching(message) });
  });

  it('stops anchors that unfold into too much', () => {
    const levels = Array.from({ length: 9 }, (_, level) => {
      const inner = level === 0 ? Array(9).fill('x') : Array(9).fill(`*a${level - 1}`);
      return `l${level}: &a${level} [${inner.join(', ')}]`;
    });
    const problems = problemsOf(levels.join('\n'));
    expect(problems[0]!.message).toMatch(/anchors unfold into too much/);
    const wide = `a: &a [${Array(20_000).fill('x').join(',')}]\nb: [${Array(100).fill('*a').join(',')}]`;
    expect(problemsOf(wide)[0]).toMatchObject({ line: 2, message: expect.stringMatching(/too much/) });
  });

  it('follows ordinary anchors, and finds lines inside them', () => {
    const text = (connect: string) =>
      [
        'providers:',
        `  - {id: a, type: compat, base_url: http://h, timeouts: &t {connect_ms: ${connect}}}`,
        '  - {id: b, type: compat, base_url: http://h, timeouts: *t}',
      ].join('\n');
    expect(configOf(text('7')).providers.map(({ timeouts }) => timeouts.connectMs)).toEqual([7, 7]);
    expect(problemsOf(text('0')).map(({ path, line }) => [path, line])).toEqual([
      ['providers[0].timeouts.connect_ms', 2],
      ['providers[1].timeouts.connect_ms', 2],
    ]);
  });

  it('never quotes the file in a syntax message', () => {
    for (const text of [
      'token: *hunter2',
      'token: @hunter2',
      'token: "hunter2',
      'token: "hunter2\\q"',
      'token: a: hunter2',
    ])
      expect(JSON.stringify(problemsOf(text))).not.toContain('hunter2');
  });
});

describe('defaults', () => {
  it.each([[''], ['# nothing\n'], ['server:\nproviders:\nmodels:\nteams:\n']])(
    'stand for all that is left out (%j)',
    (text) => {
      const config = configOf(text);
      expect(config).toEqual({
        server: {
          bind: { host: '127.0.0.1', port: 8080 },
          publicBaseUrl: undefined,
          workers: 1,
          bodyMaxBytes: 33_554_432,
          bodyMaxValues: 1_000_000,
          maxInFlight: 2000,
          maxInFlightPerOwner: 500,
          maxBufferedBytes: 536_870_912,
          corsOrigins: [],
          streamKeepaliveSecs: 15,
          shutdownGraceSecs: 30,
          trustedProxies: [],
          otel: {
            tracesEndpoint: undefined,
            metricsEndpoint: undefined,
            headers: {},
            traceSampleRatio: 1,
            exportIntervalSecs: 30,
            bespokeTags: [],
          },
        },
        database: { kind: 'embedded', dataDir: '.gateway', maxConnections: 10 },
        mail: undefined,
        dataDir: '.gateway',
        budgetAlerts: { pollIntervalSecs: 30, batchSize: 25 },
        requestLogging: {
          payloads: {
            captureMode: 'redacted_payloads',
            requestMaxBytes: 65_536,
            responseMaxBytes: 65_536,
            streamMaxEvents: 128,
            redactionPaths: [],
          },
          purge: { enabled: false, retention: '7d', schedule: '0 0 * * *' },
        },
        accounting: {
          duplicateRequestIds: 'allow',
          afterBlock: 'as_specified',
          drainOnDisconnect: 'hard_budget',
          drainTimeoutSecs: 30,
          maxDrains: 200,
        },
        pricing: { overrides: [] },
        providers: [],
        models: [],
        teams: [],
        serviceAccounts: [],
        users: [],
        apiKeys: [],
      });
    },
  );

  it('make a route permissive and a provider bounded', () => {
    const config = configOf(route(''));
    expect(config.providers[0]).toEqual({
      id: 'p',
      kind: 'compat',
      pricingProviderId: 'p',
      baseUrl: 'http://h/v1',
      auth: { mode: 'none' },
      defaultHeaders: {},
      timeouts: { connectMs: 5000, firstByteMs: 120_000, idleMs: 120_000, totalMs: 1_800_000 },
    });
    expect(config.models[0]!.routes[0]).toEqual({
      provider: 'p',
      upstreamModel: 'u',
      priority: 100,
      enabled: true,
      capabilities: {
        chat_completions: true,
        responses: true,
        embeddings: true,
        stream: true,
        tools: true,
        vision: true,
        json_schema: true,
      },
      compatibility: {},
      extraHeaders: {},
      extraBody: {},
    });
  });

  it('leave `default_max_tokens` out of a route that sets none', () => {
    const route = (own: string) =>
      configOf(
        [
          'providers: [{id: p, type: compat, base_url: "http://h/v1", auth: {mode: none}}]',
          `models: [{id: m, routes: [{provider: p, upstream_model: u${own}}]}]`,
        ].join('\n'),
      ).models[0]?.routes[0];
    expect(route(', default_max_tokens: 300')).toMatchObject({ defaultMaxTokens: 300 });
    expect(route('')).not.toHaveProperty('defaultMaxTokens');
  });

  it('take names from ids, an audience from the URL, and metrics where traces go', () => {
    const config = configOf(
      [
        'server: {otel_endpoint: "http://o:4318/"}',
        'providers: [{id: r, type: cloud_run_compat, base_url: "https://svc.run.app/v1/"}]',
        'teams: [{id: t, budget: {cadence: weekly, amount_10000: 9007199254740991}}]',
        'service_accounts: [{id: s, team: t}]',
        'users: [{email: A@X.org, team: t}]',
      ].join('\n'),
    );
    expect(config.server.otel).toMatchObject({
      tracesEndpoint: 'http://o:4318',
      metricsEndpoint: 'http://o:4318',
    });
    expect(config.providers[0]).toMatchObject({
      baseUrl: 'https://svc.run.app/v1',
      auth: { mode: 'adc', audience: 'https://svc.run.app', header: 'authorization' },
    });
    expect(config.teams[0]).toEqual({
      id: 't',
      name: 't',
      budget: { cadence: 'weekly', amount10000: 9_007_199_254_740_991n, hardLimit: true, timezone: 'UTC' },
    });
    expect(config.serviceAccounts[0]!.name).toBe('s');
    expect(config.users[0]).toMatchObject({
      email: 'a@x.org',
      role: 'user',
      requestLoggingEnabled: true,
      membership: { team: 't', role: 'member' },
    });
  });
});

describe('${NAME}', () => {
  it('is filled in anywhere in a text, and $${ is ${', () => {
    const text = 'teams: [{id: "a-${A}-${B}", name: "$${A} $A $$ ${B}"}]';
    expect(configOf(text, { A: 'x', B: 'y' }).teams[0]).toMatchObject({
      id: 'a-x-y',
      name: '${A} $A $$ y',
    });
  });

  it('is not looked for in what it stands for', () => {
    expect(configOf('teams: [{id: a, name: "${A}"}]', { A: '${B}' }).teams[0]!.name).toBe('${B}');
  });

  it('may stand for a number or a boolean', () => {
    const text =
      'server: {workers: "${N}", otel_trace_sample_ratio: "${R}"}\nrequest_logging: {purge: {enabled: "${B}"}}';
    const config = configOf(text, { N: '3', R: '0.25', B: 'true' });
    expect(config.server).toMatchObject({ workers: 3, otel: { traceSampleRatio: 0.25 } });
    expect(config.requestLogging.purge.enabled).toBe(true);
  });

  it('is one problem when it is not set: the key path, the line and the variable', () => {
    expect(problemsOf('database:\n  url: "${DATABASE_URL}"\n')).toEqual([
      {
        path: 'database.url',
        line: 2,
        column: 8,
        message: 'the environment variable DATABASE_URL is not set',
      },
    ]);
  });

  it('does not find what every object inherits', () => {
    expect(problemsOf('teams: [{id: a, name: "${constructor}"}]')).toHaveLength(1);
  });
});

describe('the environment', () => {
  it('overrides the file', () => {
    const text = 'server: {bind: "127.0.0.1:1"}\ndatabase: {url: "postgres://file/db", max_connections: 3}';
    const config = configOf(text, { GATEWAY_BIND: '[::1]:9', DATABASE_URL: 'postgres://env/db' });
    expect(config.server.bind).toEqual({ host: '::1', port: 9 });
    expect(config.database).toEqual({ kind: 'external', url: 'postgres://env/db', maxConnections: 3 });
  });

  it('says where an embedded database lives', () => {
    expect(configOf('', { GATEWAY_DATA_DIR: '/data' }).database).toMatchObject({
      kind: 'embedded',
      dataDir: '/data',
    });
  });

  it('is validated like the file, and its values are not repeated', () => {
    expect(problemsOf('', { GATEWAY_BIND: 'nowhere', DATABASE_URL: 'mysql://u:hunter2@h/db' })).toEqual([
      { path: 'DATABASE_URL', line: 0, column: 0, message: expect.stringContaining('postgres') },
      { path: 'GATEWAY_BIND', line: 0, column: 0, message: expect.stringContaining('host:port') },
    ]);
  });

  it('counts an empty variable as not set', () => {
    expect(
      environment({ GATEWAY_CONFIG: 'c.yaml', GATEWAY_ADMIN_EMAIL: 'a@x.org', DATABASE_URL: '' }),
    ).toEqual({
      configPath: 'c.yaml',
      databaseUrl: undefined,
      dataDir: '.gateway',
      bind: undefined,
      adminEmail: 'a@x.org',
      adminPassword: undefined,
    });
  });
});

describe('prices', () => {
  it.each([
    ['"0.15"', '0.15'],
    ['0.15', '0.15'],
    ['0.150', '0.150'],
    ['3', '3'],
    ['000000000001.000001', '000000000001.000001'],
  ])('%s keeps its digits', (written, kept) => {
    const text = `pricing: {overrides: [{provider: p, model: m, input_usd_per_million: ${written}, output_usd_per_million: 0}]}`;
    expect(configOf(text).pricing.overrides[0]).toEqual({
      pricingProviderId: 'p',
      upstreamModel: 'm',
      inputUsdPerMillion: kept,
      outputUsdPerMillion: '0',
    });
  });
});

describe('config/example.yaml', () => {
  const path = new URL('../../config/example.yaml', import.meta.url);

  it('loads when its variables are set, and names its schema in the first line', async () => {
    const text = await readFile(path, 'utf8');
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./gateway.schema.json');
    expect(problemsOf(text, exampleVariables)).toEqual([]);
  });

  it('shows every section, and every kind of provider', async () => {
    const config = configOf(await readFile(path, 'utf8'), exampleVariables);
    expect(new Set(config.providers.map(({ kind }) => kind)).size).toBe(4);
    for (const [section, value] of Object.entries(config))
      expect([section, Array.isArray(value) ? value.length > 0 : value !== undefined]).toEqual([
        section,
        true,
      ]);
  });

  it.each(Object.keys(exampleVariables))('needs %s', async (name) => {
    const problems = problemsOf(await readFile(path, 'utf8'), { ...exampleVariables, [name]: undefined });
    expect(problems.map(({ message }) => message)).toEqual([`the environment variable ${name} is not set`]);
  });
});

describe('loadConfig', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gateway-config-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const load = async (name: string, content?: string | Uint8Array) => {
    const path = join(directory, name);
    if (content !== undefined) await writeFile(path, content);
    return loadConfig(path, {});
  };

  it('reads a file, with or without a byte order mark', async () => {
    expect(await load('good.yaml', '\ufeffteams: [{id: t}]')).toMatchObject({
      _tag: 'Right',
      right: { config: { teams: [{ id: 't' }] } },
    });
  });

  it.each<[string, string | Uint8Array | undefined, RegExp]>([
    ['no file', undefined, /cannot be read \(ENOENT\)/],
    ['more than 4 MiB', `# ${'x'.repeat(4 * 1024 * 1024)}`, /larger than 4 MiB/],
    ['bytes that are no text', Uint8Array.of(0x61, 0xff), /not UTF-8/],
  ])('refuses %s', async (name, content, message) => {
    expect(await load(name, content)).toEqual({
      _tag: 'Left',
      left: [{ path: '', line: 0, column: 0, message: expect.stringMatching(message) }],
    });
  });
});
