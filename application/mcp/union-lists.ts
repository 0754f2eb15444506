import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import type { RequestMessage } from '../../domain/mcp/message.ts';
import { unionUri } from '../../domain/mcp/resource-uris.ts';
import { listedName } from '../../domain/mcp/server-message.ts';
import { isOpenTool, mayUseServer } from '../../domain/mcp/server-policy.ts';
import { unionNames } from '../../domain/mcp/tool-names.ts';
import { withoutView } from '../../domain/mcp/tool-views.ts';
import type { Digest } from '../../domain/shared/digest.ts';
import { isString, type JsonObject } from '../../domain/shared/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { McpSession, UpstreamSession } from '../ports/mcp-sessions.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';
import type { McpCall, ReadMcpCall } from './mcp-call.ts';
import type { ServeMcpPorts } from './serve-mcp.ts';
import { listAll, type ListMethod } from './server-lists.ts';
import type { ServerCall } from './union-servers.ts';

export interface ServeUnionPorts extends ServeMcpPorts {
  readonly clock: Clock;
  readonly digest: Digest;
}

/** A request of the caller in a session of the union. */
export interface UnionCall extends ReadMcpCall {
  readonly message: RequestMessage;
  /** Those of the servers. */
  readonly sessions: McpSession;
}

/** The servers that the key may use, in file order. */
export const usableServers = ({ upstreams }: ServeUnionPorts, { request }: McpCall): readonly McpServer[] =>
  upstreams.servers().filter(({ policy }) => mayUseServer(request.caller, policy));

export const serverCallOf = <M extends string>(
  { request, life }: McpCall,
  server: McpServer,
  session: UpstreamSession,
  method: M,
): Omit<ServerCall, 'params'> & { readonly method: M } => ({
  server,
  session,
  method,
  traceContext: request.telemetry.traceContext,
  signal: life.signal,
  memory: request.memory,
});

/** The same for each server of a session that the key may still use. */
export const serverCallsOf = <M extends string>(
  ports: ServeUnionPorts,
  call: McpCall,
  { upstream }: McpSession,
  method: M,
): readonly ReturnType<typeof serverCallOf<M>>[] =>
  usableServers(ports, call).flatMap((server) => {
    const session = upstream[server.id];
    return session === undefined ? [] : [serverCallOf(call, server, session, method)];
  });

/** The items of one server. */
interface ServerList {
  readonly server: McpServer;
  readonly items: readonly JsonObject[];
}

/**
 * The items of all servers, in file order, under the names of the union; a server that does not answer contributes
 * none. Left when memory for them is exhausted.
 */
export async function listedByAll(
  ports: ServeUnionPorts,
  call: UnionCall,
  method: ListMethod,
): Promise<Either<McpError, readonly JsonObject[]>> {
  const lists: ServerList[] = [];
  const answered = await Promise.all(
    serverCallsOf(ports, call, call.sessions, method).map(async (serverCall) => ({
      server: serverCall.server,
      listed: await listAll(ports, serverCall),
    })),
  );
  for (const { server, listed } of answered)
    if (E.isRight(listed)) lists.push({ server, items: listed.right });
    else if (listed.left.code === 'overloaded') return listed;
  return E.right(inUnion[method](ports, lists));
}

/** Merges the lists of servers into one. */
const inUnion: Readonly<
  Record<ListMethod, (ports: ServeUnionPorts, lists: readonly ServerList[]) => readonly JsonObject[]>
> = {
  'tools/list': (ports, lists) => {
    for (const { server, items } of lists) ports.titles.listed(server.id, items);
    return underNames(ports, lists, ({ policy }, tool) => isOpenTool(policy, tool)).map(withoutView);
  },
  'prompts/list': (ports, lists) => underNames(ports, lists, () => true),
  'resources/list': (_ports, lists) => underUris(lists, 'uri'),
  'resources/templates/list': (_ports, lists) => underUris(lists, 'uriTemplate'),
};

function underNames(
  { digest }: ServeUnionPorts,
  lists: readonly ServerList[],
  isOpen: (server: McpServer, name: string) => boolean,
): readonly JsonObject[] {
  const named = lists.flatMap(({ server, items }) =>
    items.flatMap((item) => {
      const tool = listedName(item);
      return tool === undefined || !isOpen(server, tool) ? [] : [{ item, serverId: server.id, tool }];
    }),
  );
  return [...unionNames(named, digest)].map(([name, { item }]) => ({ ...item, name }));
}

/** Each URI once, because some servers send a page of their list twice. */
function underUris(lists: readonly ServerList[], member: 'uri' | 'uriTemplate'): readonly JsonObject[] {
  const named = lists.flatMap(({ server, items }) =>
    items.flatMap((item) => {
      const own = item[member];
      const uri = isString(own) ? unionUri({ serverId: server.id, uri: own }) : undefined;
      return uri === undefined ? [] : [[uri, { ...item, [member]: uri }] as const];
    }),
  );
  return [...new Map(named).values()];
}
