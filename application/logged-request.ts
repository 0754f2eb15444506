import * as E from 'fp-ts/lib/Either.js';
import type { UsageCost } from '../domain/ledger/usage-cost-event.ts';
import { referencedServers } from '../domain/mcp/referenced-servers.ts';
import { type Picodollars, toUsd } from '../domain/money/money.ts';
import { agentHarness, boundedUserAgent } from '../domain/request-log/agent-harness.ts';
import { type CallerTags, noTags } from '../domain/request-log/caller-tags.ts';
import { logMetadata, type RequestLog } from '../domain/request-log/request-log.ts';
import { elapsedMs } from '../domain/shared/elapsed.ts';
import type { JsonObject } from '../domain/shared/json.ts';
import { maxModelKeyChars } from '../domain/shared/limits.ts';
import { endStatus } from '../domain/shared/request-failure.ts';
import type { ModelRequest } from './model-request.ts';
import type { ServePolicy, ServePorts } from './serve-ports.ts';
import type { LoggedRequest } from './ports/ledger.ts';
import { failureOf, invokedTools, observed, type RequestEnd } from './request-end.ts';
import type { AdditionalCosts } from './request-cost.ts';
import type { RequestRedaction } from './request-redaction.ts';
import type { Facts } from './request-stages.ts';

/** A request that has ended, and what it costs. */
export interface EndedRequest {
  readonly facts: Facts;
  readonly end: RequestEnd;
  /** Whether it writes a ledger row. */
  readonly charged: boolean;
  readonly cost: UsageCost | undefined;
  readonly beside: AdditionalCosts;
}

/** The summary row of a request that has ended, before its charge is judged. */
export function loggedRequest(ports: ServePorts, policy: ServePolicy, ended: EndedRequest): LoggedRequest {
  const { facts, end, cost } = ended;
  const money = cost?.pricingStatus === 'priced' ? cost.cost : undefined;
  const metadata = logMetadata(
    facts.family,
    facts.bodySummary?.stream ?? false,
    policy.payloads,
    accountingOf(ended, money),
    facts.prepared?.notes,
  );
  return {
    caller: facts.request.caller,
    log: summary(ports, facts, end, metadata, referencedIn(facts, policy)),
    blockedCostUsd: money === undefined ? undefined : toUsd(money),
  };
}

/**
 * Where MCP servers are configured, a request of a family with tools is logged with the servers that its tools are of.
 */
function referencedIn({ request, parsed }: Facts, { mcpServers }: ServePolicy): Pick<RequestLog, 'mcp'> {
  const tools = parsed?.mcpTools;
  return mcpServers === undefined || tools === undefined
    ? {}
    : { mcp: referencedServers(tools, mcpServers, request.caller) };
}

/** Costs that are billed but are in no ledger row. */
function accountingOf(
  { end, charged, beside: costs }: EndedRequest,
  money: Picodollars | undefined,
): JsonObject | undefined {
  const seen = charged ? undefined : seenCost(money);
  const { beside } = observed(end);
  if (beside === undefined) return seen;
  const { compaction, advisor, imageGeneration: images } = beside;
  return {
    ...seen,
    ...(compaction === undefined ? {} : { compaction: withCost(compaction, costs.compaction) }),
    ...(advisor === undefined ? {} : { advisor: withCost(advisor, costs.advisor) }),
    ...(images === undefined ? {} : { image_generation: withCost(images, costs.imageGeneration) }),
  };
}

const withCost = (used: JsonObject, cost: Picodollars | undefined): JsonObject =>
  cost === undefined ? used : { ...used, cost_usd: toUsd(cost) };

/** The cost of usage in a request that writes no ledger row is kept on its log row. */
const seenCost = (money: Picodollars | undefined): JsonObject | undefined =>
  money === undefined ? undefined : { unbilled_cost_usd: toUsd(money) };

/** Text that a caller can choose is first cleaned of secrets, and then truncated. */
function summary(
  ports: ServePorts,
  facts: Facts,
  end: RequestEnd,
  metadata: JsonObject,
  referenced: Pick<RequestLog, 'mcp'>,
): RequestLog {
  const { request, bodySummary, parsed, resolved, redaction } = facts;
  const failure = failureOf(end);
  return {
    requestLogId: request.requestLogId,
    requestId: request.requestId,
    modelKey: cleaned(bodySummary?.model, redaction)?.slice(0, maxModelKeyChars),
    resolvedModelKey: resolved === undefined ? undefined : parsed?.model,
    providerKey: resolved?.provider.id,
    statusCode: endStatus(failure),
    errorCode: failure?.code,
    latencyMs: elapsedMs(request.receivedAt, ports.clock.now()),
    firstTokenMs: end.call?.firstTokenMs,
    usage: observed(end).usage,
    exposedToolCount: bodySummary?.exposedToolCount,
    invokedToolCount: invokedTools(bodySummary, end),
    ...referenced,
    tags: cleanTags(request.tags, redaction),
    userAgent: boundedUserAgent(cleaned(request.userAgent, redaction)),
    harness: agentHarness(request.userAgent),
    metadata,
    attempts: end.call === undefined ? [] : [end.call.attempt],
  };
}

/** Tags that are not well-formed count as none. */
export function cleanTags(given: ModelRequest['tags'], redaction: RequestRedaction): CallerTags {
  const tags = E.isRight(given) ? given.right : noTags;
  if (tags === noTags) return tags;
  return {
    service: cleaned(tags.service, redaction),
    component: cleaned(tags.component, redaction),
    env: cleaned(tags.env, redaction),
    bespoke: tags.bespoke.map(({ key, value }) => ({
      key: redaction.clean(key),
      value: redaction.clean(value),
    })),
  };
}

const cleaned = (text: string | undefined, { clean }: RequestRedaction): string | undefined =>
  text === undefined ? undefined : clean(text);
