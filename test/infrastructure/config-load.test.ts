import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { environment } from '../../infrastructure/config/environment.ts';
import { loadConfig } from '../../infrastructure/config/load.ts';
import { implementations } from '../../infrastructure/providers/registry.ts';
import { aKey, configOf, problemsOf, provider, route } from './config-reading.ts';

const exampleVariables = {
  DATABASE_URL: 'postgres://db.example.com/gateway',
  SMTP_PASSWORD: 'mail-password',
  OIDC_CLIENT_SECRET: 'oidc-secret',
  OPENAI_API_KEY: 'sk-1',
  MODELS_API_KEY: 'k-2',
  ROUTER_API_KEY: 'r-3',
  AWS_ACCESS_KEY_ID: 'AKIA0',
  AWS_SECRET_ACCESS_KEY: 'aws-4',
  AWS_SESSION_TOKEN: 'aws-5',
  FILES_CLIENT_SECRET: 'files-6',
  SEARCH_KEY: 's-7',
  EXPORT_SECRET: 'export-8',
  DEV_KEY: aKey,
  CI_KEY: `gwk_public01.${'t'.repeat(32)}`,
};

describe('configuration defaults', () => {
  it.each([[''], ['# nothing\n'], ['server:\nproviders:\nmodels:\nteams:\n']])(
    'replace every key that is left out (%j)',
    (text) => {
      const config = configOf(text);
      expect(config).toEqual({
        server: {
          bind: { host: '127.0.0.1', port: 8080 },
          adminBind: undefined,
          tls: undefined,
          adminTls: undefined,
          publicBaseUrl: undefined,
          workers: 1,
          bodyMaxBytes: 33_554_432,
          bodyMaxValues: 1_000_000,
          maxConnections: 16_384,
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
        database: { kind: 'embedded', dataDir: '.gateway', distribution: 'none', maxConnections: 10 },
        mail: undefined,
        mcpServers: [],
        mcpLogging: { retention: undefined },
        dataDir: '.gateway',
        adminAuth: { oidc: undefined, passwordLogin: true, requireSecondFactor: false },
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
        export: {
          endpoint: undefined,
          region: 'us-east-1',
          pathStyle: false,
          auth: { mode: 'default_chain' },
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

  it('enable all capabilities of a route and set the timeouts of a provider', () => {
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

  it('do not include `default_max_tokens` of a route', () => {
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

  it('derive names from ids, the audience from the URL, and the metrics endpoint from that of traces', () => {
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

describe('a ${NAME} placeholder', () => {
  it('is replaced anywhere in a text, and $${ becomes ${', () => {
    const text = 'teams: [{id: "a-${A}-${B}", name: "$${A} $A $$ ${B}"}]';
    expect(configOf(text, { A: 'x', B: 'y' }).teams[0]).toMatchObject({
      id: 'a-x-y',
      name: '${A} $A $$ y',
    });
  });

  it('is not replaced inside the value of a variable', () => {
    expect(configOf('teams: [{id: a, name: "${A}"}]', { A: '${B}' }).teams[0]!.name).toBe('${B}');
  });

  it('may be the value of a number or a boolean', () => {
    const text =
      'server: {workers: "${N}", otel_trace_sample_ratio: "${R}"}\nrequest_logging: {purge: {enabled: "${B}"}}';
    const config = configOf(text, { N: '3', R: '0.25', B: 'true' });
    expect(config.server).toMatchObject({ workers: 3, otel: { traceSampleRatio: 0.25 } });
    expect(config.requestLogging.purge.enabled).toBe(true);
  });

  it('is named in the problem where its variable is empty and the key needs a value', () => {
    const text = provider('    auth: {mode: bearer, token: "${TOKEN}"}\n');
    expect(problemsOf(text, { TOKEN: '' }).map(({ path, message }) => [path, message])).toEqual([
      ['providers[0].auth.token', expect.stringMatching(/: the environment variable TOKEN is empty$/)],
    ]);
    expect(problemsOf('users: [{email: a@example.com, name: "A${TOKEN}"}]', { TOKEN: '' })).toEqual([]);
  });

  it('is one problem, with key path, line and variable, when its variable is not set', () => {
    expect(problemsOf('database:\n  url: "${DATABASE_URL}"\n')).toEqual([
      {
        path: 'database.url',
        line: 2,
        column: 8,
        message: 'the environment variable DATABASE_URL is not set',
      },
    ]);
  });

  it('does not resolve to inherited properties of objects', () => {
    expect(problemsOf('teams: [{id: a, name: "${constructor}"}]')).toHaveLength(1);
  });
});

describe('the environment', () => {
  it('overrides the file', () => {
    const text = 'server: {bind: "127.0.0.1:1"}\ndatabase: {url: "postgres://file/db", max_connections: 3}';
    const config = configOf(text, { GATEWAY_BIND: '[::1]:9', DATABASE_URL: 'postgres://env/db' });
    expect(config.server.bind).toEqual({ host: '::1', port: 9 });
    expect(config.database).toEqual({
      kind: 'external',
      url: 'postgres://env/db',
      readUrl: undefined,
      distribution: 'none',
      maxConnections: 3,
    });
  });

  it('sets the data directory of the embedded database', () => {
    expect(configOf('', { GATEWAY_DATA_DIR: '/data' }).database).toMatchObject({
      kind: 'embedded',
      dataDir: '/data',
    });
  });

  it('is validated like the file, and problems do not repeat its values', () => {
    expect(problemsOf('', { GATEWAY_BIND: 'nowhere', DATABASE_URL: 'mysql://u:hunter2@h/db' })).toEqual([
      { path: 'DATABASE_URL', line: 0, column: 0, message: expect.stringContaining('postgres') },
      { path: 'GATEWAY_BIND', line: 0, column: 0, message: expect.stringContaining('host:port') },
    ]);
  });

  it('with a line break at the end of a URL is told that there must be none', () => {
    expect(problemsOf('', { DATABASE_URL: 'postgres://u:hunter2@h/db\n' })).toEqual([
      {
        path: 'DATABASE_URL',
        line: 0,
        column: 0,
        message: expect.stringContaining('without spaces or line breaks'),
      },
    ]);
  });

  it('treats an empty variable as not set', () => {
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

  it('loads when its variables are set, and its first line names its schema', async () => {
    const text = await readFile(path, 'utf8');
    expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=./gateway.schema.json');
    expect(problemsOf(text, exampleVariables)).toEqual([]);
  });

  it('has every section and every provider kind', async () => {
    const config = configOf(await readFile(path, 'utf8'), exampleVariables);
    expect(new Set(config.providers.map(({ kind }) => kind))).toEqual(new Set(Object.keys(implementations)));
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
    ['bytes that are not UTF-8', Uint8Array.of(0x61, 0xff), /not UTF-8/],
  ])('rejects %s', async (name, content, message) => {
    expect(await load(name, content)).toEqual({
      _tag: 'Left',
      left: [{ path: '', line: 0, column: 0, message: expect.stringMatching(message) }],
    });
  });
});
