import * as E from 'fp-ts/lib/Either.js';
import type { McpMessage } from '../../domain/mcp/message.ts';
import { listedToolName } from '../../domain/mcp/server-message.ts';
import { isOpenTool, mayUseServer } from '../../domain/mcp/server-policy.ts';
import { readUnionName, unionName, unionNames } from '../../domain/mcp/tool-names.ts';
import type { Digest } from '../../domain/shared/digest.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { Clock } from '../ports/clock.ts';
import type { McpSession, UpstreamSession } from '../ports/mcp-sessions.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';
import type { McpCall } from './mcp-call.ts';
import type { ServeMcpPorts } from './serve-mcp.ts';
import { listAll, type UnionAsk } from './union-servers.ts';

export interface ServeUnionPorts extends ServeMcpPorts {
  readonly clock: Clock;
  readonly digest: Digest;
}

export type UnionRequest = Extract<McpMessage, { readonly kind: 'request' }>;

/** What is under way for one message of the caller. */
export interface UnionTurn {
  readonly call: McpCall;
  readonly message: UnionRequest;
  readonly session: McpSession;
}

/** The servers that the key may use, in the file's order. */
export const usableServers = ({ upstreams }: ServeUnionPorts, { request }: McpCall): readonly McpServer[] =>
  upstreams.servers().filter(({ policy }) => mayUseServer(request.caller, policy));

export const askOf = (
  { request, abort }: McpCall,
  server: McpServer,
  session: UpstreamSession,
  method: string,
): Omit<UnionAsk, 'params'> => ({
  server,
  session,
  method,
  traceContext: request.telemetry.traceContext,
  signal: abort.signal,
});

/** The same for each server of a session that the key may use still. */
export const asksOf = (
  ports: ServeUnionPorts,
  call: McpCall,
  { upstream }: McpSession,
  method: string,
): readonly Omit<UnionAsk, 'params'>[] =>
  usableServers(ports, call).flatMap((server) => {
    const session = upstream[server.id];
    return session === undefined ? [] : [askOf(call, server, session, method)];
  });

type Listed = 'tools' | 'prompts';

/** What all servers have, in the file's order, under names of the union; a server that does not answer has nothing. */
export async function listedByAll(
  ports: ServeUnionPorts,
  { call, session }: UnionTurn,
  member: Listed,
): Promise<readonly JsonObject[]> {
  const lists = await Promise.all(
    asksOf(ports, call, session, `${member}/list`).map(async (ask) => {
      const all = await listAll(ports, ask, member);
      const items = E.isRight(all) ? all.right : [];
      if (member === 'tools') ports.titles.listed(ask.server.id, items);
      return items.flatMap((item) => {
        const tool = listedToolName(item);
        return tool === undefined || (member === 'tools' && !isOpenTool(ask.server.policy, tool))
          ? []
          : [{ item, serverId: ask.server.id, tool }];
      });
    }),
  );
  return [...unionNames(lists.flat(), ports.digest)].map(([name, { item }]) => ({ ...item, name }));
}

/** What a name of the union stands for. One that was cut is looked for in the server's list, on whichever replica. */
export async function resolvedName(
  ports: ServeUnionPorts,
  { call, message, session }: UnionTurn,
  name: string,
): Promise<{ readonly server: McpServer; readonly tool: string } | undefined> {
  const read = readUnionName(name);
  const server = usableServers(ports, call).find(({ id }) => id === read?.serverId);
  if (read === undefined || server === undefined) return undefined;
  if (read.tool !== undefined) return { server, tool: read.tool };
  const upstream = session.upstream[server.id];
  if (upstream === undefined) return undefined;
  const member = message.method === 'prompts/get' ? 'prompts' : 'tools';
  const items = await listAll(ports, askOf(call, server, upstream, `${member}/list`), member);
  if (E.isLeft(items)) return undefined;
  const tool = items.right
    .map(listedToolName)
    .find(
      (each) => each !== undefined && unionName({ serverId: server.id, tool: each }, ports.digest) === name,
    );
  return tool === undefined ? undefined : { server, tool };
}
