import { isArray, isObject, isString, type Json, type JsonObject, parseExact } from '../shared/json.ts';
import { isId, type McpId } from './message-id.ts';
import { unionUri, withUris } from './resource-uris.ts';

/** A message of a server, as far as the gateway reads it. */
export type ServerMessage =
  /** The answer to a request; `failed`: a JSON-RPC error, or a tool that says that it failed. */
  | {
      readonly kind: 'response';
      readonly id: McpId | undefined;
      readonly result: Json | undefined;
      readonly error: Json | undefined;
    }
  /** Elicitation, sampling, roots. */
  | { readonly kind: 'request'; readonly id: McpId; readonly method: string }
  | { readonly kind: 'notification' };

/** Undefined: it is no JSON-RPC message. */
export function readServerMessage(value: Json | undefined): ServerMessage | undefined {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return undefined;
  const { id, method, result, error } = value;
  if (isString(method)) return isId(id) ? { kind: 'request', id, method } : { kind: 'notification' };
  if (result === undefined && error === undefined) return undefined;
  return { kind: 'response', id: isId(id) ? id : undefined, result, error };
}

/** What a tool answered says itself that it failed. */
export const isFailedResult = (result: Json | undefined): boolean =>
  isObject(result) && result['isError'] === true;

/** The tools that a result lists; undefined: it lists none. */
export function listedTools(result: Json | undefined): readonly JsonObject[] | undefined {
  const tools = isObject(result) ? result['tools'] : undefined;
  return isArray(tools) ? tools.filter(isObject) : undefined;
}

/** The name of a listed tool. */
export const listedToolName = (tool: JsonObject): string | undefined =>
  isString(tool['name']) ? tool['name'] : undefined;

/**
 * The message with those of its listed tools alone that `keep` has; the rest of it as the server wrote it. Whichever
 * request it answers: a list that comes in another way, a resumed stream, is a list all the same.
 */
export const withTools = (text: string, keep: (tool: string) => boolean): string =>
  withResult(text, (result) => ({
    ...result,
    tools: (listedTools(result) ?? []).filter((tool) => {
      const name = listedToolName(tool);
      return name !== undefined && keep(name);
    }),
  }));

/** The message of a server with its resources under the URIs that they have among those of all servers. */
export function withUnionUris(text: string, result: Json | undefined, serverId: string): string {
  if (!isObject(result) || !showsResources(result)) return text;
  const inUnion = (uri: string): string => unionUri({ serverId, uri }) ?? uri;
  return withResult(text, (exact) => withUris(exact, inUnion));
}

function showsResources(result: JsonObject): boolean {
  let found = false;
  withUris(result, (uri) => {
    found = true;
    return uri;
  });
  return found;
}

/** The message with another result, and every other digit as the server wrote it. */
function withResult(text: string, change: (result: JsonObject) => JsonObject): string {
  const message = parseExact(text);
  const result = isObject(message) ? message['result'] : undefined;
  return isObject(message) && isObject(result)
    ? JSON.stringify({ ...message, result: change(result) })
    : text;
}
