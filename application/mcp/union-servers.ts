import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type McpError, noRoom, notAuthorized, sessionEnded } from '../../domain/mcp/mcp-error.ts';
import { exactResult, readServerMessage } from '../../domain/mcp/server-message.ts';
import { isString, type Json, type JsonObject, membersOf, textIn } from '../../domain/shared/json.ts';
import { bytesOfValue } from '../../domain/shared/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { UpstreamSession } from '../ports/mcp-sessions.ts';
import { firstStateless } from './mcp-request.ts';
import type { AnswerMemory, McpReply, McpServer, McpUpstreams } from '../ports/mcp-upstreams.ts';

/** A request that the gateway itself makes to a server on behalf of the union. */
export interface ServerCall {
  readonly server: McpServer;
  readonly session: UpstreamSession;
  readonly method: string;
  readonly params: JsonObject;
  readonly traceContext: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly memory: AnswerMemory;
  /** In milliseconds; defaults to the time for one of several servers. */
  readonly withinMs?: number;
}

export interface UnionServersPorts {
  readonly upstreams: McpUpstreams;
  readonly clock: Pick<Clock, 'newId' | 'now'>;
}

interface Answered {
  readonly result: Json;
  /** The session that the server opened. */
  readonly session: string | undefined;
}

/** The gateway as a client of one server: sends one request, and returns its result with every digit. */
export async function callServer(
  { upstreams, clock }: UnionServersPorts,
  serverCall: ServerCall,
): Promise<Either<McpError, Answered>> {
  const id = `gateway-${clock.newId()}`;
  const { method } = serverCall;
  const { headers, params } = written(serverCall);
  const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const exchange = exchangeOf(serverCall);
  const reply = await upstreams.send(serverCall.server, {
    ...exchange,
    headers: { ...exchange.headers, ...headers },
    method: 'POST',
    text,
  });
  if (E.isLeft(reply)) return reply;
  const { status, session } = reply.right;
  if (status === 401 || status === 403) return E.left(notAuthorized);
  if (serverCall.session.id !== undefined && unknownSession.has(status)) return E.left(sessionEnded);
  return pipe(
    await resultIn(serverCall, reply.right, id),
    E.map((result) => ({ result, session })),
  );
}

/** What a request without a session says of itself, because there was no `initialize` that could have. */
function written({ session: { revision }, method, params }: ServerCall) {
  if (revision !== firstStateless) return { headers: {}, params };
  const about = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': ownInfo,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return { headers: { 'mcp-method': method }, params: { ...params, _meta: about } };
}

/** The protocol uses 404 for an unknown session; servers written after examples of its SDK use 400. */
const unknownSession: ReadonlySet<number> = new Set([400, 404]);

export const noResult = (method: string, status: number): McpError => ({
  code: 'upstream_protocol',
  message: `The server has no result for \`${method}\` (status ${status}).`,
});

/** Sends a notification; the server's answer does not matter. */
export async function notifyServer({ upstreams }: UnionServersPorts, serverCall: ServerCall): Promise<void> {
  const { server, method, params } = serverCall;
  const text = JSON.stringify({ jsonrpc: '2.0', method, params });
  await upstreams.send(server, { ...exchangeOf(serverCall), method: 'POST', text });
}

/** Ends the server's session if it has one; its answer does not matter. */
export async function endSession(
  { upstreams }: UnionServersPorts,
  serverCall: Omit<ServerCall, 'method' | 'params'>,
): Promise<void> {
  if (serverCall.session.id === undefined) return;
  await upstreams.send(serverCall.server, { ...exchangeOf(serverCall), method: 'DELETE', text: undefined });
}

/**
 * Ends a session that nobody will use, if it has one. Nobody waits for this, and it goes on when the caller has left. A
 * body of the answer is not wanted, so it gets no memory.
 */
export const abandonSession = (
  ports: UnionServersPorts,
  serverCall: Omit<ServerCall, 'method' | 'params'>,
): void =>
  void endSession(ports, {
    ...serverCall,
    signal: new AbortController().signal,
    memory: { hold: () => false, holdUnfinished: () => false },
  });

