import type { IncomingMessage } from 'node:http';
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { ParsedRequest, Family, ModelAnswer, ModelRequest } from '../../../application/model-request.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { Decompress } from '../../../application/ports/decompression.ts';
import type { FinishedRequest, RequestTelemetry, Telemetry } from '../../../application/ports/telemetry.ts';
import { type Caller, ownerOf, ownershipScopeKey } from '../../../domain/identity/caller.ts';
import { type Secrets, withoutSecrets, withSecrets } from '../../../domain/payload/secrets.ts';
import { noTags, readCallerTags } from '../../../domain/request-log/caller-tags.ts';
import { elapsedMs } from '../../../domain/shared/elapsed.ts';
import {
  errorStatus,
  type GatewayError,
  outcomeOf,
  overloaded,
  tooManyRequests,
} from '../../../domain/shared/gateway-error.ts';
import { type ReadBody, readJsonBody } from '../body.ts';
import type { BodyTurns } from '../body-turns.ts';
import { type Arrivals, closingWhenTooSlow } from '../body-pace.ts';
import { connectionHeaders, sendError } from '../error-presenter.ts';
import type { Lease, LoadGate } from '../load-gate.ts';
import { readAsCaller } from '../read-as-caller.ts';
import { header, idHeaders, isEncrypted, type RequestContext } from '../request-context.ts';
import { sendJson } from '../send-json.ts';
import { answerFlushed } from '../stalled-caller.ts';
import type { KeepAlive } from '../keep-alive.ts';
import { callerKeyOf, traceContext } from './caller-headers.ts';
import { sendStream } from './stream-answer.ts';
import { type LimitsPorts, setLimitHeaders } from './limit-response-headers.ts';
import type { WireFormat } from './wire-format.ts';

export interface ModelEndpointPorts extends LimitsPorts {
  readonly authenticate: (req: IncomingMessage) => Promise<E.Either<GatewayError, Caller>>;
  readonly serve: <A extends ParsedRequest>(family: Family<A>, request: ModelRequest) => Promise<ModelAnswer>;
  readonly telemetry: Telemetry;
  readonly gate: LoadGate;
  readonly pace: Arrivals;
  readonly turns: BodyTurns;
  readonly decompress: Decompress;
  readonly keepAlive: KeepAlive;
  readonly clock: Clock;
  readonly bodyMaxBytes: number;
  /** The credentials of the configuration. */
  readonly secrets: () => Secrets;
}

/**
 * A model endpoint: authenticate → read → authenticate again if the body was slow → serve → answer. The same for every
 * family.
 */
export function modelEndpoint<A extends ParsedRequest>(
  ports: ModelEndpointPorts,
  family: Family<A>,
  format: WireFormat,
) {
  const refuse = (
    context: RequestContext,
    telemetry: RequestTelemetry,
    error: GatewayError,
    caller?: Caller,
  ): void => {
    telemetry.finished({ ...unserved(ports, context, family, error), caller });
    setLimitHeaders(ports, context, format.envelope, caller?.limits);
    sendError(context, format.envelope, error);
  };

  const answered = async (
    context: RequestContext,
    telemetry: RequestTelemetry,
    known: E.Either<GatewayError, Caller>,
    lease: Lease,
  ): Promise<void> => {
    const request = await requestOf(ports, context, known, { telemetry, memory: lease });
    if (E.isLeft(request)) return refuse(context, telemetry, request.left);
    const answer = await ports.serve(family, request.right);
    setLimitHeaders(ports, context, format.envelope, answer.limits ?? request.right.caller.limits);
    if (answer.kind === 'stream') await sendStream(context, format, ports.keepAlive, answer.deliver);
    else if (answer.kind === 'refused')
      sendError(context, format.envelope, answer.error, connectionHeaders(answer.error));
    else sendWhole(context, answer.text);
  };

  return async (context: RequestContext): Promise<void> => {
    const telemetry = ports.telemetry.begin(arrival(context, family, ports.secrets()));
    const lease = ports.gate.enter();
    try {
      if (lease === undefined) return refuse(context, telemetry, overloaded);
      const caller = await ports.authenticate(context.req);
      if (E.isLeft(caller)) return refuse(context, telemetry, caller.left);
      if (!lease.belongsTo(ownershipScopeKey(ownerOf(caller.right))))
        return refuse(context, telemetry, tooManyRequests, caller.right);
      await answered(context, telemetry, caller, lease);
      await answerFlushed(context.res);
    } catch (error) {
      telemetry.finished(unserved(ports, context, family, defect));
      throw error;
    } finally {
      lease?.release();
      telemetry.over(context.res.headersSent ? context.res.statusCode : undefined);
    }
  };
}

