import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type McpError, noRoom } from '../../domain/mcp/mcp-error.ts';
import {
  agreesWithHeaders,
  calledTool,
  isToolCall,
  type McpMessage,
  readMcpMessage,
} from '../../domain/mcp/message.ts';
import { isOpenTool } from '../../domain/mcp/server-policy.ts';
import { holdsSecret, joinedSecrets, secretsOf } from '../../domain/payload/secrets.ts';
import { bytesOfValue } from '../../domain/shared/limits.ts';
import { namedKey } from '../../domain/shared/named-key.ts';
import type { McpSessions } from '../ports/mcp-sessions.ts';
import type { McpExchange, McpReply, McpServer, McpUpstreams } from '../ports/mcp-upstreams.ts';
import { isStateless, isSubscription, type McpAnswer, type McpRequest } from './mcp-request.ts';
import { failed, type McpCallPorts, succeeded } from './end-mcp-call.ts';
import {
  type AdmittedMcpCall,
  arrived,
  type McpCall,
  type ReadMcpCall,
  type RelayedMcpCall,
  sent,
} from './mcp-call.ts';
import { isErrorMessage, relayedEvents, relayedReply } from './relay-reply.ts';
import { lasting, type LastingPorts, usableServer } from './lasting-stream.ts';
import { isCancellation, waitingCalls } from './waiting-calls.ts';

export interface ServeMcpPorts extends McpCallPorts, LastingPorts {
  readonly upstreams: McpUpstreams;
  readonly sessions: McpSessions;
}

/** The three methods of an MCP endpoint. */
export interface McpService {
  /** One message of the caller, or why there is none. */
  readonly post: (request: McpRequest, text: Either<McpError, string>) => Promise<McpAnswer>;
  /** Messages that the server sends by itself, and the rest of a stream that broke off. */
  readonly listen: (request: McpRequest) => Promise<McpAnswer>;
  /** Ends a session. */
  readonly end: (request: McpRequest) => Promise<McpAnswer>;
  /** Answers a request that is not to be served. */
  readonly refuse: (request: McpRequest, error: McpError) => McpAnswer;
}

/**
 * Relays to one configured server. Each message is read, checked against the policy, and sent on in the caller's own
 * text; the answer is read for its meaning, and passed on in the server's own bytes.
 */
export function serveMcp(ports: ServeMcpPorts): McpService {
  const waiting = waitingCalls();

  const open = (request: McpRequest): McpCall =>
    arrived(
      request,
      ports.upstreams.servers().find(({ id }) => id === request.serverId),
    );

  const post: McpService['post'] = async (request, text) => {
    const read = received(ports, open(request), text);
    if (E.isLeft(read)) return read.left;
    const admitted = await admit(ports, read.right);
    if (E.isLeft(admitted)) return failed(ports, read.right, admitted.left);
    const call = admitted.right;
    if (call.session === undefined && isCancellation(call.message)) {
      // A server without sessions could match the id with anybody's request; the caller's ends when its connection is
      // closed.
      waiting.cancel(request, call.message);
      return heardHere(ports, call);
    }
    const run = isSubscription(request.headers)
      ? () => lasting(ports, call, () => posted(ports, sent(call), endless))
      : () => posted(ports, sent(call), {});
    const answer = await waiting.during(call, run);
    waiting.cancel(request, call.message);
    return answer;
  };

  const listen: McpService['listen'] = async (request) => {
    const call = open(request);
    const admitted = await admitHttp(ports, call);
    if (E.isLeft(admitted)) return failed(ports, call, admitted.left);
    return lasting(ports, call, () => listened(ports, sent(admitted.right)));
  };

  const end: McpService['end'] = async (request) => {
    const call = open(request);
    const admitted = await admitHttp(ports, call);
    return E.isLeft(admitted) ? failed(ports, call, admitted.left) : ended(ports, sent(admitted.right));
  };

  return { post, listen, end, refuse: (request, error) => failed(ports, open(request), error) };
}

