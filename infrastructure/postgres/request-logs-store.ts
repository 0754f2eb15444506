import * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, type FragmentSqlToken, sql } from 'slonik';
import type {
  ListedRequestLog,
  LoggedCharge,
  NamedRow,
  RequestLogDetail,
  RequestLogs,
  StoredAttempt,
} from '../../application/ports/request-logs.ts';
import type { RequestLogId } from '../../domain/request-log/request-ids.ts';
import { int8, timestamp, orUndefined, tokenCountColumn } from './codecs.ts';
import { findTokenOverhead } from './mcp-overheads.ts';
import type { Distribution } from './distribution.ts';
import { row } from './pool.ts';
import { listOf } from './request-log-filter.ts';
import { pageOf, readInOrder, readList, totalOf } from './time-list.ts';

const text = orUndefined(t.string);
const count = orUndefined(t.number);
const tokens = orUndefined(tokenCountColumn);

const logRow = t.type({
  request_log_id: t.string,
  request_id: t.string,
  api_key_id: text,
  api_key_name: text,
  user_id: text,
  user_name: text,
  team_id: text,
  team_name: text,
  service_account_id: text,
  service_account_name: text,
  model_key: text,
  resolved_model_key: text,
  provider_key: text,
  status_code: t.number,
  error_code: text,
  latency_ms: t.number,
  first_token_ms: count,
  prompt_tokens: tokens,
  completion_tokens: tokens,
  total_tokens: tokens,
  pricing_status: orUndefined(
    t.keyof({ priced: null, legacy_estimated: null, unpriced: null, usage_missing: null }),
  ),
  unpriced_reason: text,
  cost_picousd: orUndefined(int8),
  has_payload: t.boolean,
  request_payload_truncated: t.boolean,
  response_payload_truncated: t.boolean,
  caller_service: text,
  caller_component: text,
  caller_env: text,
  bespoke: t.array(t.type({ key: t.string, value: t.string })),
  exposed_tool_count: count,
  invoked_tool_count: count,
  referenced_mcp_server_count: count,
  filtered_tool_count: count,
  user_agent_raw: text,
  agent_harness_key: text,
  agent_harness_label: text,
  metadata: t.string,
  occurred_at: timestamp,
});
type LogRow = t.TypeOf<typeof logRow>;

/** Names of keys, users, teams and service accounts are the current ones, not those at the time of the request. */
const logColumns = sql.fragment`
  l.request_log_id, l.request_id,
  l.api_key_id, (select k.name from api_keys k where k.api_key_id = l.api_key_id) as api_key_name,
  l.user_id, (select u.name from users u where u.user_id = l.user_id) as user_name,
  l.team_id, (select m.name from teams m where m.team_id = l.team_id) as team_name,
  l.service_account_id,
  (select s.name from service_accounts s where s.service_account_id = l.service_account_id) as service_account_name,
  l.model_key, l.resolved_model_key, l.provider_key, l.status_code, l.error_code, l.latency_ms, l.first_token_ms,
  l.prompt_tokens, l.completion_tokens, l.total_tokens, e.pricing_status, e.unpriced_reason, e.cost_picousd::text as cost_picousd, l.has_payload, l.request_payload_truncated, l.response_payload_truncated,
  l.caller_service, l.caller_component, l.caller_env,
  (select coalesce(json_agg(json_build_object('key', t.tag_key, 'value', t.tag_value) order by t.tag_key), '[]')
   from request_log_tags t
   where t.request_log_id = l.request_log_id and t.ownership_scope_key = l.ownership_scope_key) as bespoke,
  l.exposed_tool_count, l.invoked_tool_count, l.referenced_mcp_server_count, l.filtered_tool_count, l.user_agent_raw,
  l.agent_harness_key, l.agent_harness_label, l.metadata_json::text as metadata, l.occurred_at
`;

/** The ledger has at most one row per log, with the same key. */
const logsWithCharges = sql.fragment`
  request_logs l left join usage_cost_events e
    on e.request_log_id = l.request_log_id and e.ownership_scope_key = l.ownership_scope_key
`;

const payloadRow = t.type({ request: text, response: text });

const attemptRow = t.type({
  attempt_number: t.number,
  provider_key: t.string,
  upstream_model: t.string,
  status: t.keyof({ success: null, provider_error: null, stream_start_error: null, stream_error: null }),
  status_code: count,
  error_code: text,
  error_detail: text,
  stream: t.boolean,
  started_at: timestamp,
  completed_at: timestamp,
  latency_ms: t.number,
});

