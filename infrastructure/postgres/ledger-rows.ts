import type { AdmissionAsk, Charge, LoggedRequest } from '../../application/ports/ledger.ts';
import { type Caller, ownerOf, ownershipScopeKey } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import type { Attempt, RequestLog } from '../../domain/request-log/request-log.ts';

/** The shapes that `gateway_admit` and `gateway_settle` read; names are the columns'. */
interface OwnerColumns {
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly service_account_id: string | null;
}

const ownerColumns = ({ keyOwner }: Caller): OwnerColumns => ({
  user_id: keyOwner.kind === 'user' ? keyOwner.userId : null,
  team_id: keyOwner.kind === 'user' ? null : keyOwner.teamId,
  service_account_id: keyOwner.kind === 'service_account' ? keyOwner.serviceAccountId : null,
});

export const scopeOf = (caller: Caller): string => ownershipScopeKey(ownerOf(caller));

export const admissionRow = (ask: AdmissionAsk, ord: number) => ({
  ord,
  request_log_id: ask.requestLogId,
  request_id: ask.requestId,
  scope: scopeOf(ask.caller),
  ...ownerColumns(ask.caller),
  claim: ask.claim,
});

export const chargeRow = (charge: Charge, ord: number) => ({
  ord,
  request_log_id: charge.requestLogId,
  request_id: charge.requestId,
  scope: scopeOf(charge.caller),
  api_key_id: charge.caller.apiKeyId,
  ...ownerColumns(charge.caller),
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

export const logEntry = ({ caller, log, ifBlocked, ifDuplicate }: LoggedRequest, ord: number) => ({
  ord,
  row: summaryRow(caller, log),
  if_blocked:
    ifBlocked === undefined
      ? undefined
      : {
          status_code: ifBlocked.statusCode,
          error_code: ifBlocked.errorCode,
          metadata_json: ifBlocked.metadata,
        },
  if_duplicate: ifDuplicate === undefined ? undefined : { metadata_json: ifDuplicate.metadata },
  tags: log.tags.bespoke.map(({ key, value }) => ({ tag_key: key, tag_value: value })),
  attempts: log.attempts.map((attempt) => attemptRow(log.requestLogId, attempt)),
});

const summaryRow = (caller: Caller, log: RequestLog) => ({
  request_log_id: log.requestLogId,
  request_id: log.requestId,
  api_key_id: caller.apiKeyId,
  ...ownerColumns(caller),
  model_key: log.modelKey,
  resolved_model_key: log.resolvedModelKey,
  provider_key: log.providerKey,
  status_code: log.statusCode,
  error_code: log.errorCode,
  latency_ms: log.latencyMs,
  prompt_tokens: log.usage?.promptTokens,
  completion_tokens: log.usage?.completionTokens,
  total_tokens: log.usage?.totalTokens,
  has_payload: false,
  request_payload_truncated: false,
  response_payload_truncated: false,
  caller_service: log.tags.service,
  caller_component: log.tags.component,
  caller_env: log.tags.env,
  exposed_tool_count: log.exposedToolCount,
  invoked_tool_count: log.invokedToolCount,
  user_agent_raw: log.userAgent,
  agent_harness_key: log.harness.key,
  agent_harness_label: log.harness.label,
  metadata_json: log.metadata,
});

const attemptRow = (requestLogId: string, attempt: Attempt) => ({
  request_log_id: requestLogId,
  attempt_number: attempt.attemptNumber,
  provider_key: attempt.providerKey,
  upstream_model: attempt.upstreamModel,
  status: attempt.status,
  status_code: attempt.statusCode,
  error_code: attempt.errorCode,
  error_detail: attempt.errorDetail,
  stream: attempt.stream,
  started_at: new Date(attempt.startedAt).toISOString(),
  completed_at: new Date(attempt.completedAt).toISOString(),
  latency_ms: attempt.completedAt - attempt.startedAt,
});
