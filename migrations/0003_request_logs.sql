-- What happened, one summary row per logged request.

create table request_logs (
  request_log_id uuid primary key,
  request_id text not null,
  api_key_id uuid,
  user_id uuid,
  team_id text,
  service_account_id text,
  model_key text,
  resolved_model_key text,
  provider_key text,
  status_code integer not null,
  error_code text,
  latency_ms integer not null,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  has_payload boolean not null default false,
  request_payload_truncated boolean not null default false,
  response_payload_truncated boolean not null default false,
  caller_service text,
  caller_component text,
  caller_env text,
  exposed_tool_count integer,
  invoked_tool_count integer,
  referenced_mcp_server_count integer,
  filtered_tool_count integer,
  user_agent_raw text,
  agent_harness_key text,
  agent_harness_label text,
  metadata_json jsonb not null,
  occurred_at timestamptz not null
);
comment on table request_logs is 'Hot summary row, one per logged request. `request_id` is the caller''s and not unique.';
create index request_logs_occurred_at_idx on request_logs (occurred_at desc, request_log_id desc);
-- A hash index takes a value of any length; request ids are as long as a header may be.
create index request_logs_request_id_idx on request_logs using hash (request_id);

create table request_log_tags (
  request_log_id uuid not null references request_logs on delete cascade,
  tag_key text not null,
  tag_value text not null,
  constraint request_log_tags_pkey primary key (request_log_id, tag_key)
);
comment on table request_log_tags is 'A bespoke caller tag of one request; at most five.';
create index request_log_tags_pair_idx on request_log_tags (tag_key, tag_value);

create table request_log_attempts (
  request_log_id uuid not null references request_logs on delete cascade,
  attempt_number integer not null,
  provider_key text not null,
  upstream_model text not null,
  status text not null,
  status_code integer,
  error_code text,
  error_detail text,
  stream boolean not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  latency_ms integer not null,
  constraint request_log_attempts_pkey primary key (request_log_id, attempt_number),
  constraint request_log_attempts_status_check
    check (status in ('success', 'provider_error', 'stream_start_error', 'stream_error'))
);
comment on table request_log_attempts is 'One upstream provider execution; a request that failed before the provider has none.';
