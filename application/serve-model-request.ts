import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { admit, budgetExceeded, windowShut } from '../domain/budget/hard-limit.ts';
import { type Caller, mayUseModel } from '../domain/identity/caller.ts';
import { rateLimited } from '../domain/limits/limit-refusal.ts';
import type { RateLimit } from '../domain/limits/rate-limit.ts';
import type { ResolvedRoute } from '../domain/routing/model.ts';
import { resolveRoute } from '../domain/routing/resolve-route.ts';
import { unknownModel } from '../domain/routing/unknown-model.ts';
import { type GatewayError, invalidRequest, shuttingDown } from '../domain/shared/gateway-error.ts';
import { callUpstream } from './call-upstream.ts';
import { drainSlots } from './client-disconnect.ts';
import type {
  AnswerPath,
  ParsedRequest,
  RequestTerms,
  Family,
  ModelAnswer,
  ModelRequest,
} from './model-request.ts';
import type { ServePolicy, ServePorts } from './serve-ports.ts';
import { listModels } from './list-models.ts';
import type { CatalogueSnapshot } from './ports/catalogue.ts';
import type { Admission } from './ports/ledger.ts';
import type { CallTerms } from './ports/upstream.ts';
import { requestBody } from './request-body.ts';
import { requestRedaction } from './request-redaction.ts';
import type { Admitted, Arrived, ReadStage, Facts, Prepared, Routed } from './request-stages.ts';
import { settleRequest } from './settle-request.ts';

/**
 * The life of a model request: read → resolve → prepare → admit → execute → settle. Nothing is sent upstream before the
 * owner is admitted, and nothing complete reaches the caller before the settlement is committed.
 */
export function serveModelRequest(ports: ServePorts, policy: () => ServePolicy) {
  const settle = settleRequest(ports, policy);
  const call = callUpstream(
    ports,
    policy,
    settle.called,
    drainSlots(() => policy().maxDrains),
  );

  const refuse = async (facts: Facts, refusal: GatewayError): Promise<ModelAnswer> => {
    // An error may name a key of the caller's body, which may be a secret.
    const fit = facts.redaction.fit(refusal);
    const why = facts.request.link.lost();
    await settle.unsent(facts, why === undefined ? { kind: 'refused', error: fit } : { kind: 'left', why });
    return under(facts, { kind: 'refused', error: why === 'shutting_down' ? shuttingDown() : fit });
  };

  return async function serve<A extends ParsedRequest>(
    family: Family<A>,
    request: ModelRequest,
  ): Promise<ModelAnswer> {
    const body = requestBody(ports, family, request, policy().bodyMaxValues);
    const redaction = requestRedaction(request, policy);
    const arrived: Arrived = { family: family.name, request, body, redaction };

    const read = await body.read();
    const bodySummary = E.isRight(read) ? read.right : read.left.bodySummary;
    const parsed = E.isLeft(request.tags) ? request.tags : read;
    if (E.isLeft(parsed)) return refuse({ ...arrived, bodySummary }, parsed.left);
    const asked: ReadStage = { ...arrived, bodySummary, parsed: parsed.right };

    const snapshot = ports.catalogue.snapshot();
    const resolved = resolve(snapshot, family, request, parsed.right);
    if (E.isLeft(resolved)) return refuse(asked, resolved.left);
    const path = family.answerPath(parsed.right, resolved.right, request.requestLogId);
    const limits = limitsOf(request.caller, snapshot, parsed.right);
    const { prices } = snapshot;
    const routed: Routed = { ...asked, resolved: resolved.right, prices, path, limits };

    const terms = callTerms(request, parsed.right, resolved.right, path);
    const written = await body.prepare(resolved.right, terms);
    if (E.isLeft(written)) return refuse(routed, written.left);
    const prepared: Prepared = { ...routed, terms, prepared: written.right };

    const claim = policy().duplicateRequestIds === 'reject' && request.callerChoseRequestId;
    const admission = await request.telemetry.during('admission', () =>
      ports.ledger.admit({
        requestLogId: request.requestLogId,
        requestId: request.requestId,
        callerChoseRequestId: request.callerChoseRequestId,
        caller: request.caller,
        claim,
        ...(limits.length === 0 ? {} : { limits }),
      }),
    );
    if (E.isLeft(admission)) return refuse(prepared, admission.left);
    const admittedAt = ports.clock.now();
    const admitted: Admitted = { ...prepared, admission: admission.right, admittedAt, claim };

    const rejection = admissionRejection(admission.right, policy());
    if (rejection !== undefined) return refuse(admitted, rejection);
    if (request.link.lost() !== undefined) return refuse(admitted, callerLeft);

    return under(admitted, await call(admitted));
  };
}

