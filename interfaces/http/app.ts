import type { IncomingMessage } from 'node:http';
import { Router } from '@koa/router';
import Koa from 'koa';
import { chatCompletions, countTokens, embeddings, messages, responses } from '../../application/families.ts';
import { unionPlace } from '../../application/mcp/serve-union.ts';
import type { Clock } from '../../application/ports/clock.ts';
import { redactedError } from '../../domain/payload/redact.ts';
import { withSecrets } from '../../domain/payload/secrets.ts';
import type { Digest } from '../../domain/shared/digest.ts';
import { type GatewayError, invalidRequest } from '../../domain/shared/gateway-error.ts';
import { adminEndpoint, type AdminEndpoint, forAdmins, type OpenRoute } from './admin/admin-endpoint.ts';
import type { AdminRoute, RouteTerms } from './admin/admin-route.ts';
import { maxLoginBytes } from './admin/login-bodies.ts';
import { type OpenRoutesPorts, openRoutes } from './admin/open-routes.ts';
import { crossOrigin } from './cors.ts';
import type { CutOff } from './cut-off.ts';
import { type Envelope, sendError } from './error-presenter.ts';
import { type HealthPorts, healthz, readyz } from './health.ts';
import { type McpEndpointPorts, mcpEndpoint } from './mcp/mcp-endpoint.ts';
import { callerKeyOf } from './public/caller-headers.ts';
import { type ModelEndpointPorts, modelEndpoint } from './public/model-endpoint.ts';
import { envelopeOf, modelDetails, type ModelsPorts, modelsEndpoint } from './public/models.ts';
import { chatFormat, embeddingsFormat, messagesFormat, responsesFormat } from './public/wire-format.ts';
import { type Described, openApiDocument } from './openapi/document.ts';
import { idHeaders, openContext, type RequestContext } from './request-context.ts';
import { sendJson } from './send-json.ts';
import { answerFlushed } from './stalled-caller.ts';
import { unknownPath, type UnknownPathTerms } from './unknown-path.ts';
import { discardRest } from './unread-body.ts';

export interface AdminApiPorts extends OpenRoutesPorts {
  readonly routes: readonly AdminRoute[];
}

export interface AppPorts extends ModelEndpointPorts, McpEndpointPorts, ModelsPorts, HealthPorts {
  readonly admin: AdminApiPorts;
  readonly clock: Clock;
  readonly digest: Digest;
  /** Fires at the end of the grace period, when something is still in flight. */
  readonly cutOff: CutOff;
  /** Serves the admin page, given the path under `/admin/`. */
  readonly page: (context: RequestContext, at: string) => Promise<void>;
  /** Called for defects only, never for an expected failure. */
  readonly onDefect: (error: unknown, requestId: string) => void;
}

interface State {
  request: RequestContext;
}

/**
 * Koa without its watch on the end of each response (`on-finished`), which costs as much as routing and reading a small
 * body together. It is not needed: handlers answer by themselves, and `openContext` detects client disconnects.
 */
class GatewayApp extends Koa<State> {
  private readonly onDefect: (error: unknown) => void;

  constructor(onDefect: (error: unknown) => void) {
    super();
    this.onDefect = onDefect;
  }

  /** An error in the safety net itself closes this connection, and does not end the process with all others. */
  handleRequest(
    ctx: Koa.ParameterizedContext<State>,
    run: (ctx: Koa.ParameterizedContext<State>) => Promise<void>,
  ) {
    return run(ctx).catch((error: unknown) => {
      ctx.res.destroy();
      this.onDefect(error);
    });
  }
}

/** What a listener serves: every path, or only those of callers or of admins. Health endpoints are on each. */
export type Served = 'all' | 'callers' | 'admins';

