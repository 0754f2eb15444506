import type {
  AdmissionRequest,
  Charge,
  LoggedRequest,
  SettlementRecord,
} from '../../application/ports/ledger.ts';
import { type Caller, scopeOf } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import type { Attempt } from '../../domain/request-log/request-log.ts';

/** The shapes that `gateway_admit` and `gateway_settle` read; names are those of the columns. */
interface OwnerColumns {
  readonly user_id: string | undefined;
  readonly team_id: string | undefined;
  readonly service_account_id: string | undefined;
}

const keyOwnerColumns = ({ keyOwner }: Caller): OwnerColumns => ({
  user_id: keyOwner.kind === 'user' ? keyOwner.userId : undefined,
  team_id: keyOwner.kind === 'user' ? undefined : keyOwner.teamId,
  service_account_id: keyOwner.kind === 'service_account' ? keyOwner.serviceAccountId : undefined,
});

export const scopeRow = (caller: Caller) => {
  const { user_id, team_id } = keyOwnerColumns(caller);
  return { scope: scopeOf(caller), user_id, team_id };
};

export const admissionRow = (request: AdmissionRequest) => ({
  request_log_id: request.requestLogId,
  request_id: request.requestId,
  scope: scopeOf(request.caller),
  claim: request.claim,
});

/** A `settlement_record`. `undefined` values are left out and become null in the row. */
export function recordRow({ charge, logged, limited, release }: SettlementRecord, ord: number): object {
  return {
    ord,
    // In the journal, a record without rows still names the request whose claim and holds end with it.
    ...(release === undefined ? {} : { request_log_id: release }),
    ...(limited === undefined
      ? {}
      : { request_log_id: limited.requestLogId, limited_tokens: limited.tokens }),
    ...(logged === undefined ? {} : logColumns(logged)),
    ...(charge === undefined ? {} : chargeColumns(charge)),
  };
}

const chargeColumns = (charge: Charge) => ({
  charged: true,
  request_log_id: charge.requestLogId,
  request_id: charge.requestId,
  scope: scopeOf(charge.caller),
  api_key_id: charge.caller.apiKeyId,
  ...keyOwnerColumns(charge.caller),
  model_key: charge.modelKey,
  provider_key: charge.providerKey,
  upstream_model: charge.upstreamModel,
  ...costColumns(charge.cost),
});

function costColumns(cost: UsageCost) {
  const usage = cost.pricingStatus === 'usage_missing' ? undefined : cost.usage;
  const priced = cost.pricingStatus === 'priced' ? cost : undefined;
  return {
    pricing_status: cost.pricingStatus,
    prompt_tokens: usage?.promptTokens,
    completion_tokens: usage?.completionTokens,
    total_tokens: usage?.totalTokens,
    unpriced_reason: cost.pricingStatus === 'unpriced' ? cost.unpricedReason : undefined,
    input_picousd_per_token: priced?.price.input.toString(),
    output_picousd_per_token: priced?.price.output.toString(),
    pricing_source: priced?.price.source,
    cost_picousd: priced?.cost.toString(),
  };
}

const logColumns = ({ caller, log, blockedCostUsd }: LoggedRequest) => ({
  logged: true,
  request_log_id: log.requestLogId,
  request_id: log.requestId,
  scope: scopeOf(caller),
  api_key_id: caller.apiKeyId,
  ...keyOwnerColumns(caller),
  model_key: log.modelKey,
  resolved_model_key: log.resolvedModelKey,
  provider_key: log.providerKey,
  status_code: log.statusCode,
  error_code: log.errorCode,
  latency_ms: log.latencyMs,
  first_token_ms: log.firstTokenMs,
  prompt_tokens: log.usage?.promptTokens,
  completion_tokens: log.usage?.completionTokens,
  total_tokens: log.usage?.totalTokens,
  caller_service: log.tags.service,
  caller_component: log.tags.component,
  caller_env: log.tags.env,
  exposed_tool_count: log.exposedToolCount,
  invoked_tool_count: log.invokedToolCount,
  referenced_mcp_server_count: log.mcp?.serverCount,
  filtered_tool_count: log.mcp?.filteredToolCount,
  user_agent_raw: log.userAgent,
  agent_harness_key: log.harness.key,
  agent_harness_label: log.harness.label,
  metadata_json: log.metadata,
  blocked_cost_usd: blockedCostUsd,
  tags:
    log.tags.bespoke.length === 0
      ? undefined
      : Object.fromEntries(log.tags.bespoke.map(({ key, value }) => [key, value])),
  attempts: log.attempts.length === 0 ? undefined : log.attempts.map(attemptColumns),
});

/** Times are milliseconds since the epoch. */
const attemptColumns = (attempt: Attempt) => ({
  attempt_number: attempt.attemptNumber,
  provider_key: attempt.providerKey,
  upstream_model: attempt.upstreamModel,
  status: attempt.status,
  status_code: attempt.statusCode,
  error_code: attempt.errorCode,
  error_detail: attempt.errorDetail,
  stream: attempt.stream,
  started_ms: attempt.startedAt,
  completed_ms: attempt.completedAt,
});
