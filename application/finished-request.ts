import * as E from 'fp-ts/lib/Either.js';
import type { UsageCost } from '../domain/ledger/usage-cost-event.ts';
import { elapsedMs } from '../domain/shared/elapsed.ts';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import { endOutcome, endStatus, faultCodeOf, type RequestFailure } from '../domain/shared/request-failure.ts';
import type { ServePorts } from './serve-ports.ts';
import { cleanTags, type EndedRequest } from './logged-request.ts';
import type { Verdict } from './ports/ledger.ts';
import type { FinishedRequest, Unbilled } from './ports/telemetry.ts';
import type { AdditionalCosts } from './request-cost.ts';
import { invokedTools, observed } from './request-end.ts';
import type { Facts } from './request-stages.ts';

/** A request that was settled, or could not be. */
interface Settled extends EndedRequest {
  /** Why it did not end well, as known after the settlement. */
  readonly failure: RequestFailure | undefined;
  readonly settled: E.Either<GatewayError, Verdict>;
}

/**
 * What logs, metrics and spans record of a request, without secrets that its caller may have put into tags or its id.
 */
export function finishedRequest(
  { catalogue, clock }: ServePorts,
  { facts, end, charged, cost, beside, failure, settled }: Settled,
): FinishedRequest {
  const { request, bodySummary, resolved } = facts;
  const model = bodySummary?.model;
  const verdict = E.isRight(settled) ? settled.right.kind : 'lost';
  const { usage, usageUnusable } = observed(end);
  return {
    requestId: toldId(facts),
    requestLogId: request.requestLogId,
    family: facts.family,
    stream: bodySummary?.stream ?? false,
    outcome: endOutcome(failure),
    statusCode: endStatus(failure),
    errorCode: failure?.code,
    upstreamFault: faultCodeOf(failure),
    rateLimit: limitOf(failure),
    latencyMs: elapsedMs(request.receivedAt, clock.now()),
    caller: request.caller,
    modelKey: model !== undefined && catalogue.snapshot().models.has(model) ? model : undefined,
    resolved,
    attemptStatus: end.call?.attempt.status,
    usage,
    usageUnusable,
    cost: charged && isAccounted(verdict) ? cost : undefined,
    unbilled: [...unbilledOf(charged, cost, verdict), ...unbilledBeside(beside)],
    settled: verdict,
    exposedToolCount: bodySummary?.exposedToolCount,
    invokedToolCount: invokedTools(bodySummary, end),
    tags: cleanTags(request.tags, facts.redaction),
  };
}

/** The request id for telemetry; tables keep it as the caller wrote it. */
const toldId = ({ request, redaction }: Facts): string =>
  request.callerChoseRequestId ? redaction.clean(request.requestId) : request.requestId;

const limitOf = (failure: RequestFailure | undefined): FinishedRequest['rateLimit'] =>
  failure?.code === 'rate_limited' ? failure.rateLimit : undefined;

const isAccounted = (verdict: FinishedRequest['settled']): verdict is 'recorded' | 'journaled' =>
  verdict === 'recorded' || verdict === 'journaled';

/** Why an observed cost is in no ledger row. */
function unbilledOf(
  charged: boolean,
  cost: UsageCost | undefined,
  verdict: FinishedRequest['settled'],
): readonly Unbilled[] {
  if (cost?.pricingStatus !== 'priced') return [];
  if (!charged) return [{ reason: 'failed', cost: cost.cost }];
  return isAccounted(verdict) ? [] : [{ reason: verdict, cost: cost.cost }];
}

/** Costs that are in no ledger row, whatever becomes of the request's own cost. */
const unbilledBeside = ({ compaction, advisor, imageGeneration }: AdditionalCosts): readonly Unbilled[] => [
  ...(compaction === undefined ? [] : [{ reason: 'compaction' as const, cost: compaction }]),
  ...(advisor === undefined ? [] : [{ reason: 'advisor' as const, cost: advisor }]),
  ...(imageGeneration === undefined ? [] : [{ reason: 'image_generation' as const, cost: imageGeneration }]),
];
