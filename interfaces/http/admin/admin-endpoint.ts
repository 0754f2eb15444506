import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type * as t from 'io-ts';
import { type CurrentSession, platformAdmin } from '../../../application/admin/session.ts';
import type { EndedAdminCall, Person } from '../../../application/ports/admin-access.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import { mayCall, presentedToken, type TokenScope } from '../../../domain/identity/admin-token.ts';
import { changesState, isCrossOrigin } from '../../../domain/identity/cross-origin.ts';
import {
  type ErrorCode,
  errorStatus,
  type GatewayError,
  overloaded,
  storeUnavailable,
} from '../../../domain/shared/gateway-error.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { type Arrivals, closingWhenTooSlow } from '../body-pace.ts';
import { type ClientOrigin, countedOrigin } from '../client-address.ts';
import { connectionHeaders, errorHeaders, openAiError, sendError } from '../error-presenter.ts';
import type { AdminGates } from '../gates.ts';
import type { Lease } from '../load-gate.ts';
import { addressOf, header, idHeaders, isEncrypted, type RequestContext } from '../request-context.ts';
import { sendJson } from '../send-json.ts';
import { answerFlushed } from '../stalled-caller.ts';
import { maxAdminBodyBytes, readAdminBody } from './admin-body.ts';
import { AdminCallRecord } from './admin-call-record.ts';
import type { AdminFailure, AdminRoute, BodyInputs, RouteTerms } from './admin-route.ts';
import type { Inputs } from './inputs.ts';
import { type AdminData, serialisedAnswer, serialisedData } from '../json-text.ts';
import { Redirect, sendRedirect } from './redirect.ts';
import { sessionToken } from './session-cookie.ts';

/** The owner of the API token of a call, and the token's scope. */
interface Bearer {
  readonly person: Person;
  readonly adminTokenId: string;
  readonly scope: TokenScope;
}

export interface AdminEndpointPorts {
  readonly gates: AdminGates;
  readonly pace: Arrivals;
  readonly clock: Clock;
  /** The current `server.public_base_url`. */
  readonly publicBaseUrl: () => string | undefined;
  /**
   * How far the replica that some routes read has caught up, asked before they read. `undefined` when there is none.
   */
  readonly asOf?: (() => Promise<string | null>) | undefined;
  /** The current `server.trusted_proxies`. */
  readonly trustedProxies: () => readonly string[];
  /** Called for each call when it ends. */
  readonly onEnded: (call: EndedAdminCall) => void;
  readonly currentSession: (token: string | undefined) => Promise<Either<GatewayError, CurrentSession>>;
  /** The owner of an API token. */
  readonly bearerOf: (shown: string) => Promise<Either<GatewayError, Bearer>>;
  /** True when an error means that the database was unreachable or too busy. */
  readonly isDatabaseTrouble: (error: unknown) => boolean;
}

/** A call of the admin API of which only the origin was checked. */
export interface OpenCall {
  readonly context: RequestContext;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The token in its session cookie. */
  readonly token: string | undefined;
  readonly origin: ClientOrigin;
  readonly lease: Lease;
  /** What is reported about the call. Handlers note there whose call it is. */
  readonly record: AdminCallRecord;
  /** Members of `meta` in the answer, besides its time. */
  readonly meta: { as_of?: string | null };
}

/** An endpoint, which decides itself who may call it. */
export interface AdminEndpoint {
  readonly path: string;
  /** The gate that it is behind; `calls` by default. */
  readonly gate?: 'calls' | 'logins' | 'signIns';
  /** For endpoints that browsers navigate to: the path of a page that explains the refusal. Other clients get JSON. */
  readonly refusalPage?: (code: ErrorCode) => string;
  readonly handle: (call: OpenCall) => Promise<Either<AdminFailure, AdminData | Redirect>>;
}

/** A route that is not only for admins. */
export type OpenRoute = RouteTerms & AdminEndpoint;

