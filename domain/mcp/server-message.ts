import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import {
  isArray,
  isObject,
  isString,
  type Json,
  type JsonObject,
  membersOf,
  parseJson,
} from '../shared/json.ts';
import { exactMember, scannedDocument, withMembers } from '../shared/json-document.ts';
import { scanDocument } from '../shared/json-scan.ts';
import { maxMcpValues } from '../shared/limits.ts';
import type { McpError } from './mcp-error.ts';
import { isId, type McpId } from './message-id.ts';
import { unionUri, withUris } from './resource-uris.ts';

/** The parts of a server's message that the gateway reads. */
export type ServerMessage =
  /** The response to a request: its result, or a JSON-RPC error. */
  | {
      readonly kind: 'response';
      readonly id: McpId | undefined;
      readonly result: Json | undefined;
      readonly error: Json | undefined;
    }
  /** Elicitation, sampling, roots. `id` is `undefined` when it is not one of the protocol, though clients may take it. */
  | { readonly kind: 'request'; readonly id: McpId | undefined; readonly method: string }
  /** `progressToken` names the request of which a notification tells the progress. */
  | { readonly kind: 'notification'; readonly progressToken: Json | undefined };

/** The single message that a server's text contains. */
export interface ReadServerMessage {
  readonly message: ServerMessage;
  /** JSON values in it, at any depth. */
  readonly valueCount: number;
}

const notOfProtocol: McpError = {
  code: 'upstream_protocol',
  message: 'The server answered with what is no JSON-RPC message.',
};
const tooManyValues: McpError = {
  code: 'result_too_large',
  message: `The server answered with a message of more than ${maxMcpValues} JSON values.`,
};

/** The number of values and their depth are checked before any value is created. */
export function readServerMessage(text: string): Either<McpError, ReadServerMessage> {
  const scanned = scanDocument(text, {}, maxMcpValues);
  if (E.isLeft(scanned)) return E.left(scanned.left.tooManyValues === true ? tooManyValues : notOfProtocol);
  const message = messageOf(parseJson(text));
  return message === undefined
    ? E.left(notOfProtocol)
    : E.right({ message, valueCount: scanned.right.valueCount });
}

function messageOf(value: Json | undefined): ServerMessage | undefined {
  if (!isObject(value) || value['jsonrpc'] !== '2.0') return undefined;
  const { id, method, params, result, error } = value;
  // Serializers that write every field give a notification the id `null`.
  if (isString(method) && (id === undefined || id === null))
    return { kind: 'notification', progressToken: membersOf(params)['progressToken'] };
  if (isString(method)) return { kind: 'request', id: isId(id) ? id : undefined, method };
  if (result === undefined && error === undefined) return undefined;
  return { kind: 'response', id: isId(id) ? id : undefined, result, error };
}

/** Whether a tool's result says that the tool failed. */
export const isFailedResult = (result: Json | undefined): boolean =>
  isObject(result) && result['isError'] === true;

/** The tools that a result lists; `undefined` when it has no list. */
export function listedTools(result: Json | undefined): readonly JsonObject[] | undefined {
  const tools = isObject(result) ? result['tools'] : undefined;
  return isArray(tools) ? tools.filter(isObject) : undefined;
}

/** The name of a listed tool or prompt. */
export const listedName = (tool: JsonObject): string | undefined =>
  isString(tool['name']) ? tool['name'] : undefined;

/**
 * The message with only those listed tools that `keep` accepts, and the rest of it as the server wrote it. It applies
 * whichever request the message answers, because a list may also come in another way, such as over a resumed stream.
 */
export const withTools = (text: string, keep: (tool: string) => boolean): string =>
  withResult(text, (result) => ({
    ...result,
    tools: (listedTools(result) ?? []).filter((tool) => {
      const name = listedName(tool);
      return name !== undefined && keep(name);
    }),
  }));

/** A server's message with its resources under the URIs that they have among those of all servers. */
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

/** The result of a message with every digit kept, to be forwarded. */
export function exactResult(text: string): Json | undefined {
  const document = scannedDocument(text);
  return document === undefined ? undefined : exactMember(document, 'result');
}

/** The message with another result, and the rest of it as the server wrote it. */
function withResult(text: string, change: (result: JsonObject) => JsonObject): string {
  const document = scannedDocument(text);
  const result = document === undefined ? undefined : exactMember(document, 'result');
  return document !== undefined && isObject(result)
    ? withMembers(document, new Map([['result', change(result)]]))
    : text;
}
