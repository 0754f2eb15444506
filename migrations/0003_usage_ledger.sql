-- The canonical usage and spend ledger.

create table usage_cost_events (
  request_log_id uuid not null,
  request_id text not null,
  request_id_sha256 bytea not null generated always as (request_digest(request_id)) stored,
  ownership_scope_key text not null,
  api_key_id uuid not null,
  user_id uuid,
  team_id text,
  service_account_id text,
  model_key text not null,
  provider_key text not null,
  upstream_model text not null,
  prompt_tokens bigint,
  completion_tokens bigint,
  total_tokens bigint,
  pricing_status text not null,
  unpriced_reason text,
  input_picousd_per_token numeric(38, 0),
  output_picousd_per_token numeric(38, 0),
  pricing_source text,
  cost_picousd numeric(38, 0),
  occurred_at timestamptz not null,
  constraint usage_cost_events_pkey primary key (request_log_id, ownership_scope_key),
  constraint usage_cost_events_request_scope_key unique (request_id_sha256, ownership_scope_key),
  constraint usage_cost_events_pricing_status_check
    check (pricing_status in ('priced', 'legacy_estimated', 'unpriced', 'usage_missing')),
  constraint usage_cost_events_counted_check check (
    not counts_toward_spend(pricing_status)
    or (num_nulls(cost_picousd, prompt_tokens, completion_tokens, total_tokens) = 0
        and cost_picousd >= 0 and prompt_tokens >= 0 and completion_tokens >= 0 and total_tokens >= 0)
  )
);
comment on table usage_cost_events is 'One accounted request of one owner: its tokens, the prices used, and the exact cost. Never updated.';
-- No index begins with the scope alone: on a table without statistics the planner would take it for the duplicate
-- check, and read every row of the scope for each new one.

create table usage_daily_totals (
  ownership_scope_key text not null,
  day date not null,
  counted_picousd numeric(38, 0) not null default 0,
  constraint usage_daily_totals_pkey primary key (ownership_scope_key, day)
);
comment on table usage_daily_totals is 'Counted spend of one scope and UTC day; always the sum of its ledger rows.';

create table usage_rollups (
  bucket_start timestamptz not null,
  ownership_scope_key text not null,
  model_key text not null,
  pricing_status text not null,
  user_id uuid,
  team_id text,
  request_count bigint not null,
  counted_picousd numeric(38, 0) not null,
  constraint usage_rollups_pkey primary key (bucket_start, ownership_scope_key, model_key, pricing_status)
);
comment on table usage_rollups is 'Ledger rows of one scope, model, status and 12-hour bucket, counted and summed; always equal to its rows.';

create table blocked_answers (
  request_log_id uuid not null,
  ownership_scope_key text not null,
  cost_picousd numeric(38, 0) not null,
  occurred_at timestamptz not null,
  constraint blocked_answers_pkey primary key (request_log_id, ownership_scope_key)
);
comment on table blocked_answers is 'An answer whose cost a hard budget blocked: it is in no ledger row and counts nowhere else. Outside of the purge.';
create index blocked_answers_scope_idx on blocked_answers (ownership_scope_key, occurred_at) include (cost_picousd);

create table request_claims (
  request_id_sha256 bytea not null,
  ownership_scope_key text not null,
  request_log_id uuid not null,
  expires_at timestamptz not null,
  process_id uuid,
  constraint request_claims_pkey primary key (request_id_sha256, ownership_scope_key)
);
comment on table request_claims is 'accounting.duplicate_request_ids = reject: a request in flight; gone when it ends or expires.';
comment on column request_claims.process_id is 'Whose request it is; without one a claim ends with its request or when it expires.';
create index request_claims_request_log_id_idx on request_claims (request_log_id);

create table gateway_processes (
  process_id uuid primary key,
  seen_at timestamptz not null,
  unbroken_since timestamptz not null
);
comment on table gateway_processes is 'A process that serves, seen once a second. By the system''s clock: what it says is whether somebody is there, not when something happened.';
comment on column gateway_processes.unbroken_since is 'From when on it has been seen without a gap: only who was there itself can say that another was not.';

-- Truncated now and then instead of vacuumed: each probe must need new room.
create unlogged table write_probes (filling text not null) with (autovacuum_enabled = false);
alter table write_probes alter column filling set storage plain;
comment on table write_probes is 'What probes wrote and took back: no row of it is ever seen.';

create type settlement_record as (
  ord integer, request_log_id uuid, request_id text, scope text, api_key_id uuid, user_id uuid, team_id text,
  service_account_id text, model_key text, provider_key text, prompt_tokens bigint, completion_tokens bigint,
  total_tokens bigint,
  -- the ledger row, where `charged`
  charged boolean, upstream_model text, pricing_status text, unpriced_reason text, input_picousd_per_token numeric,
  output_picousd_per_token numeric, pricing_source text, cost_picousd numeric,
  -- the summary row, where `logged`
  logged boolean, resolved_model_key text, status_code integer, error_code text, latency_ms integer,
  caller_service text, caller_component text, caller_env text, exposed_tool_count integer,
  invoked_tool_count integer, user_agent_raw text, agent_harness_key text, agent_harness_label text,
  metadata_json jsonb, blocked_cost_usd text, tags jsonb, attempts jsonb
);
comment on type settlement_record is 'What a request leaves behind, as `gateway_settle` reads it. It grows by attributes at its end, which older releases leave out.';
