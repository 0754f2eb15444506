import { describe, expect, it } from '@jest/globals';
import { databaseUrlProblems } from '../../infrastructure/config/database-urls.ts';
import { lintConfig } from '../../infrastructure/config/lint.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { isPrivateHost } from '../../infrastructure/config/private-hosts.ts';
import { plainHosts } from '../../infrastructure/postgres/hosts.ts';

/** Path and message of each warning. */
function warnings(
  text: string,
  variables: Record<string, string> = {},
): readonly (readonly [string, string])[] {
  const loaded = parseConfig(text, { TOKEN: 'a-token-of-the-test', ...variables });
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
  const knowledge = { hasPrice: () => true, canServe: () => true, plainHosts };
  return lintConfig(loaded.right, knowledge).map(({ path, message }) => [path, message]);
}

const provider = (members: string) => `providers:\n  - {id: p, ${members}}\n`;
const bearer = 'auth: {mode: bearer, token: "${TOKEN}"}';

describe('loopback and private hosts', () => {
  it.each([
    'localhost',
    'LOCALHOST',
    'localhost.',
    'a.localhost',
    '127.0.0.1',
    '127.8.8.8',
    '[::1]',
    '::1',
    '::ffff:127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    'fd00::1',
    'fe80::1',
    'postgres',
    'gateway-db',
    'db.svc.cluster.local',
    'db.ns.svc',
    'metadata.google.internal',
    'nas.lan',
    'nas.home.arpa',
  ])('include %s', (host) => {
    expect(isPrivateHost(host)).toBe(true);
  });

  it.each([
    '0.0.0.0',
    '0',
    '0x0',
    '134744072',
    '::',
    '8.8.8.8',
    '172.15.0.1',
    '172.32.0.1',
    '192.169.0.1',
    '100.128.0.1',
    '2001:db8::1',
    '::ffff:8.8.8.8',
    'example.com',
    'localhost.example.com',
    'internal.example.com',
    '10.example.com',
    'example.com.',
  ])('do not include %s', (host) => {
    expect(isPrivateHost(host)).toBe(false);
  });
});

