import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type McpError, notAuthorized, sessionEnded } from '../../domain/mcp/mcp-error.ts';
import { isId, isSameId, type McpId } from '../../domain/mcp/message-id.ts';
import { isOpenTool } from '../../domain/mcp/server-policy.ts';
import {
  listedTools,
  readServerMessage,
  type ServerMessage,
  listedName,
  withTools,
  withUnionUris,
} from '../../domain/mcp/server-message.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import { isObject, type Json, membersOf } from '../../domain/shared/json.ts';
import { bytesOfValue } from '../../domain/shared/limits.ts';
import type { McpFrame, McpReply, McpServer } from '../ports/mcp-upstreams.ts';
import { answered, failed, type McpCallPorts, succeeded } from './end-mcp-call.ts';
import { awaitedId, type McpCall, type RelayedMcpCall } from './mcp-call.ts';
import type { McpAnswer } from './mcp-request.ts';

export interface RelayTerms extends McpCallPorts {
  /**
   * Set for a server of the union. Its resources get URIs of the union, and neither its requests to callers nor its
   * answers to anything but this call are passed on.
   */
  readonly union?: {
    readonly refuseRequest: (id: McpId, method: string) => void;
  };
}

const unanswered: McpError = {
  code: 'upstream_protocol',
  message: 'The server ended its answer without a response to the request.',
};
const leftToResume: McpError = {
  code: 'left_to_resume',
  message: 'The server ended the stream, to be asked for the rest of it.',
};

/** Turns a server's reply into what its caller may see, and ends the call with it. */
export function relayedReply(terms: RelayTerms, call: RelayedMcpCall, reply: McpReply): McpAnswer {
  const { status } = reply;
  return status >= 200 && status < 300
    ? acceptedReply(terms, call, reply.body)
    : refusedReply(terms, call, reply);
}

function acceptedReply(terms: RelayTerms, call: RelayedMcpCall, body: McpReply['body']): McpAnswer {
  if (body.kind === 'events')
    return { kind: 'events', status: 200, events: relayedEvents(terms, call, body.frames) };
  // When nothing was asked, clients look only for an error: some servers acknowledge a message in words of their own.
  if (body.kind === 'json' && (awaitedId(call) !== undefined || isErrorMessage(body.text)))
    return relayedMessage(terms, call, 200, body.text);
  if (awaitedId(call) !== undefined) return failed(terms, call, unanswered);
  succeeded(terms, call);
  return { kind: 'empty', status: 202 };
}

/** Revisions differ in the status that comes with an error, so a JSON-RPC error is passed on whatever its status. */
function refusedReply(terms: RelayTerms, call: RelayedMcpCall, reply: McpReply): McpAnswer {
  const { status, body } = reply;
  // With 403, servers also refuse one call, in words of their own.
  if (status === 401 || (status === 403 && !answers(call, body))) return failed(terms, call, notAuthorized);
  if (endsSession(terms, call, reply)) return failed(terms, call, sessionEnded);
  if (body.kind === 'json' && isErrorMessage(body.text))
    return relayedMessage(terms, call, shownStatus(call, status), body.text);
  return failed(terms, call, {
    code: 'upstream_protocol',
    message: `The server answered with status ${status}.`,
  });
}

/**
 * With a 404, callers would believe that their session has ended; it has not if it gets here. A 403 would be about
 * their own key.
 */
const shownStatus = ({ request }: McpCall, status: number): number =>
  status >= 500 || status === 403 || (status === 404 && request.session !== undefined) ? 200 : status;

/** At `/mcp` a 400 that does not answer the request counts, too: servers written after examples of the SDK send it. */
function endsSession({ union }: RelayTerms, call: RelayedMcpCall, { status, body }: McpReply): boolean {
  const { session } = union === undefined ? call.request : call;
  if (session === undefined) return false;
  return status === 404 || (status === 400 && union !== undefined && !answers(call, body));
}

function answers(call: McpCall, body: McpReply['body']): boolean {
  const read = body.kind === 'json' ? readServerMessage(body.text) : undefined;
  if (read === undefined || E.isLeft(read)) return false;
  const { message } = read.right;
  return message.kind === 'response' && message.id !== undefined && isSameId(message.id, awaitedId(call));
}

/** Whether a server's text is a JSON-RPC error. */
export function isErrorMessage(text: string): boolean {
  const read = readServerMessage(text);
  return E.isRight(read) && read.right.message.kind === 'response' && isObject(read.right.message.error);
}

function relayedMessage(terms: RelayTerms, call: RelayedMcpCall, status: number, text: string): McpAnswer {
  const shown = shownMessage(terms, call, text);
  if (E.isLeft(shown)) return failed(terms, call, shown.left);
  if (!shown.right.isResponse) return failed(terms, call, unanswered);
  return { kind: 'whole', status, text: shown.right.text };
}

interface ShownMessage {
  /** Empty when nothing of it may be seen. */
  readonly text: string;
  /** Whether it answers the caller's request. */
  readonly isResponse: boolean;
}

