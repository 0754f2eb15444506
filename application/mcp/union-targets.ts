import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { readUnionUri } from '../../domain/mcp/resource-uris.ts';
import { listedName } from '../../domain/mcp/server-message.ts';
import { readUnionName, unionName } from '../../domain/mcp/tool-names.ts';
import { isObject, isString, type Json, type JsonObject, membersOf } from '../../domain/shared/json.ts';
import { namedKey } from '../../domain/shared/named-key.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';
import { serverCallOf, type ServeUnionPorts, type UnionCall, usableServers } from './union-lists.ts';
import { listAll } from './server-lists.ts';

/** The one server that a message to the union is for. */
export interface UnionTarget {
  readonly server: McpServer;
  /** The members of `params` by which the server knows what the message is about. */
  readonly params: JsonObject;
}

type Found = Promise<Either<McpError, UnionTarget>>;

/** Finds the target of a message to the union, by method. Left when the name or URI does not exist for this key. */
export const targets: Readonly<Record<string, (ports: ServeUnionPorts, call: UnionCall) => Found>> = {
  'tools/call': (ports, call) => byName(ports, call, 'tools/list', call.message.params['name']),
  'prompts/get': (ports, call) => byName(ports, call, 'prompts/list', call.message.params['name']),
  'resources/read': async (ports, call) => byUri(ports, call, call.message.params['uri']),
  'completion/complete': completed,
};

/** Completes an argument of a prompt, or of a resource template. */
async function completed(ports: ServeUnionPorts, call: UnionCall): Found {
  const { ref } = call.message.params;
  const { type, name, uri } = membersOf(ref);
  const found =
    type === 'ref/resource' ? byUri(ports, call, uri) : await byName(ports, call, 'prompts/list', name);
  return E.isLeft(found) || !isObject(ref)
    ? found
    : E.right({ server: found.right.server, params: { ref: { ...ref, ...found.right.params } } });
}

function byUri(
  ports: ServeUnionPorts,
  call: UnionCall,
  uri: Json | undefined,
): Either<McpError, UnionTarget> {
  const read = isString(uri) ? readUnionUri(uri) : undefined;
  const server = usableServers(ports, call).find(({ id }) => id === read?.serverId);
  return read === undefined || server === undefined
    ? E.left({ code: 'unknown_resource', message: 'There is no resource of this URI.' })
    : E.right({ server, params: { uri: read.uri } });
}

async function byName(
  ports: ServeUnionPorts,
  call: UnionCall,
  list: 'tools/list' | 'prompts/list',
  name: Json | undefined,
): Found {
  const read = isString(name) ? readUnionName(name) : undefined;
  const server = usableServers(ports, call).find(({ id }) => id === read?.serverId);
  if (!isString(name) || read === undefined || server === undefined) return nothingNamed(name);
  if (read.tool !== undefined) return E.right({ server, params: { name: read.tool } });
  const own = await cutName(ports, call, server, list, name);
  if (E.isLeft(own)) return own;
  return own.right === undefined ? nothingNamed(name) : E.right({ server, params: { name: own.right } });
}

const nothingNamed = (name: Json | undefined): Either<McpError, never> =>
  E.left({
    code: 'unknown_tool',
    message: isString(name)
      ? `There is nothing of the name \`${namedKey(name)}\`.`
      : 'The message names nothing.',
  });

/** Looks a shortened name up in the server's list, which works on every replica; `undefined` when it is not there. */
async function cutName(
  ports: ServeUnionPorts,
  call: UnionCall,
  server: McpServer,
  list: 'tools/list' | 'prompts/list',
  name: string,
): Promise<Either<McpError, string | undefined>> {
  const upstream = call.sessions.upstream[server.id];
  if (upstream === undefined) return E.right(undefined);
  return pipe(
    await listAll(ports, serverCallOf(call, server, upstream, list)),
    E.map((items) =>
      items
        .map(listedName)
        .find(
          (tool) => tool !== undefined && unionName({ serverId: server.id, tool }, ports.digest) === name,
        ),
    ),
  );
}