/** Ends the pipeline without a call, because nobody is left to answer. The request is recorded as `left`. */
const callerLeft: GatewayError = invalidRequest('The caller left before the request was sent upstream.');

const callTerms = (
  { requestLogId, receivedAt, betas }: ModelRequest,
  { model, stream, calls }: RequestTerms,
  { route }: ResolvedRoute,
  { speaks, translation }: AnswerPath,
): CallTerms => ({
  route,
  family: speaks.family,
  ...(translation === undefined ? {} : { translated: true }),
  stream,
  answer: {
    id: `chatcmpl-${requestLogId.replaceAll('-', '')}`,
    model,
    createdSecs: Math.floor(receivedAt / 1000),
    calls,
  },
  betas,
});

function resolve(
  snapshot: CatalogueSnapshot,
  { unserved }: Pick<Family<ParsedRequest>, 'unserved'>,
  { caller }: ModelRequest,
  parsed: RequestTerms,
): Either<GatewayError, ResolvedRoute> {
  const model = snapshot.models.get(parsed.model);
  if (model === undefined) return E.left(unknownModel(parsed.model, usableIn(snapshot, caller)));
  if (!mayUseModel(caller, model.id))
    return E.left({
      code: 'model_not_granted',
      message: `This API key may not use the model \`${model.id}\`.`,
      param: 'model',
    });
  const resolved = resolveRoute(model, parsed.needs, snapshot.provider, parsed.fields);
  const mismatch = E.isLeft(resolved) && resolved.left.code === 'invalid_request';
  return mismatch && unserved !== undefined ? E.left(unserved(model.id)) : resolved;
}

/** Adds the rate limits that a request comes under to its answer. */
const under = ({ limits = [] }: Facts, answer: ModelAnswer): ModelAnswer =>
  limits.length === 0 ? answer : { ...answer, limits };

/** The limits that a request comes under: those of its key, of the owner who pays for it, and of its model. */
const limitsOf = (
  { limits = [] }: Caller,
  { models }: CatalogueSnapshot,
  { model }: RequestTerms,
): readonly RateLimit[] => {
  const limit = models.get(model)?.limit;
  return limit === undefined ? limits : [...limits, limit];
};

const usableIn = (snapshot: CatalogueSnapshot, caller: Caller): readonly string[] =>
  listModels({ snapshot: () => snapshot })(caller).map(({ id }) => id);

/**
 * Duplicates bypass both budget phases where they are allowed, and are rejected where they are not. A refusal that
 * waiting for a minute resolves comes last.
 */
function admissionRejection(admission: Admission, policy: ServePolicy): GatewayError | undefined {
  if (policy.duplicateRequestIds === 'reject' && (admission.alreadyAccounted || !admission.claimed))
    return {
      code: 'duplicate_request_id',
      message: 'A request with this `x-request-id` was accounted already, or is in flight.',
      param: 'x-request-id',
    };
  const { budget, limits, databaseTime } = admission;
  const isFull =
    budget !== undefined &&
    !admission.alreadyAccounted &&
    E.isLeft(admit(budget.terms, budget.spent, budget.closed));
  if (isFull) {
    const refusal = E.isLeft(admit(budget.terms, budget.spent, false)) ? budgetExceeded : windowShut;
    return refusal(budget.terms, budget.window, databaseTime);
  }
  return limits?.kind === 'refused' ? rateLimited(limits.full, databaseTime) : undefined;
}