export const requestLogsStore = (pool: DatabasePool, distribution: Distribution): RequestLogs => ({
  page: (filter, page) =>
    readList(pool, async (connection) => {
      const list = distribution === 'citus' ? readInOrder(listOf(filter)) : listOf(filter);
      const total = await totalOf(connection, list, filter);
      const rows = await connection.any(listedLogs(pageOf(list, filter, page)));
      return { items: rows.map(listedLog), ...total };
    }),
  find: (requestLogId) => readList(pool, (connection) => find(connection, requestLogId)),
});

/** The page is found by keys alone; only its rows are then read in full. */
const listedLogs = (page: FragmentSqlToken) => sql.type(row(logRow))`
  select ${logColumns} from (${page}) page join (${logsWithCharges}) on l.request_log_id = page.id
  order by page.occurred_at desc, page.id desc
`;

async function find(
  connection: CommonQueryMethods,
  requestLogId: RequestLogId,
): Promise<RequestLogDetail | undefined> {
  const found = await connection.maybeOne(sql.type(row(logRow))`
    select ${logColumns} from ${logsWithCharges} where l.request_log_id = ${requestLogId}
  `);
  if (found === null) return undefined;
  const payload = await connection.maybeOne(sql.type(row(payloadRow))`
    select p.request_json::text as request, p.response_json::text as response
    from request_log_payloads p where p.request_log_id = ${requestLogId}
  `);
  const attempts = await connection.any(sql.type(row(attemptRow))`
    select a.attempt_number, a.provider_key, a.upstream_model, a.status, a.status_code, a.error_code, a.error_detail,
           a.stream, a.started_at, a.completed_at, a.latency_ms
    from request_log_attempts a where a.request_log_id = ${requestLogId} order by a.attempt_number
  `);
  return {
    log: listedLog(found),
    payload: payload ?? undefined,
    attempts: attempts.map(storedAttempt),
    mcpTokenOverhead: await findTokenOverhead(connection, found.request_id, requestLogId),
  };
}

const listedLog = (found: LogRow): ListedRequestLog => ({
  requestLogId: found.request_log_id,
  requestId: found.request_id,
  apiKey: named(found.api_key_id, found.api_key_name),
  user: named(found.user_id, found.user_name),
  team: named(found.team_id, found.team_name),
  serviceAccount: named(found.service_account_id, found.service_account_name),
  modelKey: found.model_key,
  resolvedModelKey: found.resolved_model_key,
  providerKey: found.provider_key,
  statusCode: found.status_code,
  errorCode: found.error_code,
  latencyMs: found.latency_ms,
  firstTokenMs: found.first_token_ms,
  promptTokens: found.prompt_tokens,
  completionTokens: found.completion_tokens,
  totalTokens: found.total_tokens,
  charge: chargeOf(found),
  hasPayload: found.has_payload,
  requestPayloadTruncated: found.request_payload_truncated,
  responsePayloadTruncated: found.response_payload_truncated,
  service: found.caller_service,
  component: found.caller_component,
  env: found.caller_env,
  bespokeTags: found.bespoke,
  exposedToolCount: found.exposed_tool_count,
  invokedToolCount: found.invoked_tool_count,
  referencedMcpServerCount: found.referenced_mcp_server_count,
  filteredToolCount: found.filtered_tool_count,
  userAgent: found.user_agent_raw,
  agentHarnessKey: found.agent_harness_key,
  agentHarnessLabel: found.agent_harness_label,
  metadata: found.metadata,
  occurredAt: found.occurred_at,
});

const chargeOf = (found: LogRow): LoggedCharge | undefined =>
  found.pricing_status === undefined
    ? undefined
    : {
        pricingStatus: found.pricing_status,
        unpricedReason: found.unpriced_reason,
        cost: found.cost_picousd,
      };

const named = (id: string | undefined, name: string | undefined): NamedRow | undefined =>
  id === undefined ? undefined : { id, name };

const storedAttempt = (found: t.TypeOf<typeof attemptRow>): StoredAttempt => ({
  attemptNumber: found.attempt_number,
  providerKey: found.provider_key,
  upstreamModel: found.upstream_model,
  status: found.status,
  statusCode: found.status_code,
  errorCode: found.error_code,
  errorDetail: found.error_detail,
  stream: found.stream,
  startedAt: found.started_at,
  completedAt: found.completed_at,
  latencyMs: found.latency_ms,
});
