import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { type McpError, noRoom, notAuthorized, sessionEnded } from '../../domain/mcp/mcp-error.ts';
import { exactResult, readServerMessage } from '../../domain/mcp/server-message.ts';
import { isObject, isString, type Json, type JsonObject, objectsOf } from '../../domain/shared/json.ts';
import { bytesOfValue } from '../../domain/shared/limits.ts';
import type { Clock } from '../ports/clock.ts';
import type { UpstreamSession } from '../ports/mcp-sessions.ts';
import type { AnswerMemory, McpReply, McpServer, McpUpstreams } from '../ports/mcp-upstreams.ts';

/** What the gateway itself asks a server for the sake of the union. */
export interface UnionAsk {
  readonly server: McpServer;
  readonly session: UpstreamSession;
  readonly method: string;
  readonly params: JsonObject;
  readonly traceContext: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly memory: AnswerMemory;
  /** In milliseconds; the time of one of several servers unless set. */
  readonly withinMs?: number;
}

export interface UnionServersPorts {
  readonly upstreams: McpUpstreams;
  readonly clock: Pick<Clock, 'newId' | 'now'>;
}

interface Answered {
  readonly result: Json;
  /** The session that the server has opened. */
  readonly session: string | undefined;
}

/** The gateway as a client of one server: one request, and its result with every digit. */
async function askServer(
  { upstreams, clock }: UnionServersPorts,
  ask: UnionAsk,
): Promise<Either<McpError, Answered>> {
  const id = `gateway-${clock.newId()}`;
  const { method, params } = ask;
  const text = JSON.stringify({ jsonrpc: '2.0', id, method, params });
  const reply = await upstreams.send(ask.server, { ...exchangeOf(ask), method: 'POST', text });
  if (E.isLeft(reply)) return reply;
  const { status, session } = reply.right;
  if (status === 401 || status === 403) return E.left(notAuthorized);
  if (ask.session.id !== undefined && unknownSession.has(status)) return E.left(sessionEnded);
  return pipe(
    await resultIn(ask, reply.right, id),
    E.map((result) => ({ result, session })),
  );
}

/** The protocol has 404 for a session that is not there, and servers written after examples of its SDK have 400. */
const unknownSession: ReadonlySet<number> = new Set([400, 404]);

const noResult = (method: string, status: number): McpError => ({
  code: 'upstream_protocol',
  message: `The server has no result for \`${method}\` (status ${status}).`,
});

/** A notification, or the end of a session: nobody waits for what the server makes of it. */
export async function tellServer(
  { upstreams }: UnionServersPorts,
  ask: UnionAsk,
  what: 'notify' | 'end',
): Promise<void> {
  const { method, params } = ask;
  await upstreams.send(
    ask.server,
    what === 'end'
      ? { ...exchangeOf(ask), method: 'DELETE', text: undefined }
      : { ...exchangeOf(ask), method: 'POST', text: JSON.stringify({ jsonrpc: '2.0', method, params }) },
  );
}

/** For one of several servers: the caller waits for the slowest of them. */
const unionWaitMs = 10_000;

export const exchangeOf = ({
  session,
  traceContext,
  signal,
  memory,
  withinMs = unionWaitMs,
}: Omit<UnionAsk, 'server' | 'method' | 'params'>) => ({
  session: session.id,
  withinMs,
  headers: {
    ...(session.revision === undefined ? {} : { 'mcp-protocol-version': session.revision }),
    ...traceContext,
  },
  signal,
  memory: summed(memory),
});

/** Several servers answer one request: what they hold is added up, and the longest event of each until the request ends. */
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
  { method, memory }: UnionAsk,
  { status, body }: McpReply,
  id: string,
): Promise<Either<McpError, Json>> {
  const none = E.left(noResult(method, status));
  if (status < 200 || status >= 300 || body.kind === 'none') return none;
  if (body.kind === 'json') return resultOf(body.text, id, memory) ?? none;
  for await (const frame of body.frames) {
    if (frame.kind === 'failed') return E.left(frame.error);
    // An event without data only has an id, to resume at.
    const result = frame.data === '' ? undefined : resultOf(frame.data, id, memory);
    if (result !== undefined) return result;
  }
  return none;
}

/** Undefined: it is another message. */
function resultOf(text: string, id: string, memory: AnswerMemory): Either<McpError, Json> | undefined {
  const read = readServerMessage(text);
  if (E.isLeft(read)) return read;
  const { message, valueCount } = read.right;
  if (message.kind !== 'response' || message.id !== id) return undefined;
  // It stays until the lists of all servers are there.
  if (!memory.hold(text.length + valueCount * bytesOfValue)) return E.left(noRoom);
  const result = exactResult(text);
  return result === undefined ? undefined : E.right(result);
}