interface DeclaredOpen<C extends t.Mixed> extends Pick<AdminEndpoint, 'gate' | 'refusalPage'> {
  readonly method: RouteTerms['method'];
  readonly path: string;
  readonly summary: string;
  readonly query?: Inputs;
  readonly body?: BodyInputs;
  readonly answer: C;
  readonly errors: readonly ErrorCode[];
  readonly handle: (call: OpenCall) => Promise<Either<GatewayError, t.TypeOf<C>>>;
}

/** An open route from its declaration. It reads its inputs itself, because it decides when. */
export const openRoute = <C extends t.Mixed>(declared: DeclaredOpen<C>): OpenRoute => ({
  query: {},
  body: undefined,
  ...declared,
});

/** The endpoint of an admin route: session or token and role first, the body last. */
export const forAdmins =
  (ports: AdminEndpointPorts) =>
  (
    route: Pick<AdminRoute, 'method' | 'path' | 'handle' | 'isRead' | 'sessionOnly' | 'fromReplica'>,
  ): AdminEndpoint => ({
    path: route.path,
    handle: async (call) => {
      const { params, query, record } = call;
      const changes = changesState(route.method);
      const known = await adminOf(ports, route, call);
      if (E.isLeft(known)) return known;
      const read = changes ? await bodyOf(ports, call) : E.right(undefined);
      if (E.isLeft(read)) return read;
      // A body may take a minute to arrive. A caller that is no longer an admin by then must change nothing.
      const admin = changes ? await adminOf(ports, route, call) : known;
      if (E.isLeft(admin)) return admin;
      const { userId, email, adminTokenId } = admin.right;
      const ifMatch = header(call.context.req, 'if-match');
      const by = { userId, email, address: record.address, adminTokenId };
      if (route.fromReplica === true && ports.asOf !== undefined) call.meta.as_of = await ports.asOf();
      return route.handle({ admin: by, params, query, body: read.right, ifMatch });
    },
  });

const tokenRefused = (message: string): Either<GatewayError, never> =>
  E.left({ code: 'admin_required', message });

/** The caller: by the API token of the call if it has one, otherwise by its session. */
async function adminOf(
  ports: AdminEndpointPorts,
  { isRead, sessionOnly = false }: Pick<AdminRoute, 'isRead' | 'sessionOnly'>,
  { context, token, record }: OpenCall,
): Promise<Either<GatewayError, Person & { readonly adminTokenId: string | undefined }>> {
  const shown = presentedToken(header(context.req, 'authorization'));
  const found =
    shown === undefined
      ? pipe(await ports.currentSession(token), E.map(fromSession))
      : await ports.bearerOf(shown);
  if (E.isLeft(found)) return found;
  const { person, scope, adminTokenId } = found.right;
  record.userId = person.userId;
  const admin = platformAdmin(person);
  if (E.isLeft(admin)) return admin;
  if (scope !== undefined && sessionOnly)
    return tokenRefused('An API token may not do this: log in, and do it with a session.');
  if (scope !== undefined && !mayCall(scope, isRead))
    return tokenRefused('This API token may only read: its scope is `read`.');
  return E.right({ ...admin.right, adminTokenId });
}

const fromSession = ({ person }: CurrentSession) => ({ person, scope: undefined, adminTokenId: undefined });

/** The body, read only once the caller is known. */
const bodyOf = (
  { pace }: AdminEndpointPorts,
  { context, lease }: OpenCall,
): Promise<Either<GatewayError, JsonObject | undefined>> =>
  readAdminBody(context.req, maxAdminBodyBytes, lease, closingWhenTooSlow(context, pace));

/** One endpoint: origin → handler → `{data, meta}`, or the error in the OpenAI envelope. */
export const adminEndpoint =
  (ports: AdminEndpointPorts, endpoint: AdminEndpoint) =>
  async (context: RequestContext, params: Readonly<Record<string, string>>): Promise<void> => {
    const { handle, path, gate = 'calls' } = endpoint;
    const answer = answering(ports, endpoint, context);
    const address = addressOf(context.req, ports.trustedProxies());
    const origin = countedOrigin(address);
    const record = new AdminCallRecord(address);
    record.reportWhenOver(ports, context, path);
    const lease = ports.gates[gate].enter();
    try {
      if (lease?.belongsTo(origin.network) !== true) return await answer(record, {}, E.left(overloaded));
      const call = openCall(context, params, origin, lease, record);
      const result = await answerOf(ports, handle, call);
      await answer(record, call.meta, result);
      // An answer is in flight until its last byte has left the process: only then may the process end. An error is
      // sent at once and must not keep its place: a client without a session could keep one by not reading.
      if (E.isRight(result)) await answerFlushed(context.res);
    } finally {
      lease?.release();
    }
  };

