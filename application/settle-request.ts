import * as E from 'fp-ts/lib/Either.js';
import { costExceedsBudget } from '../domain/budget/hard-limit.ts';
import { scopeOf } from '../domain/identity/caller.ts';
import { limitedTokens } from '../domain/limits/rate-limit.ts';
import { isKept, isLogged } from '../domain/request-log/capture-policy.ts';
import type { RequestLogId } from '../domain/request-log/request-ids.ts';
import { isCharged } from '../domain/routing/model.ts';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { RequestFailure } from '../domain/shared/request-failure.ts';
import { finishedRequest } from './finished-request.ts';
import { keptPayload } from './keep-payload.ts';
import { loggedRequest } from './logged-request.ts';
import { additionalCosts, costOf, costOfCall } from './request-cost.ts';
import type { ServePolicy, ServePorts } from './serve-ports.ts';
import type {
  Admission,
  Charge,
  LimitedTokens,
  LoggedRequest,
  SettlementRecord,
  Verdict,
} from './ports/ledger.ts';
import {
  type Called,
  failureOf,
  observed,
  type RequestEnd,
  type Unsent,
  writesLedgerRow,
} from './request-end.ts';
import type { Admitted, Facts } from './request-stages.ts';

type Settled = E.Either<GatewayError, Verdict>;

/** Right: committed. Left: what the caller must be told instead of a complete answer. */
type ToTell = Promise<E.Either<GatewayError, void>>;

/** Writes what a request leaves behind, in one transaction, and emits its one outcome. */
export interface SettleRequest {
  readonly unsent: (facts: Facts, end: Unsent) => ToTell;
  readonly called: (facts: Admitted, end: Called) => ToTell;
}

export function settleRequest(ports: ServePorts, policyNow: () => ServePolicy): SettleRequest {
  const settle = async (facts: Facts, end: RequestEnd, charge: Charge | undefined): ToTell => {
    const policy = policyNow();
    const charged = charge !== undefined;
    const cost = charge?.cost ?? costOf(ports, facts, end);
    const beside = additionalCosts(ports, facts, end, cost);
    const ended = { facts, end, charged, cost, beside };
    const logged = isLogged(policy.payloads.captureMode, facts.request.caller)
      ? loggedRequest(ports, policy, ended)
      : undefined;
    const released = { release: releaseOf(facts), limited: limitedTokensOf(facts, end) };
    const settled = await recorded(ports, facts, end, { charge, logged, ...released });
    const failure = failureAfter(end, settled);
    if (logged !== undefined && wasLogged(settled)) {
      keepPayload(ports, policy, facts, end, failure);
      tellMcp(ports, logged);
    }
    facts.request.telemetry.finished(finishedRequest(ports, { ...ended, failure, settled }));
    return failure === undefined || failure.code === 'client_closed' ? E.right(undefined) : E.left(failure);
  };
  return {
    unsent: (facts, end) => settle(facts, end, undefined),
    called: (facts, end) => settle(facts, end, chargeOf(ports, facts, end)),
  };
}

/** With nothing to write, the ledger is not called, to spare the database a statement. */
async function recorded(
  { ledger }: ServePorts,
  facts: Facts,
  end: RequestEnd,
  left: Omit<SettlementRecord, 'deferrableTo'>,
): Promise<Settled> {
  const { charge, logged, release } = left;
  if (charge === undefined && logged === undefined && release === undefined)
    return E.right({ kind: 'recorded' });
  return facts.request.telemetry.during('settlement', () =>
    ledger.settle({ ...left, deferrableTo: deferrableTo(facts, end) }),
  );
}

/** The claim on its request id ends with the request, and so do its holds under rate limits. */
const releaseOf = ({ admission, claim, request }: Facts): RequestLogId | undefined =>
  (claim === true && admission.claimed) || isHeld(admission) ? request.requestLogId : undefined;

const isHeld = (admission: Admission | undefined): boolean =>
  admission?.limits?.kind === 'admitted' && admission.limits.held;