/** The timeout for one of several servers, because the caller waits for the slowest of them. */
export const unionWaitMs = 10_000;

export const exchangeOf = ({
  session,
  traceContext,
  signal,
  memory,
  withinMs = unionWaitMs,
}: Omit<ServerCall, 'server' | 'method' | 'params'>) => ({
  session: session.id,
  withinMs,
  headers: {
    ...(session.revision === undefined ? {} : { 'mcp-protocol-version': session.revision }),
    ...traceContext,
  },
  signal,
  memory: summed(memory),
});

/**
 * Several servers answer one request, so the memory of their answers is added up. The longest event of each stays
 * counted until the request ends.
 */
function summed({ hold }: AnswerMemory): AnswerMemory {
  let longest = 0;
  return {
    hold,
    holdUnfinished: (bytes) => {
      const more = bytes - longest;
      if (more <= 0) return true;
      longest = bytes;
      return hold(more);
    },
  };
}

async function resultIn(
  { method, memory }: ServerCall,
  { status, body }: McpReply,
  id: string,
): Promise<Either<McpError, Json>> {
  const none = E.left(noResult(method, status));
  if (status < 200 || status >= 300 || body.kind === 'none') return none;
  if (body.kind === 'json') return resultOf(body.text, id, memory) ?? none;
  for await (const frame of body.frames) {
    if (frame.kind === 'failed') return E.left(frame.error);
    // An event without data only carries an id to resume from.
    const result = frame.data === '' ? undefined : resultOf(frame.data, id, memory);
    if (result !== undefined) return result;
  }
  return none;
}

/** `undefined` when it is another message. */
function resultOf(text: string, id: string, memory: AnswerMemory): Either<McpError, Json> | undefined {
  const read = readServerMessage(text);
  if (E.isLeft(read)) return read;
  const { message, valueCount } = read.right;
  if (message.kind !== 'response' || message.id !== id) return undefined;
  // It is kept until the lists of all servers have arrived.
  if (!memory.hold(text.length + valueCount * bytesOfValue)) return E.left(noRoom);
  const result = exactResult(text);
  return result === undefined ? undefined : E.right(result);
}

/** The name of the gateway for servers and callers. */
export const ownInfo = { name: 'model-gateway', version: '1' };

/** The newest revision with sessions. */
export const newestRevision = '2025-11-25';

/** Revisions are dates, so anything longer is not one. */
const maxRevisionChars = 32;

/** The state before there is a session. */
export const noneYet: UpstreamSession = { id: undefined, revision: undefined };

/**
 * The timeout for the beginning of a session, in which servers are told that it has begun, too. Less than `unionWaitMs`,
 * because Codex waits 10 seconds for a session and the list of its tools, and would be left without any server.
 */
const beginWaitMs = 8000;

/** A session that has begun. */
interface Begun {
  readonly session: UpstreamSession;
  /** What the server says of its use; empty when it says nothing. */
  readonly instructions: string;
}

/**
 * Opens a session with one server. It offers nothing that servers could ask of callers, as the gateway has nobody to
 * ask.
 */
export async function beginSession(
  ports: UnionServersPorts,
  serverCall: Omit<ServerCall, 'session' | 'method' | 'params'>,
  revision: string,
): Promise<Either<McpError, Begun>> {
  const until = ports.clock.now() + beginWaitMs;
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: ownInfo };
  const begun = await callServer(ports, {
    ...serverCall,
    session: noneYet,
    method: 'initialize',
    params,
    withinMs: beginWaitMs,
  });
  if (E.isLeft(begun)) return begun;
  const { result, session: id } = begun.right;
  const { protocolVersion: settled, instructions } = membersOf(result);
  const isRevision = isString(settled) && settled.length <= maxRevisionChars;
  const session = { id, revision: isRevision ? settled : revision };
  await notifyServer(ports, {
    ...serverCall,
    session,
    method: 'notifications/initialized',
    params: {},
    withinMs: Math.max(1, until - ports.clock.now()),
  });
  return E.right({ session, instructions: textIn(instructions) });
}
