import { api, type ResponseData, read } from '../../api/client.ts';

export type McpServer = ResponseData<'/api/v1/admin/mcp-servers'>['items'][number];
/** A server with its answer. */
export type ServerDetail = ResponseData<'/api/v1/admin/mcp-servers/{mcp_server_id}'>;
export type McpTool = ServerDetail['tools'][number];
export type AllowedOwner = McpServer['allowed_owners'][number];

/**
 * The query for a server's health and tools. The gateway then calls the server, which may take as long as that server's
 * timeout.
 */
export const askedServer = (id: string) => ({
  queryKey: ['mcp-servers', 'asked', id],
  queryFn: ({ signal }: { readonly signal: AbortSignal }): Promise<ServerDetail> =>
    read(
      api.GET('/api/v1/admin/mcp-servers/{mcp_server_id}', {
        params: { path: { mcp_server_id: id } },
        signal,
      }),
    ),
});

/** Filters for the list of MCP calls, to show those of the last day. */
export const lastDay = (id: string) => ({ server_id: id, range: '24h' });

const authWords: Readonly<Record<string, string>> = {
  none: 'none',
  bearer: 'bearer token',
  header: 'header',
  oauth_client_credentials: 'OAuth client credentials',
};

/** How the gateway authenticates to the server. */
export const authText = ({ auth_mode: mode }: McpServer): string => authWords[mode] ?? mode;

export const transportText = ({ transport }: McpServer): string =>
  transport === 'streamable_http' ? 'Streamable HTTP' : transport;

/** “all”, “3 patterns, 1 denied”: the tools that the file allows. */
export function toolsText({ allowed_tools: allowed, denied_tools: denied }: McpServer): string {
  const open = allowed === null ? 'all' : patterns(allowed.length);
  return denied.length === 0 ? open : `${open}, ${denied.length} denied`;
}

const patterns = (count: number): string => `${count} ${count === 1 ? 'pattern' : 'patterns'}`;

/** Why a tool is open or closed. The gateway has decided; this finds the pattern in the file that it decided by. */
export function reasonOf(
  { name, open }: McpTool,
  { allowed_tools: allowed, denied_tools: denied }: McpServer,
): string {
  const match = (list: readonly string[]): string | undefined => list.find((pattern) => isOf(pattern, name));
  if (open) return allowed === null ? 'all are allowed' : `allowed by ${match(allowed)}`;
  const by = match(denied);
  return by === undefined ? 'not in allowed_tools' : `denied by ${by}`;
}

const isOf = (pattern: string, name: string): boolean =>
  pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
