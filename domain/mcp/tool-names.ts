import type { Digest } from '../shared/digest.ts';

/** A tool of a configured server. */
export interface ServerTool {
  readonly serverId: string;
  readonly tool: string;
}

/** Maximum number of characters in a tool's name that every model provider accepts. */
const maxUnionNameChars = 64;
const between = '__';
/** 60 bits of a digest. */
const digestChars = 10;

const plain = /^[A-Za-z0-9_-]+$/;
const digested = new RegExp(`${between}[A-Za-z0-9_-]{${digestChars}}$`);

/** How the names of a server's tools begin. */
export const unionPrefix = (serverId: string): string => `${serverId}${between}`;

/**
 * The name of a tool among those of all servers: `<server id>__<tool>`, if that is 1 to 64 letters, digits, `_` and
 * `-`. Any other name is cleaned and truncated, and ends with `__` and a digest of the whole, as does one that already
 * looks like that. No server id contains a `_`, so the first `__` always ends the id.
 */
export function unionName({ serverId, tool }: ServerTool, digest: Digest): string {
  const whole = `${unionPrefix(serverId)}${tool}`;
  if (whole.length <= maxUnionNameChars && plain.test(whole) && !digested.test(tool) && tool !== '')
    return whole;
  const room = maxUnionNameChars - between.length - digestChars;
  const cut = whole.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, room);
  return `${cut}${between}${digest(whole).slice(0, digestChars)}`;
}

/**
 * The server that a name in the union belongs to, and the tool if the name contains all of it; `undefined` when it is
 * not such a name.
 */
export function readUnionName(
  name: string,
): { readonly serverId: string; readonly tool: string | undefined } | undefined {
  const at = name.indexOf(between);
  if (at <= 0) return undefined;
  const tool = name.slice(at + between.length);
  return { serverId: name.slice(0, at), tool: digested.test(tool) || tool === '' ? undefined : tool };
}

/**
 * Each name once, with its tool. If two tools of a server get the same name, which takes a collision of digests, the
 * first one keeps it.
 */
export function unionNames<T extends ServerTool>(
  tools: readonly T[],
  digest: Digest,
): ReadonlyMap<string, T> {
  const names = new Map<string, T>();
  for (const tool of tools) {
    const name = unionName(tool, digest);
    if (!names.has(name)) names.set(name, tool);
  }
  return names;
}
