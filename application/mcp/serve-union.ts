import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import type { McpId } from '../../domain/mcp/message-id.ts';
import { type McpMessage, type RequestMessage, withParams } from '../../domain/mcp/message.ts';
import { type ServerInstructions, unionInstructions } from '../../domain/mcp/union-instructions.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import { namedKey } from '../../domain/shared/named-key.ts';
import type { McpSession, UpstreamSession } from '../ports/mcp-sessions.ts';
import { failed, succeeded } from './end-mcp-call.ts';
import { arrived, awaitedId, type McpCall, type SentMcpCall, sent } from './mcp-call.ts';
import { isStateless, type McpAnswer, type McpRequest } from './mcp-request.ts';
import { relayedReply } from './relay-reply.ts';
import { closedTool, heardHere, keyWithin, type McpService, received } from './serve-mcp.ts';
import {
  serverCallOf,
  serverCallsOf,
  listedByAll,
  type ServeUnionPorts,
  type UnionCall,
  usableServers,
} from './union-lists.ts';
import { listedMembers, type ListMethod } from './server-lists.ts';
import {
  abandonSession,
  beginSession,
  endSession,
  exchangeOf,
  newestRevision,
  noneYet,
  ownInfo,
  notifyServer,
  type ServerCall,
} from './union-servers.ts';
import { targets, type UnionTarget } from './union-targets.ts';
import { isCancellation, waitingCalls } from './waiting-calls.ts';

/** The `place` of its sessions. */
export const unionPlace = '*';

/** The revisions with sessions that the union supports, newest first. */
const revisions = [newestRevision, '2025-06-18', '2025-03-26'] as const;

/** The longest id of a server's session: one header holds those of all servers. */
const maxSessionChars = 1024;

/**
 * Presents all servers that a key may use as one: their tools and prompts under names that begin with the id of their
 * server, their resources under URIs that do. A session opens one with each of them; servers that cannot be reached are
 * left out until the next session.
 */
export function serveUnion(ports: ServeUnionPorts): McpService {
  const waiting = waitingCalls();
  const open = (request: McpRequest): McpCall => arrived(request, undefined);

  const post: McpService['post'] = async (request, text) => {
    const read = received(ports, open(request), text);
    if (E.isLeft(read)) return read.left;
    const call = read.right;
    const { message } = call;
    const refused = isStateless(request.headers) ? noSuchRevision : keyWithin(call, call.text);
    if (refused !== undefined) return failed(ports, call, refused);
    if (message.kind === 'request' && message.method === 'initialize')
      return initialized(ports, sent(call), message);
    const opened = await sessionsOf(ports, request);
    if (E.isLeft(opened)) return failed(ports, call, opened.left);
    const sessions = opened.right;
    if (message.kind !== 'request') {
      if (isCancellation(message)) await passedOn(ports, call, sessions, message);
      waiting.cancel(request, message);
      return heardHere(ports, call);
    }
    const asked: UnionCall = { ...call, message, sessions };
    return waiting.during(asked, () => answerTo(ports, asked));
  };

  const listen: McpService['listen'] = async (request) => failed(ports, open(request), noStream);

  const end: McpService['end'] = async (request) => {
    const call = open(request);
    const opened = await sessionsOf(ports, request);
    return E.isLeft(opened)
      ? failed(ports, call, opened.left)
      : sessionsEnded(ports, sent(call), opened.right);
  };

  return { post, listen, end, refuse: (request, error) => failed(ports, open(request), error) };
}

const noSuchRevision: McpError = {
  code: 'unsupported_revision',
  message: `\`/mcp\` speaks the revisions ${revisions.join(', ')} of the protocol.`,
};
const noStream: McpError = { code: 'no_stream', message: '`/mcp` has no stream of its own.' };
const noSession: McpError = {
  code: 'session_not_found',
  message: 'A session at `/mcp` begins with `initialize`.',
};

async function sessionsOf(
  { sessions }: ServeUnionPorts,
  { caller, session }: McpRequest,
): Promise<Either<McpError, McpSession>> {
  return session === undefined
    ? E.left(noSession)
    : sessions.open(caller.apiKeyId ?? '', unionPlace, session);
}

