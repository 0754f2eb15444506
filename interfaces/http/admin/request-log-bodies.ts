import type * as t from 'io-ts';
import type { McpTokenOverhead } from '../../../application/ports/mcp-invocations.ts';
import type {
  ListedRequestLog,
  NamedRow,
  RequestLogDetail,
  StoredAttempt,
  StoredPayloads,
} from '../../../application/ports/request-logs.ts';
import type { PricingStatus } from '../../../domain/ledger/usage-cost-event.ts';
import type { Picodollars } from '../../../domain/money/money.ts';
import {
  countValue,
  flagValue,
  instantValue,
  moneyFields,
  arrayOf,
  orNull,
  objectOf,
  jsonValue,
  textValue,
  numberValue,
  usdValue,
  uuidValue,
  choiceValue,
} from '../answers.ts';
import { JsonText, storedJsonText } from '../json-text.ts';

/** The pricing states of a ledger row, as the API names them. */
export const pricingStatuses = [
  'priced',
  'legacy_estimated',
  'unpriced',
  'usage_missing',
] as const satisfies readonly PricingStatus[];

/** A request log as lists show it. */
export const requestLogBody = objectOf({
  request_log_id: uuidValue,
  request_id: textValue,
  api_key_id: orNull(uuidValue),
  api_key_name: orNull(textValue),
  user_id: orNull(uuidValue),
  user_name: orNull(textValue),
  team_id: orNull(textValue),
  team_name: orNull(textValue),
  service_account_id: orNull(textValue),
  service_account_name: orNull(textValue),
  model_key: orNull(textValue),
  resolved_model_key: orNull(textValue),
  provider_key: orNull(textValue),
  status_code: countValue,
  error_code: orNull(textValue),
  latency_ms: countValue,
  first_token_ms: orNull(countValue),
  prompt_tokens: orNull(countValue),
  completion_tokens: orNull(countValue),
  total_tokens: orNull(countValue),
  pricing_status: orNull(choiceValue(pricingStatuses)),
  unpriced_reason: orNull(textValue),
  cost_usd: orNull(usdValue),
  cost_usd_10000: orNull(numberValue),
  has_payload: flagValue,
  request_payload_truncated: flagValue,
  response_payload_truncated: flagValue,
  request_tags: objectOf({
    service: orNull(textValue),
    component: orNull(textValue),
    env: orNull(textValue),
    bespoke: arrayOf(objectOf({ key: textValue, value: textValue })),
  }),
  tool_cardinality: objectOf({
    exposed_tool_count: orNull(countValue),
    invoked_tool_count: orNull(countValue),
    referenced_mcp_server_count: orNull(countValue),
    filtered_tool_count: orNull(countValue),
  }),
  user_agent_raw: orNull(textValue),
  agent_harness_key: orNull(textValue),
  agent_harness_label: orNull(textValue),
  metadata: jsonValue,
  occurred_at: instantValue,
});

const attempt = objectOf({
  attempt_number: countValue,
  provider_key: textValue,
  upstream_model: textValue,
  status: choiceValue(['success', 'provider_error', 'stream_start_error', 'stream_error']),
  status_code: orNull(countValue),
  error_code: orNull(textValue),
  error_detail: orNull(textValue),
  stream: flagValue,
  started_at: instantValue,
  completed_at: instantValue,
  latency_ms: countValue,
});

const tokenOverhead = objectOf({
  request_id: textValue,
  request_log_id: orNull(uuidValue),
  server_count: countValue,
  tool_count: countValue,
  tool_definition_bytes: orNull(countValue),
  tool_definition_tokens: orNull(countValue),
  tool_result_tokens: orNull(countValue),
  occurred_at: instantValue,
});

/** A request log with its payload and its attempts. */
export const requestLogDetailBody = objectOf({
  log: requestLogBody,
  payload: orNull(objectOf({ request_json: orNull(jsonValue), response_json: orNull(jsonValue) })),
  attempts: arrayOf(attempt),
  mcp_token_overhead: orNull(tokenOverhead),
});