const openCall = (
  context: RequestContext,
  params: Readonly<Record<string, string>>,
  origin: ClientOrigin,
  lease: Lease,
  record: AdminCallRecord,
): OpenCall => ({
  context,
  record,
  params,
  query: new URLSearchParams((context.req.url ?? '').replace(/^[^?]*\??/, '')),
  token: sessionToken(context.req),
  meta: {},
  origin,
  lease,
});

const crossOrigin: GatewayError = {
  code: 'cross_origin',
  message:
    'This call comes from another site, or does not say where from: send `Origin` with the origin of this gateway.',
};

const notFound: GatewayError = { code: 'not_found', message: 'There is nothing at this path.' };

async function answerOf(
  ports: AdminEndpointPorts,
  handle: AdminEndpoint['handle'],
  call: OpenCall,
): Promise<Either<AdminFailure, AdminData | Redirect>> {
  const { req } = call.context;
  const origin = {
    method: req.method ?? '',
    secFetchSite: header(req, 'sec-fetch-site'),
    origin: header(req, 'origin'),
    hasCookie: req.headers.cookie !== undefined,
  };
  if (isCrossOrigin(origin, ownOrigin(ports.publicBaseUrl(), req))) return E.left(crossOrigin);
  // No table can hold U+0000, so nothing has such an id.
  if (Object.values(call.params).some((value) => value.includes('\0'))) return E.left(notFound);
  try {
    return await handle(call);
  } catch (error) {
    if (ports.isDatabaseTrouble(error)) return E.left(storeUnavailable());
    call.record.errorCode = 'internal_error';
    throw error;
  }
}

/** The error's envelope, with `data` beside `error` when the failure carries the current state. */
function sendFailure(context: RequestContext, failure: AdminFailure): void {
  const { present, ...error } = failure;
  if (present === undefined) return sendError(context, 'openai', error, connectionHeaders(error));
  if (context.res.headersSent || context.res.destroyed) return;
  const headers = { ...errorHeaders(error), ...idHeaders(context) };
  sendJson(
    context.res,
    errorStatus(error),
    headers,
    serialisedData({ ...openAiError(error), data: present }),
  );
}

/** The origin of `public_base_url`, or else of `Host` with the scheme of the call. */
const ownOrigin = (publicBaseUrl: string | undefined, req: IncomingMessage): string | undefined =>
  URL.parse(publicBaseUrl ?? `${isEncrypted(req) ? 'https' : 'http'}://${req.headers.host ?? ''}`)?.origin;

const answering =
  ({ clock }: AdminEndpointPorts, { refusalPage }: AdminEndpoint, context: RequestContext) =>
  async (
    record: AdminCallRecord,
    more: OpenCall['meta'],
    result: Either<AdminFailure, AdminData | Redirect>,
  ): Promise<void> => {
    if (E.isLeft(result)) {
      const { code } = result.left;
      record.errorCode = code;
      if (refusalPage === undefined || !wantsPage(context)) sendFailure(context, result.left);
      else if (!context.res.destroyed) sendRedirect(context, new Redirect(refusalPage(code)));
    } else if (!context.res.destroyed) {
      if (result.right instanceof Redirect) return sendRedirect(context, result.right);
      const meta = { generated_at: new Date(clock.now()).toISOString(), ...more };
      const text = await serialisedAnswer(result.right, meta);
      if (!context.res.destroyed) sendJson(context.res, 200, idHeaders(context), text);
    }
  };

/** Browser navigation asks for HTML; scripts and `fetch` do not. */
const wantsPage = ({ req }: RequestContext): boolean => header(req, 'accept')?.includes('text/html') === true;
