/** What can be exported. */
export const exportSubjects = ['ledger', 'request-logs'] as const;
export type ExportSubject = (typeof exportSubjects)[number];

/**
 * What the text of a cell represents: `money` is a whole number of up to 38 digits, `instant` is RFC 3339 in UTC with
 * six fraction digits, `json` is a JSON text.
 */
export type CellKind = 'text' | 'int32' | 'int64' | 'boolean' | 'money' | 'instant' | 'json';

export interface ExportColumn {
  readonly name: string;
  readonly kind: CellKind;
}

/**
 * A row as the database prints it, in column order. Numbers stay text, so that no digit is lost. SQL null is `null`.
 */
export type ExportRow = readonly (string | null)[];

const columns = (kinds: Readonly<Record<string, CellKind>>): readonly ExportColumn[] =>
  Object.entries(kinds).map(([name, kind]) => ({ name, kind }));

/**
 * The columns of each subject, named as in its table; `bespoke_tags` is an object with the row's tags of
 * `request_log_tags`. The first two columns are the row's key. No column contains a payload.
 */
export const exportColumns: Readonly<Record<ExportSubject, readonly ExportColumn[]>> = {
  ledger: columns({
    request_log_id: 'text',
    ownership_scope_key: 'text',
    request_id: 'text',
    api_key_id: 'text',
    user_id: 'text',
    team_id: 'text',
    service_account_id: 'text',
    model_key: 'text',
    provider_key: 'text',
    upstream_model: 'text',
    prompt_tokens: 'int64',
    completion_tokens: 'int64',
    total_tokens: 'int64',
    pricing_status: 'text',
    unpriced_reason: 'text',
    input_picousd_per_token: 'money',
    output_picousd_per_token: 'money',
    pricing_source: 'text',
    cost_picousd: 'money',
    occurred_at: 'instant',
  }),
  'request-logs': columns({
    request_log_id: 'text',
    ownership_scope_key: 'text',
    request_id: 'text',
    api_key_id: 'text',
    user_id: 'text',
    team_id: 'text',
    service_account_id: 'text',
    model_key: 'text',
    resolved_model_key: 'text',
    provider_key: 'text',
    status_code: 'int32',
    error_code: 'text',
    latency_ms: 'int32',
    first_token_ms: 'int32',
    prompt_tokens: 'int64',
    completion_tokens: 'int64',
    total_tokens: 'int64',
    has_payload: 'boolean',
    request_payload_truncated: 'boolean',
    response_payload_truncated: 'boolean',
    caller_service: 'text',
    caller_component: 'text',
    caller_env: 'text',
    bespoke_tags: 'json',
    exposed_tool_count: 'int32',
    invoked_tool_count: 'int32',
    referenced_mcp_server_count: 'int32',
    filtered_tool_count: 'int32',
    user_agent_raw: 'text',
    agent_harness_key: 'text',
    agent_harness_label: 'text',
    metadata_json: 'json',
    occurred_at: 'instant',
  }),
};
