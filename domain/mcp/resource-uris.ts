import { isObject, isArray, isString, type Json, type JsonObject, mapObjects } from '../shared/json.ts';
import { maxMcpUriChars } from '../shared/limits.ts';

/** A resource of a configured server, or a template of such resources. */
export interface ServerResource {
  readonly serverId: string;
  readonly uri: string;
}

/**
 * The URI of a resource among those of all servers, `mcp+<server id>+<its own URI>`; `undefined` when it would be
 * longer than a URI may be, or its own URI is empty. Nothing in the prefix is special in a URI template, so what a
 * client expands from a template leads to its server, too. No server id contains a `+`, so the second `+` always ends
 * the id.
 */
export function unionUri({ serverId, uri }: ServerResource): string | undefined {
  const whole = `mcp+${serverId}+${uri}`;
  return uri === '' || whole.length > maxMcpUriChars ? undefined : whole;
}

/** The resource that a URI of the union stands for; `undefined` when it is not such a URI. */
export function readUnionUri(uri: string): ServerResource | undefined {
  if (uri.length > maxMcpUriChars) return undefined;
  const { serverId, own } = /^mcp\+(?<serverId>[a-z0-9-]+)\+(?<own>.+)$/s.exec(uri)?.groups ?? {};
  return serverId === undefined || own === undefined ? undefined : { serverId, uri: own };
}

/**
 * Changes the URIs of the resources in a result, wherever the protocol has one: resources that it contains or links to.
 */
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
