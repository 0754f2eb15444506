import type { McpTokenOverhead } from '../../../application/ports/mcp-invocations.ts';
import type {
  ListedRequestLog,
  NamedRow,
  RequestLogDetail,
  StoredAttempt,
  StoredPayloads,
} from '../../../application/ports/request-logs.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';
import { type AdminData, JsonText, nullIfMissing, storedJsonText } from './json-text.ts';

/** The bodies of request logs (rules 40.8, 40.10, 40.11). A count that is not known is null; a real zero stays one. */
export const presentLog = (log: ListedRequestLog): AdminData => ({
  request_log_id: log.requestLogId,
  request_id: log.requestId,
  ...ownerFields(log),
  model_key: nullIfMissing(log.modelKey),
  resolved_model_key: nullIfMissing(log.resolvedModelKey),
  provider_key: nullIfMissing(log.providerKey),
  ...resultFields(log),
  has_payload: log.hasPayload,
  request_payload_truncated: log.requestPayloadTruncated,
  response_payload_truncated: log.responsePayloadTruncated,
  request_tags: {
    service: nullIfMissing(log.service),
    component: nullIfMissing(log.component),
    env: nullIfMissing(log.env),
    bespoke: log.bespokeTags.map(({ key, value }) => ({ key, value })),
  },
  tool_cardinality: {
    exposed_tool_count: nullIfMissing(log.exposedToolCount),
    invoked_tool_count: nullIfMissing(log.invokedToolCount),
    referenced_mcp_server_count: nullIfMissing(log.referencedMcpServerCount),
    filtered_tool_count: nullIfMissing(log.filteredToolCount),
  },
  user_agent_raw: nullIfMissing(log.userAgent),
  agent_harness_key: nullIfMissing(log.agentHarnessKey),
  agent_harness_label: nullIfMissing(log.agentHarnessLabel),
  metadata: new JsonText(log.metadata),
  occurred_at: log.occurredAt.toISOString(),
});

const ownerFields = ({ apiKey, user, team, serviceAccount }: ListedRequestLog): JsonObject => ({
  ...namedFields('api_key', apiKey),
  ...namedFields('user', user),
  ...namedFields('team', team),
  ...namedFields('service_account', serviceAccount),
});

const namedFields = (what: string, named: NamedRow | undefined): JsonObject => ({
  [`${what}_id`]: nullIfMissing(named?.id),
  [`${what}_name`]: nullIfMissing(named?.name),
});

const resultFields = (log: ListedRequestLog): JsonObject => ({
  status_code: log.statusCode,
  error_code: nullIfMissing(log.errorCode),
  latency_ms: log.latencyMs,
  prompt_tokens: nullIfMissing(log.promptTokens),
  completion_tokens: nullIfMissing(log.completionTokens),
  total_tokens: nullIfMissing(log.totalTokens),
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
    : { request_json: storedJsonText(payload.request), response_json: storedJsonText(payload.response) };

const presentAttempt = (attempt: StoredAttempt): JsonObject => ({
  attempt_number: attempt.attemptNumber,
  provider_key: attempt.providerKey,
  upstream_model: attempt.upstreamModel,
  status: attempt.status,
  status_code: nullIfMissing(attempt.statusCode),
  error_code: nullIfMissing(attempt.errorCode),
  error_detail: nullIfMissing(attempt.errorDetail),
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
        request_log_id: nullIfMissing(overhead.requestLogId),
        server_count: overhead.serverCount,
        tool_count: overhead.toolCount,
        tool_definition_tokens: nullIfMissing(overhead.toolDefinitionTokens),
        tool_result_tokens: nullIfMissing(overhead.toolResultTokens),
        occurred_at: overhead.occurredAt.toISOString(),
      };
