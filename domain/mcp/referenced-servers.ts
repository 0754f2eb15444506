import type { Caller } from '../identity/caller.ts';
import { isObject, isString, type JsonObject, objectsOf } from '../shared/json.ts';
import { maxMcpNameChars } from '../shared/limits.ts';
import { utf8Bytes } from '../text/utf8.ts';
import { policyResultOf, type ServerPolicy } from './server-policy.ts';

const between = '__';

/** Maximum number of tools that are considered: agents offer some hundred. */
const maxOfferedTools = 1024;

/** A tool of a request that may belong to an MCP server. */
export interface OfferedTool {
  readonly name: string;
  /** The size of its definition as JSON without blanks, in UTF-8. */
  readonly bytes: number;
}

/**
 * The tools of a request that may belong to an MCP server: clients put the server in front of the tool's name,
 * separated by `__`.
 */
export const offeredMcpTools = (tools: readonly JsonObject[]): readonly OfferedTool[] =>
  tools
    .flatMap(namedTools)
    .filter(({ name }) => name.length <= maxMcpNameChars && name.includes(between))
    .slice(0, maxOfferedTools)
    .map(({ name, tool }) => ({
      name,
      // Computed only on demand, because most requests have no tool of a configured server.
      get bytes() {
        return utf8Bytes(JSON.stringify(tool), Number.POSITIVE_INFINITY);
      },
    }));

interface NamedTool {
  readonly name: string;
  readonly tool: JsonObject;
}

/** Tools in a namespace, of which Codex makes one for each server, are named with the namespace in front. */
function namedTools(tool: JsonObject): readonly NamedTool[] {
  const { type, name, function: called, tools } = tool;
  if (type === 'namespace' && isString(name))
    return objectsOf(tools).flatMap((inner) =>
      isString(inner['name']) ? [{ name: `${name}${between}${inner['name']}`, tool: inner }] : [],
    );
  const found = name ?? (isObject(called) ? called['name'] : undefined);
  return isString(found) ? [{ name: found, tool }] : [];
}

/** What names and policy say about a configured server. */
export interface NamedServer {
  readonly id: string;
  readonly policy: ServerPolicy;
}

/** How a request's tools relate to the configured servers. */
export interface ReferencedServers {
  readonly serverCount: number;
  /** The number of tools of these servers. */
  readonly toolCount: number;
  /** The number of these tools that the policy denies the caller. */
  readonly filteredToolCount: number;
  /** The total size of the definitions of these tools. */
  readonly toolBytes: number;
}

/**
 * The servers whose tools a request offers. A name belongs to the server whose id is the first of its parts that is a
 * server id, where the last part does not count: `files__read`, `mcp__files__read` and `mcp__gateway__files__read`
 * belong to `files`.
 */
export function referencedServers(
  tools: readonly OfferedTool[],
  servers: readonly NamedServer[],
  caller: Caller,
): ReferencedServers {
  const byId = new Map(servers.map((server) => [server.id, server]));
  const found = tools.flatMap((offered) => {
    const parts = offered.name.split(between);
    const at = parts.slice(0, -1).findIndex((part) => byId.has(part));
    const server = byId.get(parts[at] ?? '');
    return server === undefined
      ? []
      : [{ server, tool: parts.slice(at + 1).join(between), bytes: offered.bytes }];
  });
  return {
    serverCount: new Set(found.map(({ server }) => server.id)).size,
    toolCount: found.length,
    filteredToolCount: found.filter(
      ({ server, tool }) => policyResultOf(caller, server.policy, tool) !== 'allowed',
    ).length,
    toolBytes: found.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
