import type { AllowedOwner, ServerPolicy } from '../../domain/mcp/server-policy.ts';
import { invocationRetentions } from '../../domain/request-log/retention.ts';
import { maxMcpNameChars, maxMcpRequestBytes } from '../../domain/shared/limits.ts';
import { bearerToken, displayName, httpUrl } from './formats.ts';
import { list, object, optional, required, tagged, withDefault } from './object-codecs.ts';
import { parseOwner } from './owner-config.ts';
import { headerName, headerSecret } from './provider-auth.ts';
import { choice, integer, text, type TypeOf } from './scalar-codecs.ts';

/** The id precedes the names of the server's tools, followed by `__`. As it has no `_`, its end is always clear. */
const mcpServerId = text({
  what: 'a server id: lower-case letters, digits and -, starting with a letter or digit',
  maxLength: 32,
  pattern: /^[a-z0-9][a-z0-9-]*$/,
});

const authCodec = tagged('mode', 'How the gateway authenticates itself.', {
  none: {},
  bearer: { token: required(bearerToken, 'The token, as ${NAME}.') },
  header: {
    name: required(headerName, 'Header that carries the credential.'),
    value: required(headerSecret, 'Value of that header, as ${NAME}.'),
  },
  oauth_client_credentials: {
    token_url: required(httpUrl, 'Where the gateway obtains its access token (RFC 6749, 4.4).'),
    client_id: required(
      text({ what: 'a client id (printable ASCII)', maxLength: 512, pattern: /^[\x21-\x7e]+$/ }),
      'Client id of this gateway at the token endpoint.',
    ),
    client_secret: required(bearerToken, 'Client secret, as ${NAME}.'),
    scope: optional(
      text({
        what: 'scopes separated by spaces',
        maxLength: 1024,
        pattern: /^[\x21\x23-\x5b\x5d-\x7e ]+$/,
      }),
      'Scopes to request.',
    ),
  },
});

const everyone = '*';

const ownerForms = 'user:EMAIL, team:ID, service_account:ID, or * for every key';

const allowedOwner = text({
  what: ownerForms,
  maxLength: 300,
  refuse: (value) =>
    value === everyone || parseOwner(value) !== undefined ? undefined : `must be ${ownerForms}`,
});

const toolPattern = text({
  what: "a tool's name; a trailing * stands for any suffix",
  maxLength: maxMcpNameChars,
  pattern: /^[^*\s]*\*?$/,
});

export const mcpServerCodec = object({
  id: required(mcpServerId, 'Name of the server in URLs, tool names and records.'),
  display_name: optional(displayName, 'Display name; the id unless set.'),
  url: required(httpUrl, 'The MCP endpoint of the server.'),
  transport: withDefault(
    choice(['streamable_http']),
    'streamable_http',
    'Transport over which the server is called.',
  ),
  auth: withDefault(authCodec, { mode: 'none' }, 'How the gateway authenticates itself.'),
  allowed_owners: withDefault(
    list(allowedOwner, 10_000),
    [everyone],
    'Owners whose keys may use it: user:EMAIL, team:ID (with its members and service accounts), service_account:ID, or *.',
  ),
  allowed_tools: optional(
    list(toolPattern, 1000),
    'Tools that may be used, by name or by prefix and *; all of them unless set.',
  ),
  denied_tools: withDefault(
    list(toolPattern, 1000),
    [],
    'Tools that may not be used, even if allowed_tools names them.',
  ),
  timeout_ms: withDefault(
    integer({ min: 1, max: 3_600_000, unit: 'ms' }),
    60_000,
    'Timeout for the whole answer to one request, in ms.',
  ),
  max_result_bytes: withDefault(
    integer({ min: 1024, max: maxMcpRequestBytes, unit: 'bytes' }),
    1_048_576,
    'Largest accepted message of the server, in bytes.',
  ),
});

export const mcpLoggingCodec = object({
  retention: optional(
    choice(invocationRetentions),
    'Age at which records of MCP tool calls are deleted, once a day; they are kept unless it is set.',
  ),
});

/** How the gateway authenticates itself to a server. */
export type McpAuth =
  | { readonly mode: 'none' }
  | { readonly mode: 'bearer'; readonly token: string }
  | { readonly mode: 'header'; readonly name: string; readonly value: string }
  | {
      readonly mode: 'oauth_client_credentials';
      readonly tokenUrl: string;
      readonly clientId: string;
      readonly clientSecret: string;
      readonly scope: string | undefined;
    };

export interface McpServerConfig {
  readonly id: string;
  readonly displayName: string;
  readonly url: string;
  readonly auth: McpAuth;
  readonly policy: ServerPolicy;
  readonly timeoutMs: number;
  readonly maxResultBytes: number;
}

export interface McpLoggingConfig {
  /** `undefined` when records are kept. */
  readonly retention: (typeof invocationRetentions)[number] | undefined;
}

type McpServerWire = TypeOf<typeof mcpServerCodec>;

export const toMcpServer = (wire: McpServerWire): McpServerConfig => ({
  id: wire.id,
  displayName: wire.display_name ?? wire.id,
  url: wire.url,
  auth: toAuth(wire.auth),
  policy: {
    allowedOwners: wire.allowed_owners.flatMap(toAllowedOwner),
    allowedTools: wire.allowed_tools,
    deniedTools: wire.denied_tools,
  },
  timeoutMs: wire.timeout_ms,
  maxResultBytes: wire.max_result_bytes,
});

const toAuth = (wire: McpServerWire['auth']): McpAuth =>
  wire.mode === 'oauth_client_credentials'
    ? {
        mode: wire.mode,
        tokenUrl: wire.token_url,
        clientId: wire.client_id,
        clientSecret: wire.client_secret,
        scope: wire.scope,
      }
    : wire;

/** The codec has checked that it is one of these. */
function toAllowedOwner(owner: string): readonly AllowedOwner[] {
  if (owner === everyone) return [{ kind: 'everyone' }];
  const parsed = parseOwner(owner);
  return parsed === undefined ? [] : [parsed];
}
