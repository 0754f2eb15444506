-- What happened, one summary row per logged request, and what hangs by it.
--
-- A list is in the order of time. An index that holds that order behind each thing that is looked for takes 60 to 100
-- bytes a row, for no two entries are equal. One that holds buckets of a quarter of an hour instead takes 5 to 60:
-- equal entries share their key. A list counts in it, without touching the table, in which buckets its page lies, and
-- then reads and sorts the rows of these. What follows the bucket in an index is looked for together with what stands
-- before it.
--
-- Each table is cut by time: `request_log_id` is a UUIDv7, which begins with the time of its request. So a row has one
-- key, wherever it lies, and whoever has its id finds it in one partition. `gateway_make_log_partitions` makes one a
-- month, ahead of time; what fits into none, such as an id of another kind, lies in the default partition. There are no
-- foreign keys: what hangs by a request is written and deleted together with it.

create table request_logs (
  request_log_id uuid not null,
  ownership_scope_key text not null,
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
  occurred_at timestamptz not null,
  list_bucket timestamptz not null
    generated always as (date_bin('15 minutes', occurred_at, timestamptz '2000-01-01 00:00:00+00')) stored,
  constraint request_logs_pkey primary key (request_log_id, ownership_scope_key)
) partition by range (request_log_id);
comment on table request_logs is 'Hot summary row, one per logged request. `request_id` is the caller''s and not unique.';
comment on column request_logs.list_bucket is 'The quarter of an hour of `occurred_at`.';

-- Ascending: new rows come at the end, and leave full pages behind; descending they left half-full ones. The status is
-- in it for the lists of what is 200, which is nearly everything.
create index request_logs_occurred_at_idx on request_logs (occurred_at, request_log_id) include (status_code);
-- A hash index reads through all equal entries to add one: a caller who always sends the same id made settlement slow.
create index request_logs_request_id_idx on request_logs (hashtextextended(request_id, 0), list_bucket);

create index request_logs_api_key_id_idx on request_logs (api_key_id, list_bucket, status_code)
  where api_key_id is not null;
create index request_logs_user_id_idx on request_logs (user_id, list_bucket, status_code, model_key)
  where user_id is not null;
create index request_logs_service_account_id_idx
  on request_logs (service_account_id, list_bucket, status_code, caller_env)
  where service_account_id is not null;
create index request_logs_caller_component_idx
  on request_logs (caller_component, list_bucket, status_code, caller_env, caller_service, team_id)
  where caller_component is not null;
create index request_logs_caller_service_idx
  on request_logs (caller_service, list_bucket, status_code, caller_env, team_id, model_key)
  where caller_service is not null;
create index request_logs_team_id_idx on request_logs (team_id, list_bucket, status_code, caller_env, model_key)
  where team_id is not null;
create index request_logs_agent_harness_key_idx on request_logs (agent_harness_key, list_bucket, status_code, model_key)
  where agent_harness_key is not null;
create index request_logs_provider_key_idx on request_logs (provider_key, list_bucket, status_code, model_key, caller_env)
  where provider_key is not null;
create index request_logs_caller_env_idx on request_logs (caller_env, list_bucket, status_code, model_key)
  where caller_env is not null;
create index request_logs_model_key_idx on request_logs (model_key, list_bucket, status_code)
  where model_key is not null;
-- Nearly everything is 200, and read in the order of time.
create index request_logs_status_code_idx on request_logs (status_code, list_bucket) where status_code <> 200;
-- A request id is as long as a header may be, and then does not fit into the URL of a list: its digest does.
create index request_logs_long_request_id_idx on request_logs (long_request_id_sha256(request_id), list_bucket)
  where long_request_id_sha256(request_id) is not null;

