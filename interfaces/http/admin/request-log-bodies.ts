import type { McpTokenOverhead } from '../../../application/ports/mcp-invocations.ts';
import type {
  ListedRequestLog,
  Named,
  RequestLogDetail,
  StoredAttempt,
  StoredPayloads,
} from '../../../application/ports/request-logs.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { type AdminData, JsonText, orNull, storedJson } from './json-text.ts';

/** The bodies of request logs (rules 40.8, 40.10, 40.11). A count that is not known is null; a real zero stays one. */
export const presentLog = (log: ListedRequestLog): AdminData => ({
  request_log_id: log.requestLogId,
  request_id: log.requestId,
  ...ownerFields(log),
  model_key: orNull(log.modelKey),
  resolved_model_key: orNull(log.resolvedModelKey),
  provider_key: orNull(log.providerKey),
  ...resultFields(log),
  has_payload: log.hasPayload,
  request_payload_truncated: log.requestPayloadTruncated,
  response_payload_truncated: log.responsePayloadTruncated,
  request_tags: {
    service: orNull(log.service),
    component: orNull(log.component),
    env: orNull(log.env),
    bespoke: log.bespokeTags.map(({ key, value }) => ({ key, value })),
  },
  tool_cardinality: {
    exposed_tool_count: orNull(log.exposedToolCount),
    invoked_tool_count: orNull(log.invokedToolCount),
    referenced_mcp_server_count: orNull(log.referencedMcpServerCount),
    filtered_tool_count: orNull(log.filteredToolCount),
  },
  user_agent_raw: orNull(log.userAgent),
  agent_harness_key: orNull(log.agentHarnessKey),
  agent_harness_label: orNull(log.agentHarnessLabel),
  metadata: new JsonText(log.metadata),
  occurred_at: log.occurredAt.toISOString(),
});

const ownerFields = ({ apiKey, user, team, serviceAccount }: ListedRequestLog): JsonObject => ({
  ...namedFields('api_key', apiKey),
  ...namedFields('user', user),
  ...namedFields('team', team),
  ...namedFields('service_account', serviceAccount),
});

const namedFields = (what: string, named: Named | undefined): JsonObject => ({
  [`${what}_id`]: orNull(named?.id),
  [`${what}_name`]: orNull(named?.name),
});

const resultFields = (log: ListedRequestLog): JsonObject => ({
  status_code: log.statusCode,
  error_code: orNull(log.errorCode),
  latency_ms: log.latencyMs,
  prompt_tokens: orNull(log.promptTokens),
  completion_tokens: orNull(log.completionTokens),
  total_tokens: orNull(log.totalTokens),
});

export const presentDetail = (detail: RequestLogDetail): AdminData => ({
  log: presentLog(detail.log),
  payload: presentPayload(detail.payload),
  attempts: detail.attempts.map(presentAttempt),
  mcp_token_overhead: presentOverhead(detail.mcpTokenOverhead),
});

const presentPayload = (payload: StoredPayloads | undefined): AdminData =>
  payload === undefined
    ? null
    : { request_json: storedJson(payload.request), response_json: storedJson(payload.response) };

const presentAttempt = (attempt: StoredAttempt): JsonObject => ({
  attempt_number: attempt.attemptNumber,
  provider_key: attempt.providerKey,
  upstream_model: attempt.upstreamModel,
  status: attempt.status,
  status_code: orNull(attempt.statusCode),
  error_code: orNull(attempt.errorCode),
  error_detail: orNull(attempt.errorDetail),
  stream: attempt.stream,
  started_at: attempt.startedAt.toISOString(),
  completed_at: attempt.completedAt.toISOString(),
  latency_ms: attempt.latencyMs,
});

const presentOverhead = (overhead: McpTokenOverhead | undefined): JsonObject | null =>
  overhead === undefined
    ? null
    : {
        request_id: overhead.requestId,
        request_log_id: orNull(overhead.requestLogId),
        server_count: overhead.serverCount,
        tool_count: overhead.toolCount,
        tool_definition_tokens: orNull(overhead.toolDefinitionTokens),
        tool_result_tokens: orNull(overhead.toolResultTokens),
        occurred_at: overhead.occurredAt.toISOString(),
      };