async function initialized(
  ports: ServeUnionPorts,
  call: SentMcpCall,
  { params }: RequestMessage,
): Promise<McpAnswer> {
  const asked = params['protocolVersion'];
  const revision = revisions.find((each) => each === asked) ?? revisions[0];
  const begun = await Promise.all(
    usableServers(ports, call).map(async (server) => {
      const serverCall = serverCallOf(call, server, noneYet, 'initialize');
      return [serverCall, await beginSession(ports, serverCall, revision)] as const;
    }),
  );
  const upstream: Record<string, UpstreamSession> = {};
  const said: ServerInstructions[] = [];
  for (const [serverCall, one] of begun) {
    if (E.isLeft(one)) continue;
    const { session, instructions: text } = one.right;
    const serverId = serverCall.server.id;
    if ((session.id ?? '').length > maxSessionChars) abandonSession(ports, { ...serverCall, session });
    else {
      upstream[serverId] = session;
      said.push({ serverId, text });
    }
  }
  const made = { place: unionPlace, upstream };
  const sealed = await ports.sessions.seal(call.request.caller.apiKeyId ?? '', made);
  // Nobody gets its id.
  if (E.isLeft(sealed) || call.life.lost !== undefined)
    for (const serverCall of serverCallsOf(ports, call, made, '')) abandonSession(ports, serverCall);
  if (E.isLeft(sealed)) return failed(ports, call, sealed.left);
  const instructions = unionInstructions(said);
  const result = {
    protocolVersion: revision,
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    serverInfo: ownInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
  return { ...own(ports, call, result), session: sealed.right };
}

async function sessionsEnded(
  ports: ServeUnionPorts,
  call: SentMcpCall,
  sessions: McpSession,
): Promise<McpAnswer> {
  const serverCalls = serverCallsOf(ports, call, sessions, '');
  await Promise.all(serverCalls.map((serverCall) => endSession(ports, serverCall)));
  succeeded(ports, call);
  return { kind: 'empty', status: 200 };
}

/**
 * Only a cancellation concerns servers. Its request went to one of them, and the others ignore it. A server without
 * sessions is not told, because there the id may be that of anybody's request.
 */
async function passedOn(
  ports: ServeUnionPorts,
  call: McpCall,
  sessions: McpSession,
  { method, params }: Extract<McpMessage, { readonly kind: 'notification' }>,
): Promise<void> {
  const serverCalls = serverCallsOf(ports, call, sessions, method).filter(
    (serverCall) => serverCall.session.id !== undefined,
  );
  await Promise.all(serverCalls.map((serverCall) => notifyServer(ports, { ...serverCall, params })));
}

async function answerTo(ports: ServeUnionPorts, call: UnionCall): Promise<McpAnswer> {
  const { method } = call.message;
  if (method === 'ping') return own(ports, sent(call), {});
  if (isListMethod(method)) {
    const items = await listedByAll(ports, call, method);
    return E.isLeft(items)
      ? failed(ports, call, items.left)
      : own(ports, sent(call), { [listedMembers[method]]: items.right });
  }
  const target = Object.hasOwn(targets, method) ? targets[method] : undefined;
  if (target !== undefined) return passed(ports, call, await target(ports, call));
  return failed(ports, call, {
    code: 'unknown_method',
    message: `\`/mcp\` does not answer \`${namedKey(method)}\`; the paths of the servers may.`,
  });
}

const isListMethod = (method: string): method is ListMethod => Object.hasOwn(listedMembers, method);

/** An answer of the gateway's own, which may contain what servers list. */
function own(ports: ServeUnionPorts, call: SentMcpCall, result: JsonObject): McpAnswer {
  // Servers do not answer on behalf of a caller that is gone, so the result would be incomplete.
  if (call.life.lost !== undefined) return failed(ports, call, call.life.lost);
  succeeded(ports, call);
  const text = JSON.stringify({ jsonrpc: '2.0', id: awaitedId(call), result });
  return { kind: 'whole', status: 200, text: withoutSecrets(text, ports.secrets()) };
}

/** Sends a message to one server, under the names that the server knows. */
async function passed(
  ports: ServeUnionPorts,
  asked: UnionCall,
  target: Either<McpError, UnionTarget>,
): Promise<McpAnswer> {
  if (E.isLeft(target)) return failed(ports, asked, target.left);
  const { server, params } = target.right;
  const message = { ...asked.message, params: { ...asked.message.params, ...params } };
  const directed = { ...asked, server, message };
  const refused = closedTool(server, message);
  if (refused !== undefined) return failed(ports, directed, refused);
  const upstream = asked.sessions.upstream[server.id];
  if (upstream === undefined)
    return failed(ports, directed, {
      code: 'upstream_unreachable',
      message: `The MCP server \`${server.id}\` was not there when this session began.`,
    });
  const call = sent({ ...directed, session: upstream.id });
  const serverCall = serverCallOf(call, server, upstream, message.method);
  const reply = await ports.upstreams.send(server, {
    // As long as the server's own timeout allows, since the caller waits for this one alone.
    ...exchangeOf({ ...serverCall, withinMs: Number.MAX_SAFE_INTEGER }),
    method: 'POST',
    // What would ask for the task's state and result is not answered here, so the call is made without one.
    text: withParams(call.text, { ...params, task: undefined }),
    memory: call.request.memory,
    isComplete: () => call.life.hasEnded,
  });
  if (E.isLeft(reply)) return failed(ports, call, reply.left);
  const union = { refuseRequest: refuser(ports, serverCall) };
  return relayedReply({ ...ports, union }, call, reply.right);
}

/** The most requests of one server that are being refused at the same time, while it answers one call. */
const maxRefusing = 16;

/**
 * Answers a server's request to the caller in the caller's place, since only the server's own path leads back to it. A
 * server that sends requests without waiting for answers gets none for those above the limit.
 */
function refuser({ upstreams }: ServeUnionPorts, serverCall: Omit<ServerCall, 'params'>) {
  let refusing = 0;
  return (id: McpId, method: string): void => {
    if (refusing >= maxRefusing) return;
    refusing += 1;
    const message = `\`${method}\` does not pass through \`/mcp\`; the path of the server lets it pass.`;
    // A `ping` only asks whether anybody is there, and the protocol demands that it is answered.
    const answer = method === 'ping' ? { result: {} } : { error: { code: -32_601, message } };
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
    void upstreams
      .send(serverCall.server, { ...exchangeOf(serverCall), method: 'POST', text })
      .finally(() => {
        refusing -= 1;
      });
  };
}