/** Known tokens count as used, whatever the outcome of the request. */
function limitedTokensOf(
  { admission, request, limits = [] }: Facts,
  end: RequestEnd,
): LimitedTokens | undefined {
  const { usage } = observed(end);
  return usage === undefined || !isHeld(admission)
    ? undefined
    : { requestLogId: request.requestLogId, limits, tokens: limitedTokens(usage) };
}

/**
 * If the database is lost before settlement (rules 38.7, 38.8), the request of an owner with a hard limit gets an
 * error, never a complete answer. Others complete once the record is in the journal, at the last database time it
 * carries. So do those that have no complete answer to withhold, because the call failed or the caller was lost: a
 * charge is then judged when the record is settled.
 */
function deferrableTo({ admission }: Facts, end: RequestEnd): Date | undefined {
  const isAwaited = admission?.budget?.terms.hardLimit === true && end.kind === 'answered';
  return isAwaited ? undefined : admission?.databaseTime;
}

/** A journaled record has no row yet, so its payload is not kept. */
const wasLogged = (settled: Settled): boolean => E.isRight(settled) && settled.right.kind !== 'journaled';

/**
 * Only where MCP servers are configured. Tool calls may have gone through the gateway before this row existed. No token
 * count is estimated: what is known of a request is the number of its tools and their servers, and the tools' bytes.
 */
function tellMcp({ mcpOverheads, invocationLinks }: ServePorts, { caller, log }: LoggedRequest): void {
  const { requestId, requestLogId, mcp, exposedToolCount = 0 } = log;
  if (mcp === undefined || exposedToolCount === 0) return;
  invocationLinks.logged({ requestId, requestLogId, scope: scopeOf(caller) });
  const { serverCount, toolCount, toolBytes: toolDefinitionBytes } = mcp;
  if (serverCount === 0) return;
  const known = { serverCount, toolCount, toolDefinitionBytes };
  const tokens = { toolDefinitionTokens: undefined, toolResultTokens: undefined };
  mcpOverheads.put({ requestId, requestLogId, ...known, ...tokens });
}

function keepPayload(
  ports: ServePorts,
  policy: ServePolicy,
  facts: Facts,
  end: RequestEnd,
  failure: RequestFailure | undefined,
): void {
  const { requestLogId, memory, caller } = facts.request;
  if (!isKept(policy.payloads.captureMode, caller)) return;
  const answer = end.call === undefined ? undefined : end.answer;
  const answered = { answer, failure, usage: observed(end).usage };
  const of = { requestLogId, scope: scopeOf(caller) };
  ports.payloads.keep(of, () => keptPayload(facts, answered, policy, ports.largeBodies), {
    bytes: memory.heldBytes(),
    release: memory.keep(),
  });
}

/**
 * A refusal that could not be logged stays that refusal. A complete answer that was not recorded, or whose cost was
 * blocked, becomes a failure: nobody may have it.
 */
function failureAfter(end: RequestEnd, settled: Settled): RequestFailure | undefined {
  const failure = failureOf(end);
  if (failure !== undefined) return failure;
  if (E.isLeft(settled)) return settled.left;
  const verdict = settled.right;
  return verdict.kind === 'blocked'
    ? costExceedsBudget(verdict.budget, verdict.window, verdict.databaseTime)
    : undefined;
}

/** The future ledger row; a family that uses no model writes none, whatever its end. */
function chargeOf(ports: ServePorts, facts: Admitted, end: Called): Charge | undefined {
  if (!isCharged(facts.family) || !writesLedgerRow(end)) return undefined;
  const { request, parsed, resolved } = facts;
  return {
    requestLogId: request.requestLogId,
    requestId: request.requestId,
    caller: request.caller,
    modelKey: parsed.model,
    providerKey: resolved.provider.id,
    upstreamModel: resolved.route.upstreamModel,
    cost: costOfCall(ports, facts, end),
  };
}