/** Reads the caller's message, if there is one and memory for it. Left: the call has ended, with this answer. */
export function received(
  ports: McpCallPorts,
  call: McpCall,
  text: Either<McpError, string>,
): Either<McpAnswer, ReadMcpCall> {
  if (E.isLeft(text)) return E.left(failed(ports, call, text.left));
  const read = readMcpMessage(text.right);
  if (E.isLeft(read)) return E.left(failed(ports, call, read.left));
  const { message, valueCount } = read.right;
  const parsedBytes = valueCount * bytesOfValue;
  const messageBytes = text.right.length + parsedBytes;
  const known = { ...call, message, text: text.right, messageBytes };
  return call.request.memory.hold(parsedBytes) ? E.right(known) : E.left(failed(ports, known, noRoom));
}

/** Acknowledges a message that goes to no server. */
export function heardHere(ports: McpCallPorts, call: ReadMcpCall): McpAnswer {
  succeeded(ports, sent(call));
  return { kind: 'empty', status: 202 };
}

/** For exchanges that have no end of their own. */
const endless = { withinMs: Number.POSITIVE_INFINITY } as const;

async function posted(
  ports: ServeMcpPorts,
  call: ReadMcpCall & RelayedMcpCall,
  bounds: Pick<McpExchange, 'withinMs'>,
): Promise<McpAnswer> {
  const { request, server, message, text } = call;
  const exchange = exchangeOver(call, { method: 'POST', text, ...bounds });
  const reply = await ports.upstreams.send(server, exchange);
  if (E.isLeft(reply)) return failed(ports, call, reply.left);
  const answer = relayedReply(ports, call, reply.right);
  const { session } = reply.right;
  if (session === undefined || message.kind !== 'request' || message.method !== 'initialize') return answer;
  const sealed = await ports.sessions.seal(request.caller.apiKeyId ?? '', {
    place: server.id,
    upstream: { [server.id]: { id: session, revision: undefined } },
  });
  return E.isLeft(sealed) ? failed(ports, call, sealed.left) : { ...answer, session: sealed.right };
}

async function listened(ports: ServeMcpPorts, call: RelayedMcpCall): Promise<McpAnswer> {
  const exchange = exchangeOver(call, { method: 'GET', text: undefined, ...endless });
  const reply = await ports.upstreams.send(call.server, exchange);
  if (E.isLeft(reply)) return failed(ports, call, reply.left);
  const { status, body } = reply.right;
  if (isWithoutStream(reply.right, call.session)) return failed(ports, call, noStream);
  if (status < 200 || status >= 300) return relayedReply(ports, call, reply.right);
  // Clients take an answer without a stream for one that broke off, and would ask for the next again and again.
  if (body.kind !== 'events') return failed(ports, call, noStream);
  return { kind: 'events', status: 200, events: relayedEvents(ports, call, body.frames) };
}

async function ended(ports: ServeMcpPorts, call: RelayedMcpCall): Promise<McpAnswer> {
  const exchange = exchangeOver(call, { method: 'DELETE', text: undefined });
  const reply = await ports.upstreams.send(call.server, exchange);
  if (E.isLeft(reply)) return failed(ports, call, reply.left);
  if (reply.right.status === 405) return failed(ports, call, noStream);
  const answer = relayedReply(ports, call, reply.right);
  // Clients of the Python SDK take the 202 that acknowledges a message for a failure.
  return answer.kind === 'empty' ? { ...answer, status: 200 } : answer;
}

/**
 * Frameworks without a route for `GET` refuse it with one of several statuses. Some clients that take these for `no
 * stream` give up the whole connection at the 502 of any other failure.
 */
function isWithoutStream({ status, body }: McpReply, session: string | undefined): boolean {
  if (status === 405) return true;
  if (body.kind === 'json' && isErrorMessage(body.text)) return false;
  return [400, 403, 501].includes(status) || (status === 404 && session === undefined);
}

const noStream: McpError = { code: 'no_stream', message: 'The server does not offer this.' };

/** A caller's key, or an admin's token, must reach no server, wherever it was written. */
export function keyWithin({ callerSecrets }: McpCall, ...texts: readonly string[]): McpError | undefined {
  const keys = joinedSecrets(anyCallers, callerSecrets);
  return texts.some((text) => holdsSecret(text, keys))
    ? {
        code: 'holds_api_key',
        message:
          'The message, or a header of it, holds an API key or token of the gateway, which goes to no server.',
      }
    : undefined;
}