/** A message reduced to what the caller may see. */
function shownMessage(terms: RelayTerms, call: RelayedMcpCall, text: string): Either<McpError, ShownMessage> {
  const read = readServerMessage(text);
  if (E.isLeft(read)) return read;
  const { message, valueCount } = read.right;
  const isResponse =
    message.kind === 'response' && (message.id === undefined || isSameId(message.id, awaitedId(call)));
  if (terms.union !== undefined && !isResponse) {
    if (message.kind === 'request' && message.id !== undefined)
      terms.union.refuseRequest(message.id, message.method);
    if (isWithheld(call, message)) return E.right({ text: '', isResponse });
  }
  const open = message.kind === 'response' ? openResult(terms, call.server, text, message.result) : text;
  if (isResponse) {
    const { result, error } = message;
    answered(terms, call, { result, error, bytes: text.length + valueCount * bytesOfValue });
  }
  return E.right({ text: withoutSecrets(open, terms.secrets()), isResponse });
}

/**
 * Whether a message of a server of the union, which does not answer the call, is kept from the caller. Clients match
 * answers and progress by id alone, so those of another call could be taken for another server's.
 */
const isWithheld = (call: McpCall, message: ServerMessage): boolean =>
  message.kind !== 'notification' || !isOwnProgress(call, message.progressToken);

function isOwnProgress({ message }: McpCall, token: Json | undefined): boolean {
  if (token === undefined) return true;
  const asked = message?.kind === 'request' ? membersOf(message.params['_meta'])['progressToken'] : undefined;
  return isId(token) && isId(asked) && isSameId(token, asked);
}

function openResult(terms: RelayTerms, server: McpServer, text: string, result: Json | undefined): string {
  const tools = listedTools(result);
  if (tools === undefined) return terms.union === undefined ? text : withUnionUris(text, result, server.id);
  terms.titles.listed(server.id, tools);
  const isOpen = (tool: string): boolean => isOpenTool(server.policy, tool);
  const allOpen = tools.every((tool) => isOpen(listedName(tool) ?? ''));
  return allOpen ? text : withTools(text, isOpen);
}

/** Passes on a server's events in its own bytes, except for events that hold what the caller may not see. */
export async function* relayedEvents(
  terms: RelayTerms,
  call: RelayedMcpCall,
  frames: AsyncIterable<McpFrame>,
): AsyncGenerator<string | Uint8Array> {
  const seen = { isResumable: false, isAnswered: false };
  try {
    for await (const frame of frames) {
      const shown =
        call.life.lost ?? (frame.kind === 'failed' ? frame.error : relayedFrame(terms, call, frame, seen));
      if (shown instanceof Uint8Array || typeof shown === 'string') yield shown;
      else {
        if (!seen.isAnswered) yield* told(terms, call, shown);
        return;
      }
    }
    const isLeft = seen.isResumable && terms.union === undefined;
    if (!seen.isAnswered) yield* told(terms, call, isLeft ? leftToResume : unanswered);
  } finally {
    call.life.abort();
    if (awaitedId(call) === undefined) succeeded(terms, call);
    else failed(terms, call, call.life.lost ?? leftToResume);
  }
}

/** What the caller gets for an event, or why nothing more is passed on. */
function relayedFrame(
  terms: RelayTerms,
  call: RelayedMcpCall,
  { wire, data }: Extract<McpFrame, { readonly kind: 'event' }>,
  seen: { isResumable: boolean; isAnswered: boolean },
): string | Uint8Array | McpError {
  const head = headOf(wire);
  seen.isResumable ||= /^id:/m.test(head);
  const shownHead = withoutSecrets(head, terms.secrets());
  if (data === '') return shownHead === head ? wire : `${shownHead}\n`;
  const shown = shownMessage(terms, call, data);
  if (E.isLeft(shown)) return shown.left;
  const { text, isResponse } = shown.right;
  seen.isAnswered ||= isResponse;
  if (text === '') return noEvent;
  return text === data && shownHead === head ? wire : eventOf(shownHead, text);
}

/**
 * Sends the error instead of a response. A stream that answers no request just ends, and so does one whose caller has
 * cancelled the request, or is to ask for the rest of the stream.
 */
function* told(terms: RelayTerms, call: RelayedMcpCall, error: McpError): Generator<string> {
  if (awaitedId(call) === undefined) return;
  const answer = failed(terms, call, error);
  const isSilent = call.life.lost?.code === 'cancelled' || error.code === 'left_to_resume';
  if (answer.kind === 'whole' && !isSilent) yield `event: message\ndata: ${answer.text}\n\n`;
}

/** A comment, in the place of an event that is not passed on. */
const noEvent = ':\n\n';

const textOf = (wire: Uint8Array): string => new TextDecoder().decode(wire);

/** The lines of an event without its data: its id and its name. */
const headOf = (wire: Uint8Array): string =>
  textOf(wire)
    .split(/\r\n|\n|\r/)
    .filter((line) => line !== '' && !/^data(?::|$)/.test(line))
    .map((line) => `${line}\n`)
    .join('');

/** The event with other data, which may have several lines like the original. */
const eventOf = (head: string, data: string): string =>
  `${head}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
