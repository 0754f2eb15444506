import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { McpError } from '../../domain/mcp/mcp-error.ts';
import type { McpId } from '../../domain/mcp/message-id.ts';
import { type McpMessage, withParams } from '../../domain/mcp/message.ts';
import { type ServerInstructions, unionInstructions } from '../../domain/mcp/union-instructions.ts';
import { withoutSecrets } from '../../domain/payload/secrets.ts';
import type { JsonObject } from '../../domain/shared/json.ts';
import type { McpSession, UpstreamSession } from '../ports/mcp-sessions.ts';
import type { McpServer } from '../ports/mcp-upstreams.ts';
import { McpCall } from './mcp-call.ts';
import { isStateless, type McpAnswer, type McpRequest } from './mcp-request.ts';
import { relayedReply } from './relay-reply.ts';
import { closedTool, heardHere, keyWithin, type McpService } from './serve-mcp.ts';
import {
  serverCallOf,
  serverCallsOf,
  listedByAll,
  type ServeUnionPorts,
  type UnionRequest,
  type UnionTurn,
  usableServers,
} from './union-lists.ts';
import { listedMembers, type ListMethod } from './server-lists.ts';
import {
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
  const open = (request: McpRequest): McpCall => new McpCall(ports, request, undefined);

  const post: McpService['post'] = async (request, text) => {
    const call = open(request);
    if (E.isLeft(text)) return call.failed(text.left);
    const read = call.read(text.right);
    if (E.isLeft(read)) return call.failed(read.left);
    const message = read.right;
    const refused = isStateless(request.headers) ? noSuchRevision : keyWithin(call, text.right);
    if (refused !== undefined) return call.failed(refused);
    if (message.kind === 'request' && message.method === 'initialize')
      return initialized(ports, call, message);
    const session = await sessionOf(ports, request);
    if (E.isLeft(session)) return call.failed(session.left);
    if (message.kind !== 'request') {
      if (isCancellation(message)) await passedOn(ports, call, session.right, message);
      waiting.cancel(request, message);
      return heardHere(call);
    }
    const turn = { call, message, session: session.right };
    return waiting.during(call, () => answered(ports, turn, text.right));
  };

  const listen: McpService['listen'] = async (request) => open(request).failed(noStream);

  const end: McpService['end'] = async (request) => {
    const call = open(request);
    const session = await sessionOf(ports, request);
    if (E.isLeft(session)) return call.failed(session.left);
    call.sent();
    const serverCalls = serverCallsOf(ports, call, session.right, '');
    await Promise.all(serverCalls.map((serverCall) => endSession(ports, serverCall)));
    call.answered(undefined, undefined, 0);
    return { kind: 'empty', status: 200 };
  };

  return { post, listen, end, refuse: (request, error) => open(request).failed(error) };
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

async function sessionOf(
  { sessions }: ServeUnionPorts,
  { caller, session }: McpRequest,
): Promise<Either<McpError, McpSession>> {
  return session === undefined
    ? E.left(noSession)
    : sessions.open(caller.apiKeyId ?? '', unionPlace, session);
}

async function initialized(
  ports: ServeUnionPorts,
  call: McpCall,
  { params }: UnionRequest,
): Promise<McpAnswer> {
  call.sent();
  const asked = params['protocolVersion'];
  const revision = revisions.find((each) => each === asked) ?? revisions[0];
  const begun = await Promise.all(
    usableServers(ports, call).map(async (server) => {
      const serverCall = serverCallOf(call, server, noneYet, 'initialize');
      return [server.id, await beginSession(ports, serverCall, revision)] as const;
    }),
  );
  const upstream: Record<string, UpstreamSession> = {};
  const said: ServerInstructions[] = [];
  for (const [serverId, one] of begun) {
    if (E.isLeft(one) || (one.right.session.id ?? '').length > maxSessionChars) continue;
    upstream[serverId] = one.right.session;
    said.push({ serverId, text: one.right.instructions });
  }
  const sealed = await ports.sessions.seal(call.request.caller.apiKeyId ?? '', {
    place: unionPlace,
    upstream,
  });
  if (E.isLeft(sealed)) return call.failed(sealed.left);
  const instructions = unionInstructions(said);
  const result = {
    protocolVersion: revision,
    capabilities: { tools: {}, prompts: {}, resources: {}, completions: {} },
    serverInfo: ownInfo,
    ...(instructions === undefined ? {} : { instructions }),
  };
  return { ...own(ports, call, result), session: sealed.right };
}

/**
 * Only a cancellation concerns servers. Its request went to one of them, and the others ignore it. A server without
 * sessions is not told, because there the id may be that of anybody's request.
 */
async function passedOn(
  ports: ServeUnionPorts,
  call: McpCall,
  session: McpSession,
  { method, params }: Extract<McpMessage, { readonly kind: 'notification' }>,
): Promise<void> {
  const serverCalls = serverCallsOf(ports, call, session, method).filter(
    (serverCall) => serverCall.session.id !== undefined,
  );
  await Promise.all(serverCalls.map((serverCall) => notifyServer(ports, { ...serverCall, params })));
}

async function answered(ports: ServeUnionPorts, turn: UnionTurn, text: string): Promise<McpAnswer> {
  const { call, message } = turn;
  const { method } = message;
  if (method === 'ping') return own(ports, call, {});
  if (isListMethod(method)) {
    const items = await listedByAll(ports, turn, method);
    return E.isLeft(items)
      ? call.failed(items.left)
      : own(ports, call, { [listedMembers[method]]: items.right });
  }
  const target = Object.hasOwn(targets, method) ? targets[method] : undefined;
  if (target !== undefined) return passed(ports, turn, text, await target(ports, turn));
  return call.failed({
    code: 'unknown_method',
    message: `\`/mcp\` does not answer \`${method}\`; the paths of the servers may.`,
  });
}

const isListMethod = (method: string): method is ListMethod => Object.hasOwn(listedMembers, method);

/** An answer of the gateway's own, which may contain what servers list. */
function own({ secrets }: ServeUnionPorts, call: McpCall, result: JsonObject): McpAnswer {
  call.sent();
  // Servers do not answer on behalf of a caller that is gone, so the result would be incomplete.
  if (call.lost !== undefined) return call.failed(call.lost);
  call.answered(undefined, undefined, 0);
  const text = JSON.stringify({ jsonrpc: '2.0', id: call.id, result });
  return { kind: 'whole', status: 200, text: withoutSecrets(text, secrets()) };
}

/** Sends a message to one server, under the names that the server knows. */
async function passed(
  ports: ServeUnionPorts,
  { call, message, session }: UnionTurn,
  text: string,
  target: Either<McpError, UnionTarget>,
): Promise<McpAnswer> {
  if (E.isLeft(target)) return call.failed(target.left);
  const { server, params } = target.right;
  call.server = server;
  const renamed = { ...message, params: { ...message.params, ...params } };
  call.message = renamed;
  const refused = closedTool(server, renamed);
  if (refused !== undefined) return call.failed(refused);
  const upstream = session.upstream[server.id];
  if (upstream === undefined)
    return call.failed({
      code: 'upstream_unreachable',
      message: `The MCP server \`${server.id}\` was not there when this session began.`,
    });
  call.sent();
  const serverCall = serverCallOf(call, server, upstream, message.method);
  const reply = await ports.upstreams.send(server, {
    // As long as the server's own timeout allows, since the caller waits for this one alone.
    ...exchangeOf({ ...serverCall, withinMs: Number.MAX_SAFE_INTEGER }),
    method: 'POST',
    // What would ask for the task's state and result is not answered here, so the call is made without one.
    text: withParams(text, { ...params, task: undefined }),
    memory: call.request.memory,
    isComplete: () => call.hasEnded,
  });
  if (E.isLeft(reply)) return call.failed(reply.left);
  const union = { session: upstream.id, refuseRequest: refuser(ports, serverCall) };
  return relayedReply({ ...ports, union }, call, server, reply.right);
}

/** The most requests of one server that are being refused at the same time, while it answers one call. */
const maxRefusing = 16;

/**
 * Answers a server's request to the caller in the caller's place, since only the server's own path leads back to it. A
 * server that sends requests without waiting for answers gets none for those above the limit.
 */
function refuser({ upstreams }: ServeUnionPorts, serverCall: Omit<ServerCall, 'params'>) {
  let refusing = 0;
  return (server: McpServer, id: McpId, method: string): void => {
    if (refusing >= maxRefusing) return;
    refusing += 1;
    const message = `\`${method}\` does not pass through \`/mcp\`; the path of the server lets it pass.`;
    // A `ping` only asks whether anybody is there, and the protocol demands that it is answered.
    const answer = method === 'ping' ? { result: {} } : { error: { code: -32_601, message } };
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...answer });
    void upstreams.send(server, { ...exchangeOf(serverCall), method: 'POST', text }).finally(() => {
      refusing -= 1;
    });
  };
}
