import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import { readServerMessage } from '../../domain/mcp/server-message.ts';
import {
  isDeeperThan,
  isObject,
  isString,
  type Json,
  type JsonObject,
  parseExact,
  parseJson,
} from '../../domain/shared/json.ts';
import { maxJsonDepth } from '../../domain/shared/limits.ts';
import type { UpstreamSession } from '../ports/mcp-sessions.ts';
import type { McpReply, McpServer, McpUpstreams } from '../ports/mcp-upstreams.ts';

/** What the gateway itself asks a server for the sake of the union. */
export interface UnionAsk {
  readonly server: McpServer;
  readonly session: UpstreamSession;
  readonly method: string;
  readonly params: JsonObject;
  readonly traceContext: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface UnionServersPorts {
  readonly upstreams: McpUpstreams;
  readonly clock: { readonly newId: () => string };
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
  const { status, body, session } = reply.right;
  if (status === 401 || status === 403) return E.left(unauthorized);
  const result = status >= 200 && status < 300 ? await resultIn(body, id) : undefined;
  return result === undefined ? E.left(noResult(method, status)) : E.right({ result, session });
}

const unauthorized: McpError = {
  code: 'upstream_unauthorized',
  message: 'The server does not accept the credentials of the gateway.',
};
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
}: Pick<UnionAsk, 'session' | 'traceContext' | 'signal'>) => ({
  session: session.id,
  withinMs: unionWaitMs,
  headers: {
    ...(session.revision === undefined ? {} : { 'mcp-protocol-version': session.revision }),
    ...traceContext,
  },
  signal,
});

async function resultIn(body: McpReply['body'], id: string): Promise<Json | undefined> {
  if (body.kind === 'json') return resultOf(body.text, id);
  if (body.kind !== 'events') return undefined;
  for await (const frame of body.frames) {
    if (frame.kind === 'failed') return undefined;
    const result = resultOf(frame.data, id);
    if (result !== undefined) return result;
  }
  return undefined;
}

function resultOf(text: string, id: string): Json | undefined {
  const value = parseJson(text);
  const message = readServerMessage(value);
  if (message?.kind !== 'response' || message.id !== id || isDeeperThan(value, maxJsonDepth))
    return undefined;
  const exact = parseExact(text);
  return isObject(exact) ? exact['result'] : undefined;
}

/** What the gateway calls itself, to servers and callers. */
export const ownInfo = { name: 'model-gateway', version: '1' };

/** The newest revision with sessions. */
export const newestRevision = '2025-11-25';

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
  const session = { id, revision: isString(settled) ? settled.slice(0, 32) : revision };
  await tellServer(ports, { ...ask, session, method: 'notifications/initialized', params: {} }, 'notify');
  return E.right(session);
}

/** Pages of one list that are asked for: a thousand tools and more. */
const maxPages = 20;

/** The whole of a list of a server, page by page; Left where a page is missing. */
export async function listAll(
  ports: UnionServersPorts,
  ask: Omit<UnionAsk, 'params'>,
  member: 'tools' | 'prompts',
): Promise<Either<McpError, readonly JsonObject[]>> {
  const all: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const answered = await askServer(ports, { ...ask, params });
    if (E.isLeft(answered)) return answered;
    const { result } = answered.right;
    if (!isObject(result)) return E.left(noResult(ask.method, 200));
    const items = result[member];
    if (Array.isArray(items)) all.push(...items.filter((item: Json) => isObject(item)));
    const next = result['nextCursor'];
    if (!isString(next) || next === '') break;
    cursor = next;
  }
  return E.right(all);
}
