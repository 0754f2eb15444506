import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { KeylessRequest } from '../../../application/mcp/keyless-call.ts';
import { isSubscription, type McpAnswer, type McpRequest } from '../../../application/mcp/mcp-request.ts';
import type { McpService } from '../../../application/mcp/serve-mcp.ts';
import type { McpTelemetry } from '../../../application/ports/mcp-telemetry.ts';
import { type Caller, ownerOf, ownershipScopeKey } from '../../../domain/identity/caller.ts';
import {
  type McpError,
  type McpErrorCode,
  mcpErrorMessage,
  mcpErrors,
  mcpErrorStatus,
  noRoom,
} from '../../../domain/mcp/mcp-error.ts';
import type { Secrets } from '../../../domain/payload/secrets.ts';
import { type GatewayError, tooManyRequests } from '../../../domain/shared/gateway-error.ts';
import { maxMcpRequestBytes } from '../../../domain/shared/limits.ts';
import { readJsonText } from '../body.ts';
import { type Arrivals, closingWhenTooSlow } from '../body-pace.ts';
import type { KeepAlive } from '../keep-alive.ts';
import type { LoadGate } from '../load-gate.ts';
import { readAsCaller } from '../read-as-caller.ts';
import { callerKeyOf, traceContext } from '../public/caller-headers.ts';
import { header, idHeaders, type RequestContext } from '../request-context.ts';
import { commonHeaders, sendJson } from '../send-json.ts';
import { answerFlushed, untilFlushed } from '../stalled-caller.ts';
import { StreamedBody } from '../streamed-body.ts';
import { mcpHeaders } from './mcp-headers.ts';

/** What the MCP endpoints admit, apart from model requests, so that load on one never shuts out the other. */
export interface McpGates {
  readonly calls: LoadGate;
  /** For streams on which servers send messages of their own: they last, and shutdown does not wait for them. */
  readonly streams: LoadGate;
}

/** The services behind the MCP endpoints. */
export interface McpServices {
  /** Serves one server. */
  readonly service: McpService;
  /** Serves all servers that a key may use. */
  readonly union: McpService;
  readonly telemetry: McpTelemetry;
  /** Called for requests without a valid key, or whose key was never looked up. */
  readonly keyless: (request: KeylessRequest, error: McpError) => void;
  readonly gates: McpGates;
}

export interface McpEndpointPorts {
  readonly authenticate: (req: IncomingMessage) => Promise<Either<GatewayError, Caller>>;
  readonly mcp: McpServices;
  readonly pace: Arrivals;
  readonly keepAlive: KeepAlive;
  readonly secrets: () => Secrets;
  /** Origins of browser apps that may call the public API. */
  readonly corsOrigins: () => readonly string[];
}

type Method = 'POST' | 'GET' | 'DELETE';

/** `POST`, `GET` and `DELETE` of an MCP endpoint: authenticate → read → serve → answer. */
export const mcpEndpoint =
  (ports: McpEndpointPorts, method: Method, service: McpService) =>
  async (context: RequestContext, serverId: string): Promise<void> => {
    const { req } = context;
    const keyless = (error: McpError): void => {
      ports.mcp.keyless({ ...context, serverId, callerSecrets: callerKeyOf(req) }, error);
      sendMcpError(context, error);
    };
    const { streams, calls } = ports.mcp.gates;
    const headers = mcpHeaders(req);
    // A stream without an end of its own: shutdown does not wait for it.
    const lasts = method === 'GET' || isSubscription(headers);
    const lease = (lasts ? streams : calls).enter();
    // Looking up the key would be work, for which there is no room.
    if (lease === undefined) return keyless(noRoom);
    try {
      const caller = await ports.authenticate(req);
      if (E.isLeft(caller)) return keyless(ofGateway(caller.left));
      const request = mcpRequest(ports, context, {
        caller: caller.right,
        serverId,
        headers,
        memory: lease,
      });
      const refused = lease.belongsTo(ownershipScopeKey(ownerOf(caller.right)))
        ? headerError(ports, req, method)
        : ofGateway(tooManyRequests);
      const answer =
        refused === undefined
          ? await served(method, service, request, () =>
              readJsonText(req, {
                maxBytes: maxMcpRequestBytes,
                lease,
                arrivals: closingWhenTooSlow(context, ports.pace),
              }),
            )
          : service.refuse(request, refused);
      await answerWith(ports, context, answer);
      await answerFlushed(context.res);
    } finally {
      lease.release();
    }
  };

function mcpRequest(
  ports: McpEndpointPorts,
  { req, requestId, receivedAt, link }: RequestContext,
  known: Pick<McpRequest, 'caller' | 'serverId' | 'headers' | 'memory'>,
): McpRequest {
  return {
    ...known,
    requestId,
    receivedAt,
    authenticateAgain: async () => pipe(await ports.authenticate(req), E.mapLeft(ofGateway)),
    callerSecrets: callerKeyOf(req),
    session: header(req, 'mcp-session-id'),
    link,
    telemetry: ports.mcp.telemetry.begin(traceContext(req, ports.secrets())),
  };
}

