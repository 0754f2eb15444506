import * as E from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { InspectedTool, Inspection } from '../../../application/mcp/inspect-server.ts';
import type { McpServer } from '../../../application/ports/mcp-upstreams.ts';
import type { AllowedOwner } from '../../../domain/mcp/server-policy.ts';
import { arrayOf, choiceValue, countValue, flagValue, objectOf, orNull, textValue } from '../answers.ts';
import { type AdminRoute, adminRoute, listRoute, notFound } from './admin-route.ts';

/** A configured server as shown to admins, without credentials. */
export interface ShownMcpServer extends McpServer {
  /** As written in the file, with its placeholders: hosted servers have keys in their paths. */
  readonly writtenUrl: string;
  readonly auth: { readonly mode: string };
  readonly timeoutMs: number;
  readonly maxResultBytes: number;
}

export interface McpServerRoutePorts {
  readonly mcpServers: () => readonly ShownMcpServer[];
  readonly inspectMcpServer: (server: McpServer) => Promise<Inspection>;
}

const owner = objectOf({
  owner_kind: choiceValue(['everyone', 'user', 'team', 'service_account']),
  /** For a user, the e-mail address. */
  owner: orNull(textValue),
});

const serverMembers = {
  server_id: textValue,
  display_name: textValue,
  url: textValue,
  transport: textValue,
  auth_mode: textValue,
  allowed_owners: arrayOf(owner),
  allowed_tools: orNull(arrayOf(textValue)),
  denied_tools: arrayOf(textValue),
  timeout_ms: countValue,
  max_result_bytes: countValue,
};

const tool = objectOf({
  name: textValue,
  title: orNull(textValue),
  union_name: textValue,
  open: flagValue,
});

const listed = objectOf(serverMembers);
const detailed = objectOf({
  ...serverMembers,
  healthy: flagValue,
  error_code: orNull(textValue),
  error_message: orNull(textValue),
  latency_ms: countValue,
  protocol_version: orNull(textValue),
  tools: arrayOf(tool),
});

const root = '/api/v1/admin/mcp-servers';

/** The MCP servers in this process's configuration, and one of them with its current health and tools. */
export const mcpServerRoutes = ({
  mcpServers,
  inspectMcpServer,
}: McpServerRoutePorts): readonly AdminRoute[] => [
  listRoute({
    path: root,
    summary: 'MCP servers, in the order of the file.',
    query: {},
    item: listed,
    find: async (_asked, { page, pageSize }) => {
      const all = mcpServers();
      const items = all.slice((page - 1) * pageSize, page * pageSize);
      return E.right({ items, total: all.length, totalIsLowerBound: false });
    },
    present: presentServer,
  }),
  adminRoute({
    method: 'GET',
    path: `${root}/:mcp_server_id`,
    summary: 'One MCP server, its health and its tools, which this call asks it for.',
    answer: detailed,
    errors: ['not_found'],
    handle: async ({ params }) => {
      const found = mcpServers().find(({ id }) => id === params['mcp_server_id']);
      if (found === undefined) return E.left(notFound('MCP server', 'mcp_server_id'));
      const { error, latencyMs, revision, tools } = await inspectMcpServer(found);
      return E.right({
        ...presentServer(found),
        healthy: error === undefined,
        error_code: error?.code ?? null,
        error_message: error?.message ?? null,
        latency_ms: latencyMs,
        protocol_version: revision ?? null,
        tools: tools.map(presentTool),
      });
    },
  }),
];

const presentServer = (server: ShownMcpServer): t.TypeOf<typeof listed> => ({
  server_id: server.id,
  display_name: server.displayName,
  url: server.writtenUrl,
  transport: 'streamable_http',
  auth_mode: server.auth.mode,
  allowed_owners: server.policy.allowedOwners.map(presentOwner),
  allowed_tools: server.policy.allowedTools ?? null,
  denied_tools: server.policy.deniedTools,
  timeout_ms: server.timeoutMs,
  max_result_bytes: server.maxResultBytes,
});

function presentOwner(allowed: AllowedOwner): t.TypeOf<typeof owner> {
  if (allowed.kind === 'everyone') return { owner_kind: allowed.kind, owner: null };
  return { owner_kind: allowed.kind, owner: allowed.kind === 'user' ? allowed.email : allowed.id };
}

const presentTool = ({ name, title, unionName, isOpen }: InspectedTool): t.TypeOf<typeof tool> => ({
  name,
  title: title ?? null,
  union_name: unionName,
  open: isOpen,
});
