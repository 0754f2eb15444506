import * as E from 'fp-ts/lib/Either.js';
import { costExceedsBudget } from '../domain/budget/hard-limit.ts';
import { type UsageCost, usageCost } from '../domain/ledger/usage-cost-event.ts';
import { type Picodollars, toUsd } from '../domain/money/money.ts';
import { type Secrets, withoutSecrets } from '../domain/payload/secrets.ts';
import { agentHarness, boundedUserAgent } from '../domain/request-log/agent-harness.ts';
import { type CallerTags, noTags } from '../domain/request-log/caller-tags.ts';
import { isLogged } from '../domain/request-log/capture-policy.ts';
import { type Attempt, logMetadata, type RequestLog } from '../domain/request-log/request-log.ts';
import { isCharged, type ResolvedRoute } from '../domain/routing/model.ts';
import type { GatewayError } from '../domain/shared/gateway-error.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import { maxModelKeyChars } from '../domain/shared/limits.ts';
import type { Observation } from '../domain/upstream/observation.ts';
import type { Ask, AskTerms, Family, ModelRequest, ServePolicy, ServePorts } from './model-request.ts';
import { errorCode, finishedRequest, invokedTools, statusCode } from './finished-request.ts';
import { type Answered, answerBytes, keptPayload, rulesFor } from './keep-payload.ts';
import type { RequestBody } from './request-body.ts';
import type { Admission, Charge, LoggedRequest, SettlementRecord, Verdict } from './ports/ledger.ts';

/** What is known of a request so far; it grows along the story. */
export interface Facts {
  readonly family: Family<Ask>['name'];
  readonly request: ModelRequest;
  readonly body: RequestBody;
  readonly ask?: AskTerms;
  readonly resolved?: ResolvedRoute;
  /** What of the caller's request does not go along upstream. */
  readonly notes?: JsonObject;
  readonly admission?: Admission;
  /** The gateway's clock when the admission came, milliseconds since the epoch. */
  readonly admittedAt?: number;
}

/** How it ended. */
export interface End {
  /** Undefined: it went well. */
  readonly failure: GatewayError | 'client_closed' | undefined;
  readonly attempt: Attempt | undefined;
  readonly observation: Observation;
  /** What the upstream's answer was for the caller; undefined where there is none. */
  readonly answered?: Answered;
  /**
   * Which outcome writes a ledger row: `success` does; `client_closed` and what the gateway's end cut off do after an
   * upstream 2xx;
   * `upstream_error`, and `budget_error` before or after the provider, do not (rule 38.5).
   */
  readonly charged: boolean;
}

/**
 * Writes what a request leaves behind, in one transaction, and emits its one outcome. Right: it is committed.
 * Left: what the caller must be told instead of a complete answer.
 */
export const settleRequest =
  (ports: ServePorts, policyNow: () => ServePolicy) =>
  async (facts: Facts, told: End): Promise<E.Either<GatewayError, void>> => {
    const end = chargedOnly(facts, told);
    const policy = policyNow();
    const cost = costOf(ports, facts, end.observation);
    const charge = end.charged ? chargeOf(facts, cost) : undefined;
    const logged = isLogged(policy.payloads.captureMode, facts.request.caller)
      ? loggedRequest(ports, policy, facts, end, cost)
      : undefined;
    const release = releaseOf(facts, policy);
    const settled = await recorded(ports, facts, { charge, logged, release });
    const failure = failureAfter(end, settled);
    if (logged !== undefined && wasLogged(settled)) keepPayload(ports, policy, facts, end, failure);
    const tags = logged?.log.tags ?? cleanTags(tagsOf(facts.request), () => secretsOf(facts, policy));
    const requestId = toldRequestId(facts, policy);
    facts.request.telemetry.finished(
      finishedRequest(ports, { facts, end, cost, failure, settled, tags, requestId }),
    );
    return failure === undefined || failure === 'client_closed' ? E.right(undefined) : E.left(failure);
  };

/** Who leaves nothing behind asks nobody. */
async function recorded(
  { ledger }: ServePorts,
  facts: Facts,
  left: Omit<SettlementRecord, 'deferrableTo'>,
): Promise<E.Either<GatewayError, Verdict>> {
  const { charge, logged, release } = left;
  if (charge === undefined && logged === undefined && release === undefined)
    return E.right({ kind: 'recorded' });
  return facts.request.telemetry.during('settlement', () =>
    ledger.settle({ ...left, deferrableTo: deferrableTo(facts) }),
  );
}

/** What uses no model writes no ledger row, whatever its outcome. */
const chargedOnly = ({ family }: Facts, end: End): End =>
  isCharged(family) ? end : { ...end, charged: false };

/** The claim on its request id ends with the request. */
const releaseOf = ({ admission, request }: Facts, policy: ServePolicy): string | undefined =>
  admission?.claimed === true && request.callerChoseRequestId && policy.duplicateRequestIds === 'reject'
    ? request.requestLogId
    : undefined;

/**
 * Database lost before settlement (rules 38.7, 38.8): the request of an owner with a hard limit gets an error, never a
 * complete answer; others complete once the record is in the journal, at the last database time it carries.
 */
const deferrableTo = ({ admission }: Facts): Date | undefined =>
  admission === undefined || admission.budget?.terms.hardLimit === true ? undefined : admission.databaseTime;

/** A record of the journal has no row yet; its payload is not kept. */
const wasLogged = (settled: E.Either<GatewayError, Verdict>): boolean =>
  E.isRight(settled) && settled.right.kind !== 'journaled';

