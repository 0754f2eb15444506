import { describe, expect, it } from '@jest/globals';
import { aKey, problemsOf, provider, route } from './config-reading.ts';

describe('an invalid configuration file', () => {
  it.each<[string, string, readonly [string, number, number, RegExp][]]>([
    [
      'unknown key',
      'server:\n  bnd: x\n',
      [['server.bnd', 2, 3, /^unknown key `bnd`, did you mean `bind`\?$/]],
    ],
    [
      'unknown key that is part of a known one',
      'teams: [{id: a, name: A, budget: {cadence: daily, amount_10000: 5, hard: true}}]',
      [['teams[0].budget.hard', 1, 68, /^unknown key `hard`, did you mean `hard_limit`\?$/]],
    ],
    [
      'unknown key in a tagged object',
      'providers:\n  - id: p\n    type: compat\n    base_url: http://h\n    basurl: http://h\n',
      [['providers[0].basurl', 5, 5, /^unknown key `basurl`, did you mean `base_url`\?$/]],
    ],
    [
      'an e-mail address with a control character',
      'users:\n  - email: "a\\u0007@example.com"\n',
      [['users[0].email', 2, 12, /^must not hold control characters, invisible marks, or capitals/]],
    ],
    [
      'a name that is too long, in which an emoji is one character',
      `teams:\n  - {id: a, name: "${'😀'.repeat(128)}"}\n  - {id: b, name: "${'😀'.repeat(129)}"}\n`,
      [['teams[1].name', 3, 19, /^must be at most 128 characters long$/]],
    ],
    [
      'a name with a mark that turns the direction of text',
      'users:\n  - {email: a@example.com, name: "A\\u202Eb"}\n',
      [
        [
          'users[0].name',
          2,
          34,
          /^must hold a character that can be seen, and no control characters or marks that turn the direction of a text$/,
        ],
      ],
    ],
    [
      'a placeholder without quotes between braces',
      'server:\n  bind: "127.0.0.1:0"\nproviders:\n  - {id: p, auth: {mode: bearer, token: ${TOKEN}}}\nmodels: []\n',
      [['', 4, 41, /^has a placeholder without quotes between braces or brackets: write "\$\{NAME\}"$/]],
    ],
    ['unknown section', 'sever: {}\n', [['sever', 1, 1, /did you mean `server`/]]],
    [
      'port out of range',
      'server:\n  bind: 127.0.0.1:70000\n',
      [['server.bind', 2, 9, /port from 0 to 65535/]],
    ],
    [
      'a distribution of the embedded database',
      'database: {distribution: citus}',
      [['database.distribution', 1, 26, /needs url/]],
    ],
    [
      'a read replica of a cluster',
      'database: {url: "postgres://h/d", read_url: "postgres://r/d", distribution: citus}',
      [['database.read_url', 1, 45, /goes with distribution: none alone/]],
    ],
    [
      'a universal tag among the bespoke ones',
      'server: {otel_bespoke_tags: [tenant, env]}',
      [['server.otel_bespoke_tags[1]', 1, 38, /it is always a label/]],
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
      'invalid CORS origins',
      'server:\n  cors_origins: [https://app.example.com/, HTTPS://app.example.com, https://a.example:443, null]',
      [
        ['server.cors_origins[0]', 2, 18, /origin/],
        ['server.cors_origins[1]', 2, 44, /lower case/],
        ['server.cors_origins[2]', 2, 69, /default port/],
        ['server.cors_origins[3]', 2, 92, /text/],
      ],
    ],
    [
      'an invalid proxy address',
      'server:\n  trusted_proxies: [10.0.0.0/8, 10.0.0.0/33]',
      [['server.trusted_proxies[1]', 2, 33, /CIDR/]],
    ],
    [
      'max_buffered_bytes smaller than body_max_bytes',
      'server: {body_max_bytes: 2000, max_buffered_bytes: 1000}',
      [['server.max_buffered_bytes', 1, 52, /not be smaller/]],
    ],
    [
      'an unknown value of a choice',
      'accounting:\n  after_block: close',
      [['accounting.after_block', 2, 16, /one of: as_specified, close_window/]],
    ],
    ['a text instead of a list', 'teams: none', [['teams', 1, 8, /must be a list/]]],
    ['a list instead of an object', 'server: []', [['server', 1, 1, /must be an object/]]],
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
    ['a number instead of an id', 'teams: [{id: 12}]', [['teams[0].id', 1, 14, /quotes/]]],
    [
      'a default header that auth sends',
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
      [['providers[0].default_headers.X-A', 5, 36, /appears twice/]],
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
      'a provider that is not a valid id: one problem, which does not repeat the value',
      'models:\n  - id: m\n    routes: [{provider: "a\\e[31m\\nb", upstream_model: u}]\n',
      [['models[0].routes[0].provider', 3, 25, /^must be an id/]],
    ],
    [
      'an unknown capability',
      route('        capabilities: {chat: true}\n'),
      [['models[0].routes[0].capabilities.chat', 10, 24, /unknown key `chat`/]],
    ],
    [
      'a capability that is not a boolean',
      route('        capabilities: {tools: "no"}\n'),
      [['models[0].routes[0].capabilities.tools', 10, 31, /true or false/]],
    ],
    [
      'an unknown compat value',
      route('        compatibility: {compat: {empty_tools: drop}}\n'),
      [['models[0].routes[0].compatibility.compat.empty_tools', 10, 47, /preserve_with_tool_history/]],
    ],
    [
      'an unknown api_style',
      route('        compatibility: {cloud_b: {api_style: chat}}\n'),
      [['models[0].routes[0].compatibility.cloud_b.api_style', 10, 46, /runtime_unified/]],
    ],
    [
      'an unknown router preference',
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
    [
      'a login at the mail server that ends with a line break, as `echo` writes one',
      'mail:\n  from: a@x.org\n  smtp: {host: h, username: "u\\n", password: "p\\n"}\n',
      [
        ['mail.smtp.username', 3, 29, /control characters/],
        ['mail.smtp.password', 3, 46, /control characters/],
      ],
    ],
    ['a database of another kind', 'database: {url: "mysql://h/db"}', [['database.url', 1, 17, /postgres/]]],
    [
      'one address for two listeners',
      'server: {bind: "127.0.0.1:80", admin_bind: "127.0.0.1:80"}',
      [['server.admin_bind', 1, 44, /must be another address than bind/]],
    ],
    [
      'a certificate for an admin listener that is not configured',
      'server: {admin_tls: {cert_file: /c, key_file: /k}}',
      [['server.admin_tls', 1, 10, /needs admin_bind/]],
    ],
    [
      'an unsafe version of TLS',
      'server: {tls: {cert_file: /c, key_file: /k, min_version: TLSv1.1}}',
      [['server.tls.min_version', 1, 58, /TLSv1\.2/]],
    ],
    [
      'a replica of the embedded database',
      'database: {read_url: "postgres://h/db"}',
      [['database.read_url', 1, 22, /needs url/]],
    ],
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
      [['providers[0].auth.credentials_path', 1, 108, /and not empty$/]],
    ],
  ])('is reported with path, line and column: %s', (_, text, expected) => {
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
      'an unknown kind of owner',
      `api_keys: [{name: k, owner: "robot:s", value: "${aKey}"}]`,
      /must be user:EMAIL, team:ID/,
    ],
  ])('is reported: %s of an API key', (_, text, message) => {
    expect(problemsOf(text)).toEqual([
      { path: 'api_keys[0].owner', line: 1, column: 29, message: expect.stringMatching(message) },
    ]);
  });

  it('is reported: an unknown model in allowed_models, and repeated names and public ids of API keys', () => {
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
    ['models[0].routes[0].provider', 'models: [{id: m, routes: [{provider: "${K}", upstream_model: x}]}]'],
    ['users[0].team', 'users: [{email: a@example.com, name: A, team: "t-${K}"}]'],
    ['service_accounts[0].team', 'service_accounts: [{id: s, name: S, team: "${K}"}]'],
    ['api_keys[0].owner', 'api_keys: [{name: k, owner: "user:${K}@example.com", value: "${V}"}]'],
    ['api_keys[0].owner', 'api_keys: [{name: k, owner: "team:${K}", value: "${V}"}]'],
    [
      'api_keys[0].allowed_models[0]',
      'teams: [{id: t}]\napi_keys: [{name: k, owner: "team:t", value: "${V}", allowed_models: ["${K}"]}]',
    ],
  ])('is reported with a placeholder instead of its value, which may be a secret: %s', (path, text) => {
    const variables = { K: 'hunter2', V: aKey };
    const named = problemsOf(text, variables).find((each) => each.path === path);
    expect(named?.message).toMatch(/^unknown .*`[^`]*\$\{K\}[^`]*`$/);
    const known = 'providers: [{id: "${K}"}]\nteams: [{id: "${K}"}]\n';
    const near = problemsOf(
      `${known}models: [{id: m, routes: [{provider: hunter, upstream_model: x}]}]`,
      variables,
    );
    expect(JSON.stringify([named, near])).not.toContain('hunter2');
  });

  it.each([
    [`gwk_${'p'.repeat(65)}.${'s'.repeat(32)}`],
    [`gwk_public00.${'s'.repeat(31)}`],
    [`key_public00.${'s'.repeat(32)}`],
    [`gwk_public:0.${'s'.repeat(32)}`],
  ])('is reported without repeating an invalid API key: %s', (value) => {
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
  ])('is reported: %s in extra_headers', (name) => {
    const text = route(
      `        extra_headers: {${name}: x}\n`,
      '    auth: {mode: header, name: X-Own, value: v}\n',
    );
    expect(problemsOf(text)).toMatchObject([{ path: `models[0].routes[0].extra_headers.${name}`, line: 11 }]);
  });

  it('may set Authorization in a route only if the ID token is sent in another header', () => {
    const text = (header: string) =>
      `providers: [{id: p, type: cloud_run_compat, base_url: "https://h", auth: {mode: adc, auth_header: ${header}}}]\n` +
      'models: [{id: m, routes: [{provider: p, upstream_model: u, extra_headers: {Authorization: Bearer x}}]}]\n';
    expect(problemsOf(text('x_serverless_authorization'))).toEqual([]);
    expect(problemsOf(text('authorization'))).toHaveLength(1);
  });

  it('is reported with all its problems at once, in the order of the file', () => {
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