describe('tokens over http:// to a public host', () => {
  it.each([
    ['compat, bearer', `type: compat, base_url: "http://h.example.com/v1", ${bearer}`, 'base_url'],
    [
      'compat, a header',
      'type: compat, base_url: "http://203.0.113.5/v1", auth: {mode: header, name: api-key, value: "${TOKEN}"}',
      'base_url',
    ],
    [
      'compat, a default header',
      'type: compat, base_url: "http://h.example.com", default_headers: {X-Api-Key: "${TOKEN}"}',
      'base_url',
    ],
    [
      'cloud_run_compat',
      'type: cloud_run_compat, base_url: "http://h.example.com", auth: {mode: adc, audience: "https://h.example.com"}',
      'base_url',
    ],
    [
      'cloud_a_platform',
      'type: cloud_a_platform, project_id: my-project, api_host: "http://h.example.com"',
      'api_host',
    ],
    [
      'cloud_b_platform, runtime',
      'type: cloud_b_platform, region: us-east-1, runtime_endpoint_url: "http://h.example.com"',
      'runtime_endpoint_url',
    ],
    [
      'cloud_b_platform, endpointb',
      'type: cloud_b_platform, region: us-east-1, endpointb_endpoint_url: "http://h.example.com"',
      'endpointb_endpoint_url',
    ],
  ])('are reported: %s', (_, members, key) => {
    expect(warnings(provider(members))).toEqual([
      [
        `providers[0].${key}`,
        expect.stringMatching(/^sends .* over http:\/\/ to a host that is neither loopback nor private/),
      ],
    ]);
  });

  it('are reported where a route adds them as extra_headers', () => {
    const text = `${provider('type: compat, base_url: "http://h.example.com"')}models:
  - id: m
    routes: [{provider: p, upstream_model: u, extra_headers: {X-Corp-Token: "\${TOKEN}", X-Note: n}}]
`;
    expect(warnings(text)).toEqual([
      ['models[0].routes[0].extra_headers.X-Corp-Token', expect.stringMatching(/^is sent over http:\/\//)],
    ]);
  });

  it.each([
    ['http://s.example.com', ['export.endpoint']],
    ['http://minio:9000', []],
    ['https://s.example.com', []],
  ])('are reported for the object storage of the export: %s', (endpoint, keys) => {
    expect(warnings(`export: {endpoint: "${endpoint}"}`)).toEqual(
      keys.map((key) => [key, expect.stringMatching(/^sends what is exported over http:\/\//)]),
    );
  });

  it.each([
    ['both signals', 'otel_endpoint: "http://o.example.com"', ['otel_endpoint']],
    ['metrics alone', 'otel_metrics_endpoint: "http://o.example.com"', ['otel_metrics_endpoint']],
    [
      'metrics elsewhere',
      'otel_endpoint: "http://o.example.com", otel_metrics_endpoint: "http://m.example.com"',
      ['otel_endpoint', 'otel_metrics_endpoint'],
    ],
    ['loopback', 'otel_endpoint: "http://127.0.0.1:4318"', []],
    ['https', 'otel_endpoint: "https://o.example.com"', []],
  ])('are reported for an OTLP collector: %s', (_, endpoints, keys) => {
    const text = `server: {${endpoints}, otel_headers: {authorization: "\${TOKEN}", x-note: n}}`;
    expect(warnings(text)).toEqual(
      keys.map((key) => [`server.${key}`, expect.stringMatching(/^sends authorization over http:\/\//)]),
    );
  });

  it.each([
    ['https', `type: compat, base_url: "https://h.example.com/v1", ${bearer}`],
    ['loopback', `type: compat, base_url: "http://127.0.0.1:9/v1", ${bearer}`],
    ['a private address', `type: compat, base_url: "http://10.0.0.5/v1", ${bearer}`],
    ['a private name', `type: compat, base_url: "http://vllm.models.svc/v1", ${bearer}`],
    ['no token', 'type: compat, base_url: "http://h.example.com", default_headers: {X-Note: n}'],
    ['a host without a scheme', 'type: cloud_a_platform, project_id: my-project, api_host: h.example.com'],
    ['the platform’s own hosts', 'type: cloud_b_platform, region: us-east-1'],
  ])('are not reported for %s', (_, members) => {
    expect(warnings(provider(members))).toEqual([]);
  });
});

describe('PostgreSQL without TLS', () => {
  const message =
    'leads to PostgreSQL without TLS, on a host that is neither loopback nor private: add sslmode=verify-full';

  it.each([
    'postgres://u:${TOKEN}@db.example.com/g',
    'postgresql://u@203.0.113.5:5432/g?sslmode=disable',
    'postgres://u@localhost/g?host=db.example.com',
  ])('is reported: %s', (url) => {
    expect(warnings(`database: {url: "${url}"}\n`)).toEqual([['database.url', message]]);
  });

  it('is reported for DATABASE_URL', () => {
    expect(
      warnings('teams: [{ id: t, name: T }]', { DATABASE_URL: 'postgres://u@db.example.com/g' }),
    ).toEqual([['DATABASE_URL', message]]);
  });

  it.each([
    'postgres://u@db.example.com/g?sslmode=verify-full',
    'postgres://u@db.example.com/g?sslmode=require',
    'postgres://u@db.example.com/g?sslrootcert=/ca.pem',
    'postgres://u@127.0.0.1/g',
    'postgres://u@[::1]:5432/g',
    'postgres://u@localhost/g',
    'postgres://u@10.0.0.7/g',
    'postgres://u@postgres:5432/g',
    'postgres://u@db.internal/g',
    'postgres:///g?host=/var/run/postgresql',
    'postgres://u@%2Fvar%2Frun%2Fpostgresql/g',
  ])('is not reported: %s', (url) => {
    expect(warnings(`database: {url: "${url}"}\n`)).toEqual([]);
  });

  it.each([
    [
      'prefer',
      'sslmode=prefer',
      /sslmode must be one of disable, no-verify, require, verify-ca, verify-full/,
    ],
    ['ssl', 'ssl=true', /`ssl` is not read: use `sslmode=verify-full`/],
    ['sslmod', 'sslmod=verify-full', /`sslmod` is not read: use `sslmode=verify-full`/],
    ['tls', 'TLS=on', /`TLS` is not read: use `sslmode=verify-full`/],
    ['half a certificate', 'sslmode=verify-full&sslcert=/c.pem', /sslcert and sslkey go together/],
    ['verify-ca without sslrootcert', 'sslmode=verify-ca', /verify-ca needs sslrootcert/],
    [
      'target_session_attrs',
      'target_session_attrs=foo',
      /target_session_attrs must be one of any, read-write/,
    ],
  ])('is not reported, but an error, where the URL cannot be used: %s', (_, query, what) => {
    const url = `postgres://u@127.0.0.1/g?${query}`;
    const problems = (text: string, variables: Record<string, string> = {}) => {
      const loaded = parseConfig(text, variables);
      if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left));
      return databaseUrlProblems(loaded.right, plainHosts).map(({ path, message: why }) => [path, why]);
    };
    const why = expect.stringMatching(what);
    const own = `database: {url: "${url}"}\n`;
    expect(problems(own)).toEqual([['database.url', why]]);
    expect(problems('teams: [{ id: t, name: T }]', { DATABASE_URL: url })).toEqual([['DATABASE_URL', why]]);
    expect(problems(`database: {url: "postgres://u@127.0.0.1/g", read_url: "${url}"}\n`)).toEqual([
      ['database.read_url', why],
    ]);
    expect(warnings(own)).toEqual([]);
  });

  it('is not reported for the embedded database', () => {
    expect(warnings('teams: [{ id: t, name: T }]')).toEqual([]);
  });
});

describe('an SMTP password without TLS', () => {
  const mail = (members: string) => `mail: {from: a@example.com, smtp: {${members}}}\n`;
  const login = 'username: u, password: "${TOKEN}"';

  it('is reported', () => {
    expect(warnings(mail(`host: smtp.example.com, port: 25, starttls: false, ${login}`))).toEqual([
      [
        'mail.smtp.starttls',
        'is false: the password is sent without TLS to a host that is neither loopback nor private',
      ],
    ]);
  });

  it.each([
    ['with starttls', `host: smtp.example.com, ${login}`],
    ['on port 465', `host: smtp.example.com, port: 465, starttls: false, ${login}`],
    ['on loopback', `host: 127.0.0.1, starttls: false, ${login}`],
    ['on a private host', `host: mailhog, starttls: false, ${login}`],
    ['without a password', 'host: smtp.example.com, starttls: false'],
  ])('is not reported %s', (_, members) => {
    expect(warnings(mail(members))).toEqual([]);
  });
});

describe('a publicly reachable listener without TLS and without an https public_base_url', () => {
  const server = (bind: string, url?: string) =>
    `server: {bind: "${bind}"${url === undefined ? '' : `, public_base_url: "${url}"`}}\n`;

  it.each([
    ['0.0.0.0:8080', undefined],
    ['0:8080', undefined],
    ['[::]:8080', undefined],
    ['203.0.113.5:80', undefined],
    ['0.0.0.0:8080', 'http://gateway.example.com'],
  ])('is reported: %s and %s', (bind, url) => {
    expect(warnings(server(bind, url))).toEqual([
      [
        'server.bind',
        expect.stringMatching(/which others can reach, but it has no tls and public_base_url is not https/),
      ],
    ]);
  });

  it('is reported for GATEWAY_BIND', () => {
    expect(
      warnings('teams: [{ id: t, name: T }]', { GATEWAY_BIND: '0.0.0.0:8080' }).map(([path]) => path),
    ).toEqual(['GATEWAY_BIND']);
  });

  it.each([
    ['127.0.0.1:8080', undefined],
    ['[::1]:8080', undefined],
    ['localhost:8080', undefined],
    ['10.0.0.5:8080', undefined],
    ['0.0.0.0:8080', 'https://gateway.example.com'],
    ['0.0.0.0:8080', 'http://127.0.0.1:8080'],
    ['0.0.0.0:8080', 'http://gateway.internal'],
  ])('is not reported: %s and %s', (bind, url) => {
    expect(warnings(server(bind, url))).toEqual([]);
  });
});

describe('a listener for admins, and TLS', () => {
  const files = '{cert_file: /c, key_file: /k}';
  it.each([
    ['admin_bind without TLS', 'admin_bind: "0.0.0.0:8443"', ['server.admin_bind']],
    ['admin_bind with admin_tls', `admin_bind: "0.0.0.0:8443", admin_tls: ${files}`, []],
    ['admin_bind with the tls of bind', `bind: "0.0.0.0:443", admin_bind: "0.0.0.0:8443", tls: ${files}`, []],
    [
      'bind without tls beside admin_tls',
      `bind: "0.0.0.0:80", admin_bind: "10.0.0.1:1", admin_tls: ${files}`,
      ['server.bind'],
    ],
  ])('is reported where its traffic is plain: %s', (_, members, paths) => {
    expect(warnings(`server: {${members}}\n`).map(([path]) => path)).toEqual(paths);
  });
});

describe('an MCP server without TLS', () => {
  const server = (members: string) => `mcp_servers:\n  - {id: s, ${members}}\n`;
  const client =
    'mode: oauth_client_credentials, client_id: c, client_secret: "${TOKEN}", token_url: "http://l.example.com/t"';
  it.each([
    ['with a token', server(`url: "http://s.example.com/mcp", ${bearer}`), ['mcp_servers[0].url']],
    ['without credentials', server('url: "http://s.example.com/mcp"'), []],
    ['https', server(`url: "https://s.example.com/mcp", ${bearer}`), []],
    ['loopback', server(`url: "http://127.0.0.1/mcp", ${bearer}`), []],
    [
      'with a client secret',
      server(`url: "https://s.example.com/mcp", auth: {${client}}`),
      ['mcp_servers[0].auth.token_url'],
    ],
  ])('is reported if it gets credentials on a public host: %s', (_what, text, paths) => {
    expect(warnings(text).map(([path]) => path)).toEqual(paths);
  });
});