function keepPayload(
  ports: ServePorts,
  policy: ServePolicy,
  { request, body }: Facts,
  { answered, observation }: End,
  failure: End['failure'],
): void {
  if (policy.payloads.captureMode !== 'redacted_payloads') return;
  const exchanged = { request, body, answered, failure, usage: observation.usage };
  ports.payloads.keep(request.requestLogId, () => keptPayload(exchanged, policy, ports.largeBodies), {
    bytes: request.memory.heldBytes() + answerBytes(answered),
    release: request.memory.keep(),
  });
}

/** A refusal that could not be logged is still that refusal; a complete answer that was not recorded is none. */
function failureAfter(end: End, settled: E.Either<GatewayError, Verdict>): End['failure'] {
  if (end.failure !== undefined) return end.failure;
  if (E.isLeft(settled)) return settled.left;
  const verdict = settled.right;
  return verdict.kind === 'blocked'
    ? costExceedsBudget(verdict.budget, verdict.window, verdict.databaseTime)
    : undefined;
}

function costOf(ports: ServePorts, facts: Facts, observation: Observation): UsageCost | undefined {
  if (facts.resolved === undefined) return undefined;
  const { provider, route } = facts.resolved;
  const { prices } = ports.catalogue.snapshot();
  const price = prices.priceOf(provider.pricingProviderId, route.upstreamModel, databaseTime(ports, facts));
  return usageCost(observation.usage, price);
}

/** A price is the one that is effective at the row's time, which is the database's. */
function databaseTime({ clock }: ServePorts, { admission, admittedAt }: Facts): number {
  const now = clock.now();
  return admission === undefined || admittedAt === undefined
    ? now
    : admission.databaseTime.getTime() + Math.max(0, now - admittedAt);
}

function chargeOf({ request, ask, resolved }: Facts, cost: UsageCost | undefined): Charge | undefined {
  if (ask === undefined || resolved === undefined || cost === undefined) return undefined;
  return {
    requestLogId: request.requestLogId,
    requestId: request.requestId,
    caller: request.caller,
    modelKey: ask.model,
    providerKey: resolved.provider.id,
    upstreamModel: resolved.route.upstreamModel,
    cost,
  };
}

function loggedRequest(
  ports: ServePorts,
  policy: ServePolicy,
  facts: Facts,
  end: End,
  cost: UsageCost | undefined,
): LoggedRequest {
  const money = cost?.pricingStatus === 'priced' ? cost.cost : undefined;
  const metadata = logMetadata(
    facts.family,
    facts.ask?.stream ?? false,
    policy.payloads,
    end.charged ? undefined : seenCost(end, money),
    facts.notes,
  );
  return {
    caller: facts.request.caller,
    log: withoutSecretsIn(summary(ports, facts, end, metadata), secretsOf(facts, policy)),
    blockedCostUsd: end.charged && money !== undefined ? toUsd(money) : undefined,
  };
}

/** Usage seen in a request that writes no ledger row, and its cost, stay on the log row. */
const seenCost = (end: End, money: Picodollars | undefined): JsonObject | undefined =>
  end.observation.usage === undefined || money === undefined
    ? undefined
    : { unbilled_cost_usd: toUsd(money) };

function summary(ports: ServePorts, facts: Facts, end: End, metadata: JsonObject): RequestLog {
  const { request, ask, resolved } = facts;
  return {
    requestLogId: request.requestLogId,
    requestId: request.requestId,
    modelKey: ask?.model,
    resolvedModelKey: resolved === undefined ? undefined : ask?.model,
    providerKey: resolved?.provider.id,
    statusCode: statusCode(end.failure),
    errorCode: errorCode(end.failure),
    latencyMs: Math.max(0, ports.clock.now() - request.receivedAt),
    usage: end.observation.usage,
    exposedToolCount: ask?.exposedToolCount,
    invokedToolCount: invokedTools(ask, end),
    tags: tagsOf(request),
    userAgent: request.userAgent,
    harness: agentHarness(request.userAgent),
    metadata,
    attempts: end.attempt === undefined ? [] : [end.attempt],
  };
}

/** Where a caller can put any text, no credential and no caller's key stays: it is cut off after that. */
const withoutSecretsIn = (log: RequestLog, secrets: Secrets): RequestLog => ({
  ...log,
  modelKey: cleaned(log.modelKey, secrets)?.slice(0, maxModelKeyChars),
  userAgent: boundedUserAgent(cleaned(log.userAgent, secrets)),
  tags: cleanTags(log.tags, () => secrets),
});

const secretsOf = ({ request }: Facts, policy: ServePolicy): Secrets => rulesFor(request, policy).secrets;

function cleanTags(tags: CallerTags, secretsNow: () => Secrets): CallerTags {
  if (tags === noTags) return tags;
  const secrets = secretsNow();
  return {
    service: cleaned(tags.service, secrets),
    component: cleaned(tags.component, secrets),
    env: cleaned(tags.env, secrets),
    bespoke: tags.bespoke.map(({ key, value }) => ({
      key: withoutSecrets(key, secrets),
      value: withoutSecrets(value, secrets),
    })),
  };
}

/** In the tables it stays as the caller wrote it; where it is told and cut off, nothing of a secret is in it. */
const toldRequestId = (facts: Facts, policy: ServePolicy): string =>
  facts.request.callerChoseRequestId
    ? withoutSecrets(facts.request.requestId, secretsOf(facts, policy))
    : facts.request.requestId;

const cleaned = (text: string | undefined, secrets: Secrets): string | undefined =>
  text === undefined ? undefined : withoutSecrets(text, secrets);

const tagsOf = ({ tags }: ModelRequest): CallerTags => (E.isRight(tags) ? tags.right : noTags);
