import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isArray, isDeeperThan, isObject, isString, type JsonObject, parseJson } from '../shared/json.ts';
import { maxJsonDepth, maxMcpIdChars, maxMcpNameChars } from '../shared/limits.ts';
import type { McpError } from './mcp-error.ts';
import { isId, type McpId } from './message-id.ts';

/** One message of a caller. */
export type McpMessage =
  | { readonly kind: 'request'; readonly id: McpId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  /** To what the server asked: elicitation, sampling, roots. */
  | { readonly kind: 'response' };

const refuse = (code: McpError['code'], message: string): Either<McpError, never> =>
  E.left({ code, message });

/** A caller's body is one message: batches were taken out of the protocol. */
export function readMcpMessage(text: string): Either<McpError, McpMessage> {
  const value = parseJson(text);
  if (value === undefined) return refuse('parse_error', 'The request body is not valid JSON.');
  if (isArray(value))
    return refuse('batch_not_supported', 'A request body is one JSON-RPC message: batches are not read.');
  if (!isObject(value) || value['jsonrpc'] !== '2.0')
    return refuse('invalid_request', 'The request body is no JSON-RPC 2.0 message.');
  if (isDeeperThan(value, maxJsonDepth))
    return refuse('invalid_request', `The request body is nested deeper than ${maxJsonDepth} levels.`);
  return messageOf(value);
}

function messageOf(value: JsonObject): Either<McpError, McpMessage> {
  const { method, params = {} } = value;
  if (method === undefined)
    return ('result' in value || 'error' in value) && isId(value['id'])
      ? E.right({ kind: 'response' })
      : refuse('invalid_request', 'A JSON-RPC message has a `method`, or is the response to one.');
  if (!isString(method) || method === '' || method.length > maxMcpNameChars)
    return refuse('invalid_request', `\`method\` is text of 1 to ${maxMcpNameChars} characters.`);
  if (!isObject(params)) return refuse('invalid_request', '`params` is an object.');
  if (!('id' in value)) return E.right({ kind: 'notification', method, params });
  const { id } = value;
  return isId(id)
    ? E.right({ kind: 'request', id, method, params })
    : refuse('invalid_request', `\`id\` is an integer, or text of at most ${maxMcpIdChars} characters.`);
}

/** The name of the tool that a `tools/call` calls; undefined: it names none. */
export function calledTool({ params }: { readonly params: JsonObject }): string | undefined {
  const { name } = params;
  return isString(name) && name !== '' && name.length <= maxMcpNameChars ? name : undefined;
}

/** What a request is about, as the header `Mcp-Name` repeats it (2026-07-28). */
const nameMember: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/** Whoever routes by headers must see the request that the body is: else the policy would judge another one. */
export function agreesWithHeaders(
  message: McpMessage,
  headers: { readonly method: string | undefined; readonly name: string | undefined },
): boolean {
  if (message.kind === 'response') return headers.method === undefined && headers.name === undefined;
  if (headers.method !== undefined && headers.method !== message.method) return false;
  if (headers.name === undefined) return true;
  const member = Object.hasOwn(nameMember, message.method) ? nameMember[message.method] : undefined;
  return member !== undefined && message.params[member] === headers.name;
}
