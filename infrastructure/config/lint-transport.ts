import * as E from 'fp-ts/lib/Either.js';
import { isSecretHeader } from '../../domain/payload/secret-headers.ts';
import type { GatewayConfig } from './config.ts';
import { databaseUrls, type PlainDatabaseHosts } from './database-urls.ts';
import type { McpServerConfig } from './mcp-config.ts';
import { isForeignPlainHttp, isPrivateHost } from './private-hosts.ts';
import { type Finding, finding } from './problem.ts';
import type { ProviderConfig } from './provider-config.ts';
import { implicitTlsPort } from './server-config.ts';

/**
 * Data that crosses other people's networks unencrypted: tokens, rows, passwords. Loopback and private hosts are
 * exempt.
 */
export const transportFindings = (
  config: GatewayConfig,
  plainHosts: PlainDatabaseHosts,
): readonly Finding[] => [
  ...config.providers.flatMap(plainTokens),
  ...plainRouteTokens(config),
  ...config.mcpServers.flatMap(plainMcpCredentials),
  ...plainDatabase(config, plainHosts),
  ...plainMailPassword(config),
  ...plainStorage(config),
  ...plainListeners(config),
];

export const overPlainHttp = 'over http:// to a host that is neither loopback nor private: use https://';

function plainTokens(provider: ProviderConfig, index: number): readonly Finding[] {
  const headers = Object.keys(provider.defaultHeaders).filter(isSecretHeader);
  const sent = provider.auth.mode === 'none' ? headers : ['its credentials', ...headers];
  return sent.length === 0
    ? []
    : plainUrlsOf(provider).map((key) =>
        finding(['providers', index, key], `sends ${sent.join(', ')} ${overPlainHttp}`),
      );
}

function plainMcpCredentials({ url, auth }: McpServerConfig, index: number): readonly Finding[] {
  if (auth.mode === 'none') return [];
  const at = ['mcp_servers', index];
  return [
    ...(isForeignPlainHttp(url) ? [finding([...at, 'url'], `sends its credentials ${overPlainHttp}`)] : []),
    ...(auth.mode === 'oauth_client_credentials' && isForeignPlainHttp(auth.tokenUrl)
      ? [finding([...at, 'auth', 'token_url'], `sends the client secret ${overPlainHttp}`)]
      : []),
  ];
}

const plainRouteTokens = ({ providers, models }: GatewayConfig): readonly Finding[] => {
  const plain = new Set(providers.filter((each) => plainUrlsOf(each).length > 0).map(({ id }) => id));
  return models.flatMap(({ routes }, model) =>
    routes.flatMap(({ provider, extraHeaders }, route) =>
      Object.keys(plain.has(provider) ? extraHeaders : {})
        .filter(isSecretHeader)
        .map((name) =>
          finding(
            ['models', model, 'routes', route, 'extra_headers', name],
            `is sent ${overPlainHttp} in the provider ${provider}`,
          ),
        ),
    ),
  );
};

/** The keys of a provider whose URLs cross other people's networks unencrypted. */
const plainUrlsOf = (provider: ProviderConfig): readonly string[] =>
  urlsOf(provider).flatMap(([key, url]) =>
    url !== undefined && /^http:/i.test(url) && isForeignPlainHttp(url) ? [key] : [],
  );

function urlsOf(provider: ProviderConfig): readonly (readonly [key: string, url: string | undefined])[] {
  switch (provider.kind) {
    case 'compat':
    case 'cloud_run_compat':
      return [['base_url', provider.baseUrl]];
    case 'cloud_a_platform':
      return [['api_host', provider.apiHost]];
    case 'cloud_b_platform':
      return [
        ['runtime_endpoint_url', provider.runtimeEndpointUrl],
        ['endpointb_endpoint_url', provider.endpointbEndpointUrl],
      ];
  }
}

/** A URL that cannot be used at all is an error, and reported as one (`databaseUrlProblems`). */
const plainDatabase = ({ database }: GatewayConfig, plainHosts: PlainDatabaseHosts): readonly Finding[] =>
  databaseUrls(database).flatMap(([key, url]) => {
    const hosts = plainHosts(url);
    return E.isLeft(hosts) || hosts.right.every(isPrivateHost)
      ? []
      : [
          finding(
            ['database', key],
            'leads to PostgreSQL without TLS, on a host that is neither loopback nor private: add sslmode=verify-full',
          ),
        ];
  });

function plainMailPassword({ mail }: GatewayConfig): readonly Finding[] {
  if (mail?.smtp.credentials === undefined) return [];
  const { host, port, starttls } = mail.smtp;
  return starttls || port === implicitTlsPort || isPrivateHost(host)
    ? []
    : [
        finding(
          ['mail', 'smtp', 'starttls'],
          'is false: the password is sent without TLS to a host that is neither loopback nor private',
        ),
      ];
}

/** A signature reveals no secret, but whole logs and the ledger are sent there. */
const plainStorage = ({ export: { endpoint } }: GatewayConfig): readonly Finding[] =>
  endpoint !== undefined && isForeignPlainHttp(endpoint)
    ? [finding(['export', 'endpoint'], `sends what is exported ${overPlainHttp}`)]
    : [];

/** The listeners receive the passwords of admins and the keys of callers. */
function plainListeners({ server }: GatewayConfig): readonly Finding[] {
  const { bind, adminBind, publicBaseUrl, tls, adminTls } = server;
  const url = publicBaseUrl === undefined ? undefined : new URL(publicBaseUrl);
  if (url !== undefined && (url.protocol === 'https:' || isPrivateHost(url.hostname))) return [];
  const listeners = [
    { key: 'bind', at: bind, own: tls },
    { key: 'admin_bind', at: adminBind, own: adminTls ?? tls },
  ];
  return listeners.flatMap(({ key, at, own }) =>
    at === undefined || own !== undefined || isPrivateHost(at.host)
      ? []
      : [
          finding(
            ['server', key],
            `is ${at.host}, which others can reach, but it has no tls and public_base_url is not https: keys, passwords and cookies may be sent unencrypted`,
          ),
        ],
  );
}
