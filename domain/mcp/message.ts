import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { parseDocument, scannedDocument, withMembers } from '../shared/json-document.ts';
import type { DocumentError } from '../shared/document-error.ts';
import type { Watched } from '../shared/json-scan.ts';
import { isArray, isObject, isString, type Json, type JsonObject, parseJson } from '../shared/json.ts';
import { maxMcpIdChars, maxMcpNameChars, maxMcpValues } from '../shared/limits.ts';
import { isRespelled } from '../shared/respelled-key.ts';
import type { McpError } from './mcp-error.ts';
import { isId, type McpId } from './message-id.ts';

/** One message of a caller. */
export type McpMessage =
  | { readonly kind: 'request'; readonly id: McpId; readonly method: string; readonly params: JsonObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: JsonObject }
  /** The response to a request of the server: elicitation, sampling, roots. */
  | { readonly kind: 'response' };

/** A message that asks for an answer. */
export type RequestMessage = Extract<McpMessage, { readonly kind: 'request' }>;

const refuse = (message: string): Either<McpError, never> => E.left({ code: 'invalid_request', message });

/** The levels on which no key may be repeated, because servers differ in which of the two they use. */
const watched: Watched = { params: { ref: {} } };

/** The single message that a caller's text contains. */
export interface ReadMcpMessage {
  readonly message: McpMessage;
  /** JSON values in it, at any depth. */
  readonly valueCount: number;
}

/** Reads a caller's body as one message; the protocol has removed batches. */
export function readMcpMessage(text: string): Either<McpError, ReadMcpMessage> {
  const read = parseDocument(text, watched, undefined, maxMcpValues);
  if (E.isLeft(read)) return E.left(unread(text, read.left));
  const { value, valueCount } = read.right;
  if (value['jsonrpc'] !== '2.0') return refuse('The request body is no JSON-RPC 2.0 message.');
  const { params } = value;
  const keys = [...Object.keys(value), ...(isObject(params) ? Object.keys(params) : [])];
  if (keys.some((key) => isRespelled(key, deciding)))
    return refuse('A key of the protocol is spelled in another way.');
  return pipe(
    messageOf(value),
    E.map((message) => ({ message, valueCount })),
  );
}

function unread(text: string, error: DocumentError): McpError {
  if (error.tooManyValues === true) return { code: 'request_too_large', message: error.message };
  const value = parseJson(text);
  if (value === undefined) return { code: 'parse_error', message: 'The request body is not valid JSON.' };
  if (isArray(value))
    return {
      code: 'batch_not_supported',
      message: 'A request body is one JSON-RPC message: batches are not read.',
    };
  return { code: 'invalid_request', message: error.message };
}

/**
 * The keys that decide what a message does and what its record contains. A server must not read a different call than
 * the one that the policy judged.
 */
const deciding = new Set([
  'jsonrpc',
  'id',
  'method',
  'params',
  'result',
  'error',
  'name',
  'arguments',
  'uri',
  'ref',
]);

function messageOf(value: JsonObject): Either<McpError, McpMessage> {
  const { method } = value;
  // Serializers that write every field give a list request the params `null`, which servers of the Python SDK accept.
  const params = value['params'] ?? {};
  if (method === undefined)
    return ('result' in value || 'error' in value) && isId(value['id'])
      ? E.right({ kind: 'response' })
      : refuse('A JSON-RPC message has a `method`, or is the response to one.');
  if (!isString(method) || method === '' || method.length > maxMcpNameChars)
    return refuse(`\`method\` is text of 1 to ${maxMcpNameChars} characters.`);
  if (!isObject(params)) return refuse('`params` is an object.');
  if (!('id' in value)) return notificationOf(method, params);
  const { id } = value;
  return isId(id)
    ? E.right({ kind: 'request', id, method, params })
    : refuse(`\`id\` is an integer, or text of at most ${maxMcpIdChars} characters.`);
}

/** A message without an id gets no answer and no policy judges it, so only `notifications/…` may omit the id. */
const notificationOf = (method: string, params: JsonObject): Either<McpError, McpMessage> =>
  method.startsWith('notifications/')
    ? E.right({ kind: 'notification', method, params })
    : refuse('A request has an `id`: without one go only `notifications/…`.');

/** The message with these members of `params` changed or removed, and the rest of it as the caller wrote it. */
export function withParams(text: string, changes: Readonly<Record<string, Json | undefined>>): string {
  const message = scannedDocument(text);
  const params = message?.members.find(({ key }) => key === 'params');
  if (params === undefined) return text;
  const { valueStart, end } = params;
  const written = scannedDocument(text.slice(valueStart, end));
  if (written === undefined) return text;
  return text.slice(0, valueStart) + withMembers(written, new Map(Object.entries(changes))) + text.slice(end);
}

export const isToolCall = (message: McpMessage): message is RequestMessage =>
  message.kind === 'request' && message.method === 'tools/call';

/** The name of the tool that a `tools/call` calls; `undefined` when it names none. */
export function calledTool({ params }: { readonly params: JsonObject }): string | undefined {
  const { name } = params;
  return isString(name) && name !== '' && name.length <= maxMcpNameChars ? name : undefined;
}

/** The member of `params` that the header `Mcp-Name` repeats (2026-07-28). */
const nameMember: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

/**
 * Whether the headers name the same request as the body. A server that routes by headers would otherwise see a
 * different request from the one that the policy judged.
 */
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
