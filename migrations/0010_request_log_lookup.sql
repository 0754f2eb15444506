-- What makes every list of request logs quick, for few bytes a row.
--
-- A list is in the order of time. An index that holds that order behind each thing that is looked for takes 60 to 100
-- bytes a row, for no two entries are equal. One that holds buckets of a quarter of an hour instead takes 5 to 60:
-- equal entries share their key. A list counts in it, without touching the table, in which buckets its page lies, and
-- then reads and sorts the rows of these. What follows the bucket in an index is looked for together with what stands
-- before it.

alter table request_logs
  add column list_bucket timestamptz not null
    generated always as (date_bin('15 minutes', occurred_at, timestamptz '2000-01-01 00:00:00+00')) stored;
comment on column request_logs.list_bucket is 'The quarter of an hour of `occurred_at`.';

-- Ascending: new rows come at the end, and leave full pages behind; descending they left half-full ones. The status is
-- in it for the lists of what is 200, which is nearly everything.
drop index request_logs_occurred_at_idx;
create index request_logs_occurred_at_idx on request_logs (occurred_at, request_log_id) include (status_code);
-- A hash index reads through all equal entries to add one: a caller who always sends the same id made settlement slow.
drop index request_logs_request_id_idx;
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

-- A tag goes with what it is looked for together with.
alter table request_log_tags
  add column list_bucket timestamptz, add column status_code integer, add column model_key text;
update request_log_tags t
set list_bucket = l.list_bucket, status_code = l.status_code, model_key = l.model_key
from request_logs l where l.request_log_id = t.request_log_id;
alter table request_log_tags alter column list_bucket set not null, alter column status_code set not null;
comment on column request_log_tags.list_bucket is 'As in the tag''s request log, and so are `status_code` and `model_key`.';
drop index request_log_tags_pair_idx;
create index request_log_tags_pair_idx on request_log_tags (tag_key, tag_value, list_bucket, status_code, model_key);

create function request_log_tags_follow() returns trigger language plpgsql as $$
begin
  update request_log_tags set status_code = new.status_code where request_log_id = new.request_log_id;
  return null;
end $$;
comment on function request_log_tags_follow is 'A row that is judged again has another status; its tags say so too.';
create trigger request_logs_status_trigger after update of status_code on request_logs
  for each row when (old.status_code <> new.status_code) execute function request_log_tags_follow();

create or replace function gateway_log(items settlement_record[], verdicts text[], t timestamptz) returns void
language sql volatile as $$
  with summaries as (
    insert into request_logs (
      request_log_id, request_id, api_key_id, user_id, team_id, service_account_id, model_key, resolved_model_key,
      provider_key, status_code, error_code, latency_ms, prompt_tokens, completion_tokens, total_tokens,
      caller_service, caller_component, caller_env, exposed_tool_count, invoked_tool_count, user_agent_raw,
      agent_harness_key, agent_harness_label, metadata_json, occurred_at
    )
    select i.request_log_id, i.request_id, i.api_key_id, i.user_id, i.team_id, i.service_account_id, i.model_key,
           i.resolved_model_key, i.provider_key,
           case when verdicts[i.ord] = 'blocked' then 429 else i.status_code end,
           case when verdicts[i.ord] = 'blocked' then 'budget_exceeded' else i.error_code end,
           i.latency_ms, i.prompt_tokens, i.completion_tokens, i.total_tokens, i.caller_service, i.caller_component,
           i.caller_env, i.exposed_tool_count, i.invoked_tool_count, i.user_agent_raw, i.agent_harness_key,
           i.agent_harness_label,
           case verdicts[i.ord]
             when 'blocked' then i.metadata_json
               || jsonb_build_object('accounting', jsonb_build_object('blocked_cost_usd', i.blocked_cost_usd))
             when 'duplicate' then i.metadata_json || '{"accounting": {"duplicate": true}}'
             else i.metadata_json
           end,
           t
    from unnest(items) i where i.logged
    on conflict on constraint request_logs_pkey do nothing
    returning request_log_id, user_id, agent_harness_key, agent_harness_label, exposed_tool_count, invoked_tool_count,
              list_bucket, status_code, model_key
  ), tags as (
    insert into request_log_tags (request_log_id, tag_key, tag_value, list_bucket, status_code, model_key)
    select s.request_log_id, tag.key, tag.value, s.list_bucket, s.status_code, s.model_key
    from summaries s join unnest(items) i using (request_log_id) cross join lateral jsonb_each_text(i.tags) tag
  ), harnesses as (
    insert into harness_rollups as r
    select rollup_bucket(t), s.agent_harness_key, pg_backend_pid(), max(s.agent_harness_label), count(*)
    from summaries s where s.agent_harness_key is not null group by s.agent_harness_key
    on conflict on constraint harness_rollups_pkey
    do update set request_count = r.request_count + excluded.request_count
  ), cardinalities as (
    insert into tool_cardinality_rollups as r
    select s.user_id, rollup_bucket(t), pg_backend_pid(), 0, 0, coalesce(sum(s.exposed_tool_count), 0),
           count(s.exposed_tool_count), coalesce(sum(s.invoked_tool_count), 0), count(s.invoked_tool_count), 0, 0
    from summaries s where s.user_id is not null group by s.user_id
    on conflict on constraint tool_cardinality_rollups_pkey
    do update set exposed_tool_sum = r.exposed_tool_sum + excluded.exposed_tool_sum,
                  exposed_tool_rows = r.exposed_tool_rows + excluded.exposed_tool_rows,
                  invoked_tool_sum = r.invoked_tool_sum + excluded.invoked_tool_sum,
                  invoked_tool_rows = r.invoked_tool_rows + excluded.invoked_tool_rows
  )
  insert into request_log_attempts
  select s.request_log_id, a.attempt_number, a.provider_key, a.upstream_model, a.status, a.status_code, a.error_code,
         a.error_detail, a.stream, to_timestamp(a.started_ms / 1000.0), to_timestamp(a.completed_ms / 1000.0),
         a.completed_ms - a.started_ms
  from summaries s join unnest(items) i using (request_log_id)
  cross join lateral jsonb_to_recordset(i.attempts) a(
    attempt_number integer, provider_key text, upstream_model text, status text, status_code integer,
    error_code text, error_detail text, stream boolean, started_ms bigint, completed_ms bigint)
$$;

-- Lists count in indexes alone where a page of the table is known to hold nothing but what everybody sees: soon after
-- it was filled, and not when a fifth of the table is new.
alter table request_logs set (
  autovacuum_vacuum_insert_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0.02
);
alter table request_log_tags set (
  autovacuum_vacuum_insert_threshold = 20000, autovacuum_vacuum_insert_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_scale_factor = 0.02
);
