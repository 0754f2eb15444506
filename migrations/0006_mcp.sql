-- What agents did with tools of MCP servers, and what those took of the context window.

create table request_mcp_token_overheads (
  request_id text not null,
  request_id_sha256 bytea not null generated always as (request_digest(request_id)) stored,
  request_log_id uuid,
  server_count integer not null,
  tool_count integer not null,
  tool_definition_tokens bigint,
  tool_result_tokens bigint,
  occurred_at timestamptz not null,
  constraint request_mcp_token_overheads_request_key unique nulls not distinct (request_id_sha256, request_log_id),
  constraint request_mcp_token_overheads_counts_check
    check (server_count >= 0 and tool_count >= 0 and tool_definition_tokens >= 0 and tool_result_tokens >= 0)
);
comment on table request_mcp_token_overheads is 'What the MCP tools of one request took of its context window: pressure, not spend. `request_log_id` is no foreign key: a purge leaves the row alone.';
comment on column request_mcp_token_overheads.tool_definition_tokens is 'As counted by who reported them; null where nobody did.';
create index request_mcp_token_overheads_request_log_id_idx on request_mcp_token_overheads (request_log_id)
  where request_log_id is not null;

create table mcp_tool_invocations (
  mcp_tool_invocation_id uuid not null,
  request_id text not null,
  request_log_id uuid,
  api_key_id uuid,
  user_id uuid,
  team_id text,
  owner_kind text,
  server_id text not null,
  server_display_name text,
  tool_id text not null,
  tool_display_name text,
  status text not null,
  policy_result text not null,
  latency_ms integer not null,
  error_code text,
  arguments_json json,
  result_json json,
  arguments_truncated boolean not null,
  result_truncated boolean not null,
  occurred_at timestamptz not null,
  list_bucket timestamptz not null
    generated always as (date_bin('15 minutes', occurred_at, timestamptz '2000-01-01 00:00:00+00')) stored,
  constraint mcp_tool_invocations_pkey primary key (mcp_tool_invocation_id),
  constraint mcp_tool_invocations_owner_check check (
    coalesce(owner_kind, 'none') = case when user_id is not null then 'user' when team_id is not null then 'team' else 'none' end
    and num_nonnulls(user_id, team_id) <= 1
  ),
  constraint mcp_tool_invocations_status_check check (status in (
    'success', 'unauthorized', 'policy_denied', 'upstream_error', 'gateway_error', 'timeout', 'invalid_request')),
  constraint mcp_tool_invocations_policy_result_check check (policy_result in ('allowed', 'denied', 'not_evaluated')),
  constraint mcp_tool_invocations_latency_check check (latency_ms >= 0)
);
comment on table mcp_tool_invocations is 'One call of one tool of an MCP server, with what was asked and answered, redacted. `request_log_id` is no foreign key: a purge leaves the row alone.';
comment on column mcp_tool_invocations.owner_kind is 'user or team, as budgets have it; null when nobody was authenticated.';
comment on column mcp_tool_invocations.list_bucket is 'The quarter of an hour of `occurred_at`; as in `request_logs`.';

create index mcp_tool_invocations_occurred_at_idx on mcp_tool_invocations (occurred_at, mcp_tool_invocation_id);
create index mcp_tool_invocations_request_id_idx on mcp_tool_invocations (hashtextextended(request_id, 0), list_bucket);
create index mcp_tool_invocations_request_log_id_idx on mcp_tool_invocations (request_log_id, list_bucket)
  where request_log_id is not null;
create index mcp_tool_invocations_api_key_id_idx on mcp_tool_invocations (api_key_id, list_bucket, status, policy_result)
  where api_key_id is not null;
create index mcp_tool_invocations_user_id_idx on mcp_tool_invocations (user_id, list_bucket, status, policy_result)
  where user_id is not null;
create index mcp_tool_invocations_team_id_idx on mcp_tool_invocations (team_id, list_bucket, status, policy_result)
  where team_id is not null;
create index mcp_tool_invocations_server_id_idx on mcp_tool_invocations (server_id, list_bucket, status, policy_result);
create index mcp_tool_invocations_tool_id_idx on mcp_tool_invocations (tool_id, list_bucket, status, policy_result);
-- What is nearly everything is read in the order of time.
create index mcp_tool_invocations_status_idx on mcp_tool_invocations (status, list_bucket) where status <> 'success';
create index mcp_tool_invocations_policy_result_idx on mcp_tool_invocations (policy_result, list_bucket)
  where policy_result <> 'allowed';
create index mcp_tool_invocations_long_request_id_idx
  on mcp_tool_invocations (long_request_id_sha256(request_id), list_bucket)
  where long_request_id_sha256(request_id) is not null;