/** The HTTP layer. Handlers write to the response themselves; Koa provides order, routing and a safety net. */
export const gatewayApp =
  (ports: AppPorts) =>
  (served: Served): Koa<State> => {
    const app = new GatewayApp((error) => ports.onDefect(error, ''));
    app.silent = true;
    const isPreflight = crossOrigin(served === 'admins' ? () => [] : ports.corsOrigins);
    const isForAdmins = (path: string): boolean => served === 'admins' || adminPath.test(path);
    app.use(async (ctx, next) => {
      ctx.respond = false;
      const context = openContext(ctx.req, ctx.res, ports.clock.now(), ports.clock.newId, ports.cutOff);
      ctx.state.request = context;
      const path = pathOf(ctx);
      const fault = path === undefined ? targetFault : hostFaultOf(ctx.req);
      const ofAdmins = isForAdmins(path ?? '');
      const envelope = (): Envelope => envelopeFor(path ?? '', context);
      try {
        if (fault !== undefined) sendError(context, envelope(), fault, { connection: 'close' });
        else if (ofAdmins || !isPreflight(context)) await next();
      } catch (error) {
        ports.onDefect(error, context.requestId);
        fail(context, envelope());
      } finally {
        if (!ctx.req.complete)
          discardRest(context, ports.pace, ofAdmins ? maxLoginBytes : ports.bodyMaxBytes);
      }
      // A client that stops reading its answer is disconnected, whatever the request was.
      await answerFlushed(ctx.res);
    });
    const models = served === 'admins' ? new Map<string, Answer>() : modelPaths(ports);
    // The router tries every path in turn. Most requests are to one of these, which a map finds at once.
    app.use((ctx, next) => (ctx.method === 'POST' ? models.get(ctx.path)?.(ctx) : undefined) ?? next());
    const router = routes(ports, served, models);
    app.use(router.routes());
    app.use(async (ctx) => notServed(ports, router, ctx.path, ctx.state.request));
    return app;
  };

type Answer = (ctx: { state: State }) => Promise<void>;

function routes(ports: AppPorts, served: Served, models: ReadonlyMap<string, Answer>): Router<State> {
  // `/V1/Models` and `/v1/models/` are different paths: a proxy in front may guard only the exact path.
  const router = new Router<State>({ sensitive: true, strict: true });
  for (const [path, answer] of models) router.post(path, answer);
  if (served !== 'admins') mountPublicApi(router, ports);
  router.get('/', on(root));
  router.get('/healthz', on(healthz));
  router.get('/readyz', on(readyz(ports)));
  if (served !== 'callers') mountForAdmins(router, ports);
  return router;
}

const on =
  (handler: (context: RequestContext) => Promise<void>): Answer =>
  ({ state }) =>
    handler(state.request);

/** The model endpoints by path. All are POST. */
function modelPaths(ports: AppPorts): ReadonlyMap<string, Answer> {
  const answerMessages = on(modelEndpoint(ports, messages, messagesFormat));
  const answerCount = on(modelEndpoint(ports, countTokens, messagesFormat));
  return new Map([
    ['/v1/chat/completions', on(modelEndpoint(ports, chatCompletions, chatFormat))],
    ['/v1/messages', answerMessages],
    ['/messages', answerMessages],
    ['/v1/messages/count_tokens', answerCount],
    ['/messages/count_tokens', answerCount],
    ['/v1/responses', on(modelEndpoint(ports, responses(ports.digest), responsesFormat))],
    ['/v1/embeddings', on(modelEndpoint(ports, embeddings, embeddingsFormat))],
  ]);
}

function mountPublicApi(router: Router<State>, ports: AppPorts): void {
  router.get('/v1/models', on(modelsEndpoint(ports)));
  const answerModel = modelDetails(ports);
  router.get(modelPath, (ctx) => answerModel(ctx.state.request, ctx.path.slice(modelsPrefix.length)));
  for (const method of mcpMethods) {
    const { service, union } = ports.mcp;
    const answer = mcpEndpoint(ports, method, service);
    router.register(mcpPath, [method], (ctx) => answer(ctx.state.request, ctx.path.slice(mcpPrefix.length)));
    const answerUnion = mcpEndpoint(ports, method, union);
    router.register('/mcp', [method], (ctx) => answerUnion(ctx.state.request, unionPlace));
  }
}

function mountForAdmins(router: Router<State>, ports: AppPorts): void {
  router.get(pagePath, (ctx) => ports.page(ctx.state.request, ctx.path.slice(pagePrefix.length)));
  const open = openRoutes(ports.admin);
  mountAdminApi(router, ports.admin, open);
  router.get('/api/v1/openapi.json', on(describeApi({ admin: ports.admin.routes, open })));
}

/** The description is built on the first request, because startup does not need it. All answers share its bytes. */
function describeApi(routes: Described): (context: RequestContext) => Promise<void> {
  let description: Uint8Array | undefined;
  return async (context) => {
    description ??= Buffer.from(JSON.stringify(openApiDocument(routes)));
    sendJson(context.res, 200, idHeaders(context), description);
  };
}

