import * as E from 'fp-ts/lib/Either.js';
import type { UsageCost } from '../domain/ledger/usage-cost-event.ts';
import type { CallerTags } from '../domain/request-log/caller-tags.ts';
import {
  type ErrorCode,
  errorStatus,
  type GatewayError,
  type Outcome,
  outcomeOf,
} from '../domain/shared/gateway-error.ts';
import type { AskTerms, ServePorts } from './model-request.ts';
import type { Verdict } from './ports/ledger.ts';
import type { FinishedRequest, Unbilled } from './ports/telemetry.ts';
import type { End, Facts } from './settle-request.ts';

/** A caller that left is logged with status 499. */
const clientClosedStatus = 499;

/** A request that is settled, or could not be. */
interface Settled {
  readonly facts: Facts;
  readonly end: End;
  readonly cost: UsageCost | undefined;
  readonly failure: End['failure'];
  readonly settled: E.Either<GatewayError, Verdict>;
  readonly tags: CallerTags;
  /** Without any secret. */
  readonly requestId: string;
}

/** Everything that may be told of it. */
export function finishedRequest(
  { catalogue, clock }: ServePorts,
  { facts, end, cost, failure, settled, tags, requestId }: Settled,
): FinishedRequest {
  const { request, ask, resolved } = facts;
  const verdict = E.isRight(settled) ? settled.right.kind : 'lost';
  return {
    requestId,
    requestLogId: request.requestLogId,
    family: facts.family,
    stream: ask?.stream ?? false,
    outcome: outcome(failure),
    statusCode: statusCode(failure),
    errorCode: errorCode(failure),
    latencyMs: Math.max(0, clock.now() - request.receivedAt),
    caller: request.caller,
    modelKey: ask !== undefined && catalogue.snapshot().models.has(ask.model) ? ask.model : undefined,
    resolved,
    attemptStatus: end.attempt?.status,
    usage: end.observation.usage,
    usageUnusable: end.observation.usageUnusable,
    cost: end.charged && isAccounted(verdict) ? cost : undefined,
    unbilled: unbilledOf(end, cost, verdict),
    settled: verdict,
    exposedToolCount: ask?.exposedToolCount,
    invokedToolCount: invokedTools(ask, end),
    tags,
  };
}

const isAccounted = (verdict: FinishedRequest['settled']): boolean =>
  verdict === 'recorded' || verdict === 'journaled';

/** Why a cost that was seen is in no ledger row. */
function unbilledOf(
  { charged }: End,
  cost: UsageCost | undefined,
  verdict: FinishedRequest['settled'],
): Unbilled | undefined {
  if (cost?.pricingStatus !== 'priced') return undefined;
  if (!charged) return { reason: 'failed', cost: cost.cost };
  return verdict === 'recorded' || verdict === 'journaled' ? undefined : { reason: verdict, cost: cost.cost };
}

/** Undefined where the family has no tools; of an answer that never came, none was invoked. */
export const invokedTools = (ask: AskTerms | undefined, { observation }: End): number | undefined =>
  ask?.exposedToolCount === undefined ? undefined : observation.invokedToolCount;

export const statusCode = (failure: End['failure']): number => {
  if (failure === undefined) return 200;
  return failure === 'client_closed' ? clientClosedStatus : errorStatus(failure);
};

export const errorCode = (failure: End['failure']): ErrorCode | 'client_closed' | undefined =>
  failure === 'client_closed' ? failure : failure?.code;

const outcome = (failure: End['failure']): Outcome => {
  if (failure === undefined) return 'success';
  return failure === 'client_closed' ? failure : outcomeOf[failure.code];
};
