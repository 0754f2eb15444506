import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { isOpenTool } from '../../domain/mcp/server-policy.ts';
import { listedTools, readServerMessage, toolName, withTools } from '../../domain/mcp/server-message.ts';
import { withoutSecrets, type Secrets } from '../../domain/payload/secrets.ts';
import {
  isDeeperThan,
  isObject,
  isString,
  type Json,
  type JsonObject,
  parseJson,
} from '../../domain/shared/json.ts';
import { maxJsonDepth } from '../../domain/shared/limits.ts';
import type { McpFrame, McpReply, McpServer } from '../ports/mcp-upstreams.ts';
import type { McpAnswer } from './mcp-request.ts';
import type { OpenCall } from './open-call.ts';

export interface RelayTerms {
  /** What no caller may see: the credentials of the configuration. */
  readonly secrets: () => Secrets;
}

const notOfProtocol: McpError = {
  code: 'upstream_protocol',
  message: 'The server answered with what is no JSON-RPC message.',
};
const unanswered: McpError = {
  code: 'upstream_protocol',
  message: 'The server ended its answer without a response to the request.',
};
const leftToResume: McpError = {
  code: 'left_to_resume',
  message: 'The server ended the stream, to be asked for the rest of it.',
};
const unauthorized: McpError = {
  code: 'upstream_unauthorized',
  message: 'The server does not accept the credentials of the gateway.',
};
const sessionGone: McpError = { code: 'session_not_found', message: 'The server has ended this session.' };

/** What a server answered, as its caller may see it; the call ends with it. */
export function relayedReply(
  terms: RelayTerms,
  call: OpenCall,
  server: McpServer,
  reply: McpReply,
): McpAnswer {
  const { status, body } = reply;
  if (status >= 200 && status < 300) {
    if (body.kind === 'events')
      return { kind: 'events', status: 200, events: relayedEvents(terms, call, server, body.frames) };
    if (body.kind === 'json') return relayedMessage(terms, call, server, 200, body.text);
    if (call.id !== undefined) return call.failed(unanswered);
    call.answered(undefined, undefined, 0);
    return { kind: 'empty', status: 202 };
  }
  if (status === 401 || status === 403) return call.failed(unauthorized);
  if (body.kind === 'json' && isErrorMessage(body.text))
    return status === 404 && call.request.session !== undefined
      ? call.failed(sessionGone)
      : relayedMessage(terms, call, server, status >= 500 ? 200 : status, body.text);
  if (status === 404 && call.request.session !== undefined) return call.failed(sessionGone);
  return call.failed({ code: 'upstream_protocol', message: `The server answered with status ${status}.` });
}

const isErrorMessage = (text: string): boolean => {
  const value = parseJson(text);
  return isObject(value) && isObject(value['error']) && value['jsonrpc'] === '2.0';
};

function relayedMessage(
  terms: RelayTerms,
  call: OpenCall,
  server: McpServer,
  status: number,
  text: string,
): McpAnswer {
  const shown = shownMessage(terms, call, server, text);
  if (shown === undefined) return call.failed(notOfProtocol);
  if (!shown.isResponse) return call.failed(unanswered);
  return { kind: 'whole', status, text: shown.text };
}

/** A message as the caller may see it; undefined: it is none. */
function shownMessage(terms: RelayTerms, call: OpenCall, server: McpServer, text: string) {
  const value = parseJson(text);
  const message = readServerMessage(value);
  if (message === undefined || isDeeperThan(value, maxJsonDepth)) return undefined;
  const isResponse = message.kind === 'response' && (message.id === call.id || message.id === undefined);
  const open = message.kind === 'response' ? withOpenTools(server, text, message.result) : text;
  if (isResponse) call.answered(message.result, message.error, text.length);
  return { text: withoutSecrets(open, terms.secrets()), isResponse };
}

function withOpenTools(server: McpServer, text: string, result: Json | undefined): string {
  const tools = listedTools(result);
  if (tools === undefined) return text;
  const isOpen = (tool: string): boolean => isOpenTool(server.policy, tool);
  const allOpen = tools.every((tool) => isOpen(toolName(tool) ?? ''));
  return allOpen ? text : withTools(text, isOpen);
}

/** The events of a server in its own bytes, but for those that hold what the caller may not see. */
export async function* relayedEvents(
  terms: RelayTerms,
  call: OpenCall,
  server: McpServer,
  frames: AsyncIterable<McpFrame>,
): AsyncGenerator<string | Uint8Array> {
  let isResumable = false;
  let isAnswered = false;
  try {
    for await (const frame of frames) {
      if (frame.kind === 'failed') {
        if (!isAnswered && call.lost?.code !== 'cancelled') yield* told(call, frame.error);
        return;
      }
      isResumable ||= hasId(frame.wire);
      if (frame.data === '') {
        yield frame.wire;
        continue;
      }
      const shown = shownMessage(terms, call, server, frame.data);
      if (shown === undefined) return void (yield* told(call, notOfProtocol));
      isAnswered ||= shown.isResponse;
      yield shown.text === frame.data ? frame.wire : withData(frame.wire, shown.text);
    }
    if (call.id === undefined || isAnswered) return;
    if (isResumable) call.failed(leftToResume);
    else yield* told(call, unanswered);
  } finally {
    call.abort.abort();
    if (call.id === undefined) call.answered(undefined, undefined, 0);
    else call.failed(call.lost ?? leftToResume);
  }
}

/** The error in the place of a response; a stream that answers no request just ends. */
function* told(call: OpenCall, error: McpError): Generator<string> {
  if (call.id === undefined) return;
  const answer = call.failed(error);
  if (answer.kind === 'whole') yield `event: message\ndata: ${answer.text}\n\n`;
}

const idLine = /(?:^|[\r\n])id:/;
const hasId = (wire: Uint8Array): boolean => idLine.test(textOf(wire));

const textOf = (wire: Uint8Array): string => new TextDecoder().decode(wire);

/** The event with other data: its id and its name stay. */
const withData = (wire: Uint8Array, data: string): string =>
  [
    ...textOf(wire)
      .split(/\r\n|\n|\r/)
      .filter((line) => line !== '' && !line.startsWith('data')),
    `data: ${data}`,
    '',
    '',
  ].join('\n');

/** Whether a text is a cancellation's request id that it names. */
export const cancelledId = (params: JsonObject): string | undefined => {
  const { requestId } = params;
  return isString(requestId) || typeof requestId === 'number' ? JSON.stringify(requestId) : undefined;
};