function mountAdminApi(router: Router<State>, ports: AdminApiPorts, open: readonly OpenRoute[]): void {
  const asEndpoint = forAdmins(ports);
  const mount = ({ method }: Pick<RouteTerms, 'method'>, endpoint: AdminEndpoint): void => {
    const answer = adminEndpoint(ports, endpoint);
    router.register(endpoint.path, [method], (ctx) => answer(ctx.state.request, ctx.params));
  };
  for (const route of open) mount(route, route);
  for (const route of ports.routes) mount(route, asEndpoint(route));
}

/** The id of a server in its exact spelling: decoded, it would also be found where a proxy does not see it. */
const mcpPrefix = '/mcp/';
const mcpPath = `${mcpPrefix}:server_id`;
const mcpMethods = ['POST', 'GET', 'DELETE'] as const;

const pagePrefix = '/admin/';
const pagePath = /^\/admin(?:\/|$)/;

const modelsPrefix = '/v1/models/';
const modelPath = /^\/v1\/models\/./;

/** Clients without a key request this path to check whether a base URL leads anywhere. */
async function root(context: RequestContext): Promise<void> {
  sendJson(context.res, 200, idHeaders(context), JSON.stringify({ name: 'model-gateway' }));
}

const messagesPath = /^(?:\/v1)?\/messages(?:\/|$)/;
const adminPath = /^\/api(?:\/|$)/;

function envelopeFor(path: string, { req }: RequestContext): Envelope {
  if (adminPath.test(path)) return 'openai';
  return messagesPath.test(path) ? 'messages' : envelopeOf(req);
}

/**
 * An unknown path gets a 404 in the family's envelope; a known path with another method gets a 405, or a 426 if a
 * WebSocket is requested there: only at that status do clients change to HTTP without further attempts.
 */
function notServed(
  { secrets }: Pick<AppPorts, 'secrets'>,
  router: Router<State>,
  path: string,
  context: RequestContext,
): void {
  const method = context.req.method ?? '';
  const methodsOf = (at: string): readonly string[] =>
    router.match(at, method).path.flatMap(({ methods }) => methods);
  const allowed = [...new Set(methodsOf(path))];
  if (allowed.length > 0 && context.req.headers.upgrade?.toLowerCase() === 'websocket')
    return sendError(context, envelopeFor(path, context), websocketUnsupported, {
      connection: 'upgrade, close',
      upgrade: 'HTTP/1.1',
    });
  if (allowed.length > 0)
    return sendError(context, envelopeFor(path, context), methodNotAllowed(method), {
      allow: allowed.join(', '),
    });
  const terms: UnknownPathTerms = {
    isPath: (at) => methodsOf(at).length > 0,
    redacted: (text) => redactedError(text, { secrets: withSecrets(secrets(), callerKeyOf(context.req)) }),
  };
  sendError(context, envelopeFor(path, context), unknownPath(path, terms));
}

const targetFault: GatewayError = invalidRequest('The request target is no path and no URL.');

/** The requested path, or `undefined` when the target has none or cannot be parsed. */
function pathOf(ctx: { readonly url: string; readonly path: string | null }): string | undefined {
  if (oddPath.test(ctx.url)) return undefined;
  try {
    return ctx.path ?? undefined;
  } catch {
    // Node's HTTP parser accepts targets at which its URL parser throws, such as `http://[`.
    return undefined;
  }
}

/**
 * In a target with a fragment, and in a URL, Node's URL parser reads a backslash as a slash: `/api\v1#` is `/api/v1`,
 * past a proxy that guards `/api/`. No path may contain either character (rule 33.45).
 */
const oddPath = /^[^?]*[#\\]/;

const hostFault: GatewayError = invalidRequest('A request has one `Host` header.', 'host');

/**
 * HTTP requires exactly one `Host` header: with two, a proxy that reads the other one sees a different request.
 * HTTP/1.0 may omit it.
 */
function hostFaultOf({ rawHeaders, httpVersionMinor }: IncomingMessage): GatewayError | undefined {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0) ? undefined : hostFault;
}

const methodNotAllowed = (method: string): GatewayError => ({
  code: 'method_not_allowed',
  message: `This path does not answer to ${method}.`,
});

const websocketUnsupported: GatewayError = {
  code: 'websocket_unsupported',
  message: 'This path is served over HTTP, not over a WebSocket.',
};

/** A defect before the response head is a 500. After it the connection is cut, so that nothing looks complete. */
function fail(context: RequestContext, envelope: Envelope): void {
  if (context.res.headersSent) context.res.destroy();
  else sendError(context, envelope, { code: 'internal_error', message: '' });
}
