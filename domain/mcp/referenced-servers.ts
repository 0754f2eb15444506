import type { Caller } from '../identity/caller.ts';
import { isObject, isString, type JsonObject } from '../shared/json.ts';
import { maxMcpNameChars } from '../shared/limits.ts';
import { policyResultOf, type ServerPolicy } from './server-policy.ts';

const between = '__';

/** Names of tools that are looked at: agents offer some hundred. */
const maxToolNames = 1024;

/**
 * Names of a request's tools that may be of an MCP server: clients write the server in front of the tool, with `__`
 * between them.
 */
export const mcpToolNames = (tools: readonly JsonObject[]): readonly string[] =>
  tools
    .map(({ name, function: called }) => name ?? (isObject(called) ? called['name'] : undefined))
    .filter(isString)
    .filter((name) => name.length <= maxMcpNameChars && name.includes(between))
    .slice(0, maxToolNames);

/** A configured server, as far as names tell it. */
export interface NamedServer {
  readonly id: string;
  readonly policy: ServerPolicy;
}

/** What a request's tools have to do with configured servers. */
export interface ReferencedServers {
  readonly serverCount: number;
  /** Tools of these servers. */
  readonly toolCount: number;
  /** Of these, those that the policy closes to the caller. */
  readonly filteredToolCount: number;
}

/**
 * The servers whose tools a request has. A name is of the server whose id is the first of its parts that is one, but for
 * the last part: `files__read`, `mcp__files__read` and `mcp__gateway__files__read` are of `files`.
 */
export function referencedServers(
  names: readonly string[],
  servers: readonly NamedServer[],
  caller: Caller,
): ReferencedServers {
  const byId = new Map(servers.map((server) => [server.id, server]));
  const found = names.flatMap((name) => {
    const parts = name.split(between);
    const at = parts.slice(0, -1).findIndex((part) => byId.has(part));
    const server = byId.get(parts[at] ?? '');
    return server === undefined ? [] : [{ server, tool: parts.slice(at + 1).join(between) }];
  });
  return {
    serverCount: new Set(found.map(({ server }) => server.id)).size,
    toolCount: found.length,
    filteredToolCount: found.filter(
      ({ server, tool }) => policyResultOf(caller, server.policy, tool) !== 'allowed',
    ).length,
  };
}