/** Why a tool call is not sent to the server. */
export function closedTool(server: McpServer, message: McpMessage): McpError | undefined {
  if (!isToolCall(message)) return undefined;
  const tool = calledTool(message);
  if (tool === undefined)
    return { code: 'unknown_tool', message: 'A `tools/call` names its tool in `name`.' };
  return isOpenTool(server.policy, tool)
    ? undefined
    : { code: 'tool_not_allowed', message: `This API key may not use the tool \`${namedKey(tool)}\`.` };
}

/** Matches any caller's key and any admin's token by their format. */
const anyCallers = secretsOf([]);

const exchangeOver = (
  { request, life, session }: RelayedMcpCall,
  exchange: Pick<McpExchange, 'method' | 'text' | 'withinMs'>,
): McpExchange => ({
  ...exchange,
  session,
  headers: { ...onwardHeaders(request), ...request.telemetry.traceContext },
  signal: life.signal,
  memory: request.memory,
});

/** Those of the caller's headers that are sent on to the server. */
function onwardHeaders({ headers }: McpRequest): Readonly<Record<string, string>> {
  const { protocolVersion, lastEventId, mirrored } = headers;
  return {
    ...(protocolVersion === undefined ? {} : { 'mcp-protocol-version': protocolVersion }),
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    ...(isStateless(headers) ? mirrored : {}),
  };
}

/** Checks that the server exists, that the caller may use it, and that the session is the caller's. */
async function admitHttp<C extends McpCall>(
  { sessions }: ServeMcpPorts,
  call: C,
): Promise<Either<McpError, C & AdmittedMcpCall>> {
  const { request } = call;
  const usable = usableServer(call.server, request.caller);
  if (E.isLeft(usable)) return usable;
  const server = usable.right;
  const key = keyWithin(call, ...Object.values(onwardHeaders(request)));
  if (key !== undefined) return E.left(key);
  if (request.session === undefined || isStateless(request.headers))
    return request.headers.lastEventId === undefined
      ? E.right({ ...call, server, session: undefined })
      : E.left(eventsOfNobody);
  const opened = await sessions.open(request.caller.apiKeyId ?? '', server.id, request.session);
  if (E.isLeft(opened)) return opened;
  return E.right({ ...call, server, session: opened.right.upstream[server.id]?.id });
}

/**
 * For a server without sessions all callers are one, the gateway: an event id would give access to the answers of
 * others.
 */
const eventsOfNobody: McpError = {
  code: 'invalid_request',
  message: '`Last-Event-ID` goes with the session whose events it names.',
};

/** Nor does such a server know whom it asked: one caller could answer in the place of another, or list its tasks. */
function ofNobody(message: McpMessage): McpError | undefined {
  if (message.kind === 'response') return answerOfNobody;
  return message.kind === 'request' && message.method === 'tasks/list' ? tasksOfNobody : undefined;
}

const answerOfNobody: McpError = {
  code: 'invalid_request',
  message: 'An answer goes with the session in which the server has asked.',
};
const tasksOfNobody: McpError = {
  code: 'unknown_method',
  message:
    '`tasks/list` is answered in a session only: without one, the server would list the tasks of all callers.',
};

async function admit(
  ports: ServeMcpPorts,
  call: ReadMcpCall,
): Promise<Either<McpError, ReadMcpCall & AdmittedMcpCall>> {
  const admitted = await admitHttp(ports, call);
  if (E.isLeft(admitted)) return admitted;
  const { message, text, request, server, session } = admitted.right;
  const forNobody = session === undefined ? ofNobody(message) : undefined;
  if (forNobody !== undefined) return E.left(forNobody);
  if (isStateless(request.headers) && !agreesWithHeaders(message, request.headers))
    return E.left({
      code: 'header_mismatch',
      message: '`Mcp-Method` and `Mcp-Name` are those of the request body.',
    });
  const refused = keyWithin(call, text) ?? closedTool(server, message);
  return refused === undefined ? admitted : E.left(refused);
}
