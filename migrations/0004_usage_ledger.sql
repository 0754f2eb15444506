-- The canonical usage and spend ledger.

create function gateway_now() returns timestamptz language sql volatile as 'select clock_timestamp()';
comment on function gateway_now is 'The one clock of money: read after a scope''s lock is held. Tests replace it.';

create function request_digest(request_id text) returns bytea
language sql immutable parallel safe as $$ select sha256(replace(request_id, '\', '\\')::bytea) $$;
comment on function request_digest is 'SHA-256 of the id''s UTF-8 bytes: unique keys are made on it, so that the length of an id never fails an insert. The cast reads backslashes as escapes, hence the replacing; convert_to would not be immutable, and not be inlined.';

create table usage_cost_events (
  request_log_id uuid primary key,
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
  constraint usage_cost_events_request_scope_key unique (request_id_sha256, ownership_scope_key),
  constraint usage_cost_events_pricing_status_check
    check (pricing_status in ('priced', 'legacy_estimated', 'unpriced', 'usage_missing')),
  constraint usage_cost_events_counted_check check (
    pricing_status in ('unpriced', 'usage_missing')
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
comment on table usage_daily_totals is 'Counted spend (priced, legacy_estimated) of one scope and UTC day; always the sum of its ledger rows.';