const arrival = (
  { req }: RequestContext,
  { name }: Pick<Family<ParsedRequest>, 'name'>,
  secrets: Secrets,
) => ({
  family: name,
  scheme: isEncrypted(req) ? ('https' as const) : ('http' as const),
  userAgent: header(req, 'user-agent'),
  traceContext: traceContext(req, secrets),
});

/** A request that already has an outcome keeps it: a defect after settlement is only logged. */
const defect: GatewayError = { code: 'internal_error', message: '' };

const bodyOf = (
  { bodyMaxBytes, pace, turns, decompress }: ModelEndpointPorts,
  context: RequestContext,
  lease: Lease,
): Promise<E.Either<GatewayError, ReadBody>> =>
  readJsonBody(context.req, {
    maxBytes: bodyMaxBytes,
    lease,
    arrivals: closingWhenTooSlow(context, pace),
    turns,
    decompress,
  });

/** What a request has from its beginning to its end. */
interface Opened {
  readonly telemetry: RequestTelemetry;
  readonly memory: Lease;
}

/** A function of its own, because one that waits keeps all its values: the answer may take minutes. */
async function requestOf(
  ports: ModelEndpointPorts,
  context: RequestContext,
  known: E.Either<GatewayError, Caller>,
  opened: Opened,
): Promise<E.Either<GatewayError, ModelRequest>> {
  const [body, caller] = await readAsCaller(
    () => bodyOf(ports, context, opened.memory),
    known,
    () => ports.authenticate(context.req),
  );
  return pipe(
    caller,
    E.map((each) => modelRequest(ports, context, { ...opened, caller: each }, body)),
  );
}

function modelRequest(
  { clock }: ModelEndpointPorts,
  { req, requestId, callerChoseRequestId, receivedAt, link }: RequestContext,
  known: Pick<ModelRequest, 'caller' | 'telemetry' | 'memory'>,
  body: E.Either<GatewayError, ReadBody>,
): ModelRequest {
  return {
    ...known,
    requestLogId: callerChoseRequestId ? clock.newId() : requestId,
    requestId,
    callerChoseRequestId,
    receivedAt,
    tags: hasTags(req) ? readCallerTags((name) => req.headersDistinct[name] ?? []) : E.right(noTags),
    userAgent: header(req, 'user-agent'),
    headers: req.headers,
    callerKey: callerKeyOf(req),
    betas: betasOf(req),
    body: E.isLeft(body) ? body : E.right(body.right.text),
    ...(E.isRight(body) && body.right.utf8 !== undefined ? { takeUtf8: takenOnce(body.right.utf8) } : {}),
    link,
  };
}

function takenOnce<A>(value: A): () => A | undefined {
  let held: A | undefined = value;
  return () => {
    const taken = held;
    held = undefined;
    return taken;
  };
}

const tagHeaders = ['x-gateway-service', 'x-gateway-component', 'x-gateway-env', 'x-gateway-tags'] as const;

const hasTags = (req: IncomingMessage): boolean => tagHeaders.some((name) => req.headers[name] !== undefined);

/** The beta flags of a messages caller: a list, even when it comes as several headers. */
const betasOf = (req: IncomingMessage): readonly string[] =>
  header(req, 'anthropic-beta')
    ?.split(',')
    .map((flag) => flag.trim()) ?? [];

function sendWhole(context: RequestContext, text: string | Uint8Array): void {
  if (!context.res.destroyed) sendJson(context.res, 200, idHeaders(context), text);
}

/**
 * A request without a valid key, one that there was no room for, or one that ended in a defect. Its id is reported like
 * that of a served request: without secrets that the caller may have put there.
 */
const unserved = (
  { clock, secrets }: Pick<ModelEndpointPorts, 'clock' | 'secrets'>,
  { req, requestId, callerChoseRequestId, receivedAt }: RequestContext,
  family: Pick<Family<ParsedRequest>, 'name'>,
  error: GatewayError,
): FinishedRequest => ({
  requestId: callerChoseRequestId
    ? withoutSecrets(requestId, withSecrets(secrets(), callerKeyOf(req)))
    : requestId,
  requestLogId: undefined,
  family: family.name,
  stream: false,
  outcome: outcomeOf[error.code],
  statusCode: errorStatus(error),
  errorCode: error.code,
  latencyMs: elapsedMs(receivedAt, clock.now()),
  caller: undefined,
  modelKey: undefined,
  resolved: undefined,
  attemptStatus: undefined,
  usage: undefined,
  usageUnusable: false,
  cost: undefined,
  unbilled: [],
  settled: 'recorded',
  exposedToolCount: undefined,
  invokedToolCount: undefined,
  tags: noTags,
});