/** What the gateway calls itself, to servers and callers. */
export const ownInfo = { name: 'model-gateway', version: '1' };

/** The newest revision with sessions. */
export const newestRevision = '2025-11-25';

/** Revisions are dates: what is longer is none. */
const maxRevisionChars = 32;

/** Before there is a session. */
export const noneYet: UpstreamSession = { id: undefined, revision: undefined };

/** A session with one server. What servers ask of callers is not offered: the gateway has nobody to ask. */
export async function beginSession(
  ports: UnionServersPorts,
  ask: Omit<UnionAsk, 'params'>,
  revision: string,
): Promise<Either<McpError, UpstreamSession>> {
  const params = { protocolVersion: revision, capabilities: {}, clientInfo: ownInfo };
  const begun = await askServer(ports, { ...ask, method: 'initialize', params });
  if (E.isLeft(begun)) return begun;
  const { result, session: id } = begun.right;
  const settled = isObject(result) ? result['protocolVersion'] : undefined;
  const isRevision = isString(settled) && settled.length <= maxRevisionChars;
  const session = { id, revision: isRevision ? settled : revision };
  await tellServer(ports, { ...ask, session, method: 'notifications/initialized', params: {} }, 'notify');
  return E.right(session);
}

/** Pages of one list that are asked for: a thousand tools and more. */
const maxPages = 20;

/** What one server has of one kind; agents choke on a hundredth of it. */
const maxListed = 10_000;

/** What these take of memory, as text and parsed, before no further page is asked for. */
const maxListedBytes = 16 * 1024 * 1024;

/** A cursor is sent back as it came; real ones are numbers and ids. */
const maxCursorChars = 4096;

/** What servers list, and the member of the result that has it. */
export const listedMembers = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
} as const;

export type ListMethod = keyof typeof listedMembers;

export interface ListAsk extends Omit<UnionAsk, 'params' | 'withinMs'> {
  readonly method: ListMethod;
}

/**
 * The whole of a list of a server. One that has ended its session, as it does when it is started anew, lists in another,
 * which is ended behind it: the caller's own id has no room for it, and leads to a new one with the next call.
 */
export async function listAll(
  ports: UnionServersPorts,
  ask: ListAsk,
): Promise<Either<McpError, readonly JsonObject[]>> {
  const listed = await listIn(ports, ask);
  if (E.isRight(listed) || listed.left !== sessionEnded) return listed;
  const { revision = newestRevision } = ask.session;
  const begun = await beginSession(ports, { ...ask, session: noneYet, method: 'initialize' }, revision);
  if (E.isLeft(begun)) return begun;
  const again = { ...ask, session: begun.right };
  const anew = await listIn(ports, again);
  if (again.session.id !== undefined) await tellServer(ports, { ...again, params: {} }, 'end');
  return anew;
}

/**
 * The list page by page, within the time of one answer; Left where a page is missing. A server that does not read
 * cursors gives the first page again, with the same one behind it: that is its end.
 */
async function listIn(
  ports: UnionServersPorts,
  ask: ListAsk,
): Promise<Either<McpError, readonly JsonObject[]>> {
  const { clock } = ports;
  const until = clock.now() + unionWaitMs;
  const all: JsonObject[] = [];
  const { memory, heldBytes } = counted(ask.memory);
  let cursor: string | undefined;
  for (let page = 0; page < maxPages && heldBytes() < maxListedBytes; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const withinMs = Math.max(1, until - clock.now());
    const answered = await askServer(ports, { ...ask, params, withinMs, memory });
    if (E.isLeft(answered)) return answered;
    const { result } = answered.right;
    if (!isObject(result)) return E.left(noResult(ask.method, 200));
    for (const item of objectsOf(result[listedMembers[ask.method]])) {
      if (all.length >= maxListed) return E.right(all);
      all.push(item);
    }
    const next = result['nextCursor'];
    if (!isString(next) || next === '' || next === cursor || next.length > maxCursorChars) break;
    cursor = next;
  }
  return E.right(all);
}

function counted({ hold, holdUnfinished }: AnswerMemory) {
  let held = 0;
  const memory: AnswerMemory = {
    hold: (bytes) => {
      held += bytes;
      return hold(bytes);
    },
    holdUnfinished,
  };
  return { memory, heldBytes: () => held };
}