async function served(
  method: Method,
  service: McpService,
  request: McpRequest,
  readBody: () => ReturnType<typeof readJsonText>,
): Promise<McpAnswer> {
  if (method === 'GET') return service.listen(request);
  if (method === 'DELETE') return service.end(request);
  const known = E.right(request.caller);
  const [text, caller] = await readAsCaller(readBody, known, request.authenticateAgain);
  return E.isLeft(caller)
    ? service.refuse(request, caller.left)
    : service.post({ ...request, caller: caller.right }, pipe(text, E.mapLeft(ofGateway)));
}

/** Errors that reject a request before its body is read. */
function headerError(ports: McpEndpointPorts, req: IncomingMessage, method: Method): McpError | undefined {
  const origin = header(req, 'origin');
  const origins = ports.corsOrigins();
  // A page from another origin must not reach servers behind the gateway through somebody's browser.
  if (origin !== undefined && !origins.includes('*') && !origins.includes(origin) && !isOwn(origin, req))
    return { code: 'cross_origin', message: 'This origin may not call MCP servers.' };
  // Routes for `GET` also answer `HEAD`, which would hold open a stream that nobody reads.
  if (req.method === 'HEAD')
    return { code: 'no_stream', message: 'A stream is asked for with `GET`, and read.' };
  const accept = header(req, 'accept') ?? '';
  const accepts = (type: string): boolean => accept.includes(type) || accept.includes('*/*');
  if (method === 'POST' && !(accepts('application/json') && accepts('text/event-stream')))
    return {
      code: 'not_acceptable',
      message: 'A call accepts both `application/json` and `text/event-stream`.',
    };
  if (method === 'GET' && !accepts('text/event-stream'))
    return { code: 'not_acceptable', message: 'A stream is accepted as `text/event-stream`.' };
  return undefined;
}

/** A page served by this machine at this address. Only loopback names count, because anyone can point a name here. */
const isOwn = (origin: string, req: IncomingMessage): boolean =>
  origin === `http://${header(req, 'host')}` &&
  /^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::|$)/.test(origin);

const ofGateway = ({ code, message }: GatewayError): McpError =>
  isMcpCode(code)
    ? { code, message }
    : { code: 'internal_error', message: 'The gateway failed to handle the call.' };

const isMcpCode = (code: string): code is McpErrorCode => Object.hasOwn(mcpErrors, code);

function sendMcpError(context: RequestContext, error: McpError): void {
  const { res } = context;
  if (res.headersSent || res.destroyed) return;
  const status = mcpErrorStatus(error, undefined);
  const headers = { ...idHeaders(context), ...errorHeaders(status, error.code) };
  sendJson(res, status, headers, JSON.stringify(mcpErrorMessage(error, undefined)));
}

const errorHeaders = (status: number, code: McpErrorCode): Readonly<Record<string, string>> => ({
  'x-gateway-error': code,
  ...(status === 429 || status === 503 ? { 'retry-after': '1' } : {}),
});

async function answerWith(
  ports: McpEndpointPorts,
  context: RequestContext,
  answer: McpAnswer,
): Promise<void> {
  const { res } = context;
  const headers = {
    ...idHeaders(context),
    ...(answer.session === undefined ? {} : { 'mcp-session-id': answer.session }),
  };
  if (answer.kind === 'events') return sendEvents(ports, context, headers, answer.events);
  if (res.destroyed) return;
  if (answer.kind === 'whole') {
    const { status, text, error } = answer;
    const more = error !== undefined && status >= 400 ? errorHeaders(status, error) : {};
    return sendJson(res, status, { ...headers, ...more }, text);
  }
  res.writeHead(answer.status, { ...commonHeaders, ...headers, 'content-length': 0 });
  res.end();
}

const eventHeaders = {
  ...commonHeaders,
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

/** Writes no faster than the caller reads. A client disconnect ends the stream. */
async function sendEvents(
  { keepAlive }: McpEndpointPorts,
  context: RequestContext,
  headers: Readonly<Record<string, string>>,
  events: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const body = new StreamedBody(context, { ...eventHeaders, ...headers });
  // Without a blank line, which clients with httpx-sse take for an event after one with an id (rule 54.63).
  const alive = keepAlive.watch(() => body.keepAlive(':\n'));
  try {
    for await (const event of events) {
      if (context.link.gone()) break;
      alive.touch();
      if (!body.write([event])) await untilFlushed(context.res, 'drain');
    }
  } finally {
    alive.over();
  }
  body.end();
}
