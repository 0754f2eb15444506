import { isObject, isArray, isString, type Json, type JsonObject, mapObjects } from '../shared/json.ts';
import { maxMcpUriChars } from '../shared/limits.ts';

/** A resource of a configured server, or a template of such resources. */
export interface ServerResource {
  readonly serverId: string;
  readonly uri: string;
}

/**
 * The URI of a resource among those of all servers: `mcp+<server id>+<its own URI>`; undefined: it would be longer than
 * such URIs are. Nothing of the front is special in a template: what a client makes of one leads to its server, too. No
 * server id has a `+`, so the second one is always the one behind it.
 */
export function unionUri({ serverId, uri }: ServerResource): string | undefined {
  const whole = `mcp+${serverId}+${uri}`;
  return uri === '' || whole.length > maxMcpUriChars ? undefined : whole;
}

/** The resource that a URI of the union stands for; undefined: it is no such URI. */
export function readUnionUri(uri: string): ServerResource | undefined {
  if (uri.length > maxMcpUriChars) return undefined;
  const { serverId, own } = /^mcp\+(?<serverId>[a-z0-9-]+)\+(?<own>.+)$/s.exec(uri)?.groups ?? {};
  return serverId === undefined || own === undefined ? undefined : { serverId, uri: own };
}

/** A result with other URIs of the resources that it has or links to, wherever the protocol puts one. */
export function withUris(result: JsonObject, change: (uri: string) => string): JsonObject {
  const named = (item: JsonObject): JsonObject =>
    isString(item['uri']) ? { ...item, uri: change(item['uri']) } : item;
  const block = (item: JsonObject): JsonObject => {
    const { type, resource } = item;
    if (type === 'resource_link') return named(item);
    return type === 'resource' && isObject(resource) ? { ...item, resource: named(resource) } : item;
  };
  const blocks = (content: Json): Json => (isObject(content) ? block(content) : mapped(content, block));
  const message = (item: JsonObject): JsonObject => withMember(item, 'content', blocks);
  return [
    { member: 'contents', edit: (list: Json) => mapped(list, named) },
    { member: 'content', edit: blocks },
    { member: 'messages', edit: (list: Json) => mapped(list, message) },
  ].reduce((changed, { member, edit }) => withMember(changed, member, edit), result);
}

const mapped = (list: Json, edit: (item: JsonObject) => JsonObject): Json =>
  isArray(list) ? mapObjects(list, edit) : list;

function withMember(object: JsonObject, member: string, edit: (value: Json) => Json): JsonObject {
  const value = object[member];
  return value === undefined ? object : { ...object, [member]: edit(value) };
}