/** The bodies of request logs (rules 40.8, 40.10, 40.11). An unknown count is null; a real zero stays zero. */
export const presentLog = (log: ListedRequestLog): t.TypeOf<typeof requestLogBody> => ({
  request_log_id: log.requestLogId,
  request_id: log.requestId,
  ...ownerFields(log),
  model_key: log.modelKey ?? null,
  resolved_model_key: log.resolvedModelKey ?? null,
  provider_key: log.providerKey ?? null,
  ...resultFields(log),
  has_payload: log.hasPayload,
  request_payload_truncated: log.requestPayloadTruncated,
  response_payload_truncated: log.responsePayloadTruncated,
  request_tags: {
    service: log.service ?? null,
    component: log.component ?? null,
    env: log.env ?? null,
    bespoke: log.bespokeTags.map(({ key, value }) => ({ key, value })),
  },
  tool_cardinality: toolCounts(log),
  user_agent_raw: log.userAgent ?? null,
  agent_harness_key: log.agentHarnessKey ?? null,
  agent_harness_label: log.agentHarnessLabel ?? null,
  metadata: new JsonText(log.metadata),
  occurred_at: log.occurredAt.toISOString(),
});

const toolCounts = (log: ListedRequestLog) => ({
  exposed_tool_count: log.exposedToolCount ?? null,
  invoked_tool_count: log.invokedToolCount ?? null,
  referenced_mcp_server_count: log.referencedMcpServerCount ?? null,
  filtered_tool_count: log.filteredToolCount ?? null,
});

const ownerFields = ({ apiKey, user, team, serviceAccount }: ListedRequestLog) => ({
  ...namedFields('api_key', apiKey),
  ...namedFields('user', user),
  ...namedFields('team', team),
  ...namedFields('service_account', serviceAccount),
});

type NamedFields<N extends string> = { readonly [K in `${N}_id` | `${N}_name`]: string | null };

const namedFields = <N extends string>(what: N, named: NamedRow | undefined): NamedFields<N> =>
  ({
    [`${what}_id`]: named?.id ?? null,
    [`${what}_name`]: named?.name ?? null,
  }) as NamedFields<N>;

const resultFields = (log: ListedRequestLog) => ({
  status_code: log.statusCode,
  error_code: log.errorCode ?? null,
  latency_ms: log.latencyMs,
  first_token_ms: log.firstTokenMs ?? null,
  prompt_tokens: log.promptTokens ?? null,
  completion_tokens: log.completionTokens ?? null,
  total_tokens: log.totalTokens ?? null,
  pricing_status: log.charge?.pricingStatus ?? null,
  unpriced_reason: log.charge?.unpricedReason ?? null,
  ...costFields(log.charge?.cost),
});

const costFields = (cost: Picodollars | undefined) =>
  cost === undefined ? { cost_usd: null, cost_usd_10000: null } : moneyFields('cost', cost);

export const presentDetail = (detail: RequestLogDetail): t.TypeOf<typeof requestLogDetailBody> => ({
  log: presentLog(detail.log),
  payload: presentPayload(detail.payload),
  attempts: detail.attempts.map(presentAttempt),
  mcp_token_overhead: presentOverhead(detail.mcpTokenOverhead),
});

const presentPayload = (payload: StoredPayloads | undefined) =>
  payload === undefined
    ? null
    : { request_json: storedJsonText(payload.request), response_json: storedJsonText(payload.response) };

const presentAttempt = (stored: StoredAttempt): t.TypeOf<typeof attempt> => ({
  attempt_number: stored.attemptNumber,
  provider_key: stored.providerKey,
  upstream_model: stored.upstreamModel,
  status: stored.status,
  status_code: stored.statusCode ?? null,
  error_code: stored.errorCode ?? null,
  error_detail: stored.errorDetail ?? null,
  stream: stored.stream,
  started_at: stored.startedAt.toISOString(),
  completed_at: stored.completedAt.toISOString(),
  latency_ms: stored.latencyMs,
});

const presentOverhead = (overhead: McpTokenOverhead | undefined): t.TypeOf<typeof tokenOverhead> | null =>
  overhead === undefined
    ? null
    : {
        request_id: overhead.requestId,
        request_log_id: overhead.requestLogId ?? null,
        server_count: overhead.serverCount,
        tool_count: overhead.toolCount,
        tool_definition_bytes: overhead.toolDefinitionBytes ?? null,
        tool_definition_tokens: overhead.toolDefinitionTokens ?? null,
        tool_result_tokens: overhead.toolResultTokens ?? null,
        occurred_at: overhead.occurredAt.toISOString(),
      };