create table request_log_tags (
  request_log_id uuid not null,
  ownership_scope_key text not null,
  tag_key text not null,
  tag_value text not null,
  list_bucket timestamptz not null,
  status_code integer not null,
  model_key text,
  constraint request_log_tags_pkey primary key (request_log_id, ownership_scope_key, tag_key)
) partition by range (request_log_id);
comment on table request_log_tags is 'A bespoke caller tag of one request; at most five.';
comment on column request_log_tags.list_bucket is 'As in the tag''s request log, and so are `status_code` and `model_key`: a tag goes with what it is looked for together with.';
create index request_log_tags_pair_idx on request_log_tags (tag_key, tag_value, list_bucket, status_code, model_key);

create table request_log_attempts (
  request_log_id uuid not null,
  ownership_scope_key text not null,
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
  constraint request_log_attempts_pkey primary key (request_log_id, ownership_scope_key, attempt_number),
  constraint request_log_attempts_status_check
    check (status in ('success', 'provider_error', 'stream_start_error', 'stream_error'))
) partition by range (request_log_id);
comment on table request_log_attempts is 'One upstream provider execution; a request that failed before the provider has none.';

create table request_log_payloads (
  request_log_id uuid not null,
  ownership_scope_key text not null,
  request_json json,
  response_json json,
  constraint request_log_payloads_pkey primary key (request_log_id, ownership_scope_key)
) partition by range (request_log_id);
comment on table request_log_payloads is 'Sanitized request and response bodies, as they were printed: every digit and the order of keys stay. PostgreSQL compresses what is over 2 KB.';

create table log_tables (
  log_table text not null,
  storage text not null,
  constraint log_tables_pkey primary key (log_table)
);
comment on table log_tables is 'A table that is cut by `request_log_id`, and the storage parameters of its partitions.';
insert into log_tables values
  -- A page keeps room for the second version that a row has for a moment, so that no index is touched by it. Lists count
  -- in indexes alone where a page of the table is known to hold nothing but what everybody sees: soon after it was
  -- filled, and not when a fifth of the table is new.
  ('request_logs', 'fillfactor = 85, autovacuum_vacuum_insert_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0.02'),
  ('request_log_tags', 'autovacuum_vacuum_insert_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0.01, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0.02'),
  -- What is deleted stays on disk until vacuum has made its space free for new rows, or its partition goes. By default
  -- a table is vacuumed when a fifth of it is dead; one day out of seven is less.
  ('request_log_attempts', 'autovacuum_vacuum_scale_factor = 0.1'),
  ('request_log_payloads', 'autovacuum_vacuum_scale_factor = 0.1, toast.autovacuum_vacuum_scale_factor = 0.1');

do $$
declare
  each log_tables;
begin
  for each in select * from log_tables loop
    execute format('create table %I partition of %I default with (%s)', each.log_table || '_default', each.log_table, each.storage);
  end loop;
end $$;

create table harness_rollups (
  bucket_start timestamptz not null,
  agent_harness_key text not null,
  writer integer not null,
  ownership_scope_key text not null,
  agent_harness_label text not null,
  request_count bigint not null,
  constraint harness_rollups_pkey primary key (bucket_start, agent_harness_key, ownership_scope_key, writer)
);
comment on table harness_rollups is 'Request-log rows of one harness, scope and 12-hour bucket. Writer 0 counts under the lock of the scope, any other is a database session that counts for itself, so that none waits for another.';

create table tool_cardinality_rollups (
  user_id uuid not null,
  bucket_start timestamptz not null,
  writer integer not null,
  ownership_scope_key text not null,
  referenced_mcp_server_sum bigint not null,
  referenced_mcp_server_rows bigint not null,
  exposed_tool_sum bigint not null,
  exposed_tool_rows bigint not null,
  invoked_tool_sum bigint not null,
  invoked_tool_rows bigint not null,
  filtered_tool_sum bigint not null,
  filtered_tool_rows bigint not null,
  constraint tool_cardinality_rollups_pkey primary key (user_id, bucket_start, ownership_scope_key, writer)
);
comment on table tool_cardinality_rollups is 'Tool counts of a user''s request-log rows in a 12-hour bucket; rows where a dimension was not recorded are not in its count. Writers are as in `harness_rollups`.';
