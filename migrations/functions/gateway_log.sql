-- As `gateway_log_one`, for any number of records. A blocked cost sets the status and error code only of a record
-- without an error of its own: the row of a client disconnect keeps saying so, whatever became of the cost.
create or replace function gateway_log(items settlement_record[], verdicts text[], t timestamptz) returns void
language plpgsql volatile as $$
declare
  has_logs boolean;
  has_tags boolean;
begin
  select bool_or(i.logged), bool_or(i.logged and i.tags is not null) into has_logs, has_tags from unnest(items) i;
  if has_logs is not true then
    return;
  end if;

  insert into request_logs (
    request_log_id, ownership_scope_key, request_id, api_key_id, user_id, team_id, service_account_id, model_key, resolved_model_key,
    provider_key, status_code, error_code, latency_ms, first_token_ms, prompt_tokens, completion_tokens, total_tokens,
    caller_service, caller_component, caller_env, exposed_tool_count, invoked_tool_count,
    referenced_mcp_server_count, filtered_tool_count, user_agent_raw,
    agent_harness_key, agent_harness_label, metadata_json, occurred_at
  )
  select i.request_log_id, i.scope, i.request_id, i.api_key_id, i.user_id, i.team_id, i.service_account_id, i.model_key,
         i.resolved_model_key, i.provider_key,
         case when verdicts[i.ord] = 'blocked' and i.error_code is null then 429 else i.status_code end,
         case when verdicts[i.ord] = 'blocked' then coalesce(i.error_code, 'budget_exceeded') else i.error_code end,
         i.latency_ms, i.first_token_ms, i.prompt_tokens, i.completion_tokens, i.total_tokens, i.caller_service,
         i.caller_component, i.caller_env, i.exposed_tool_count, i.invoked_tool_count,
         i.referenced_mcp_server_count, i.filtered_tool_count, i.user_agent_raw, i.agent_harness_key,
         i.agent_harness_label,
         settled_metadata(i.metadata_json, verdicts[i.ord], i.blocked_cost_usd),
         t
  from unnest(items) i where i.logged;
  insert into request_log_attempts
  select i.request_log_id, i.scope, a.attempt_number, a.provider_key, a.upstream_model, a.status, a.status_code,
         a.error_code, a.error_detail, a.stream, to_timestamp(a.started_ms / 1000.0),
         to_timestamp(a.completed_ms / 1000.0), a.completed_ms - a.started_ms
  from unnest(items) i
  cross join lateral jsonb_to_recordset(i.attempts) a(
    attempt_number integer, provider_key text, upstream_model text, status text, status_code integer,
    error_code text, error_detail text, stream boolean, started_ms bigint, completed_ms bigint)
  where i.logged;
  if has_tags then
    insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
    select l.request_log_id, l.ownership_scope_key, tag.key, tag.value, l.list_bucket, l.status_code, l.model_key
    from unnest(items) i
    join request_logs l on l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope
    cross join lateral jsonb_each_text(i.tags) tag
    where i.logged;
  end if;
  insert into harness_rollups as r
  select rollup_bucket(t), i.agent_harness_key, w.writer, i.scope, max(i.agent_harness_label), count(*)
  from unnest(items) i
  cross join lateral (select case when i.charged then 0 else pg_backend_pid() end as writer) w
  where i.logged and i.agent_harness_key is not null group by i.agent_harness_key, i.scope, w.writer
  on conflict on constraint harness_rollups_pkey
  do update set request_count = r.request_count + excluded.request_count;
  insert into tool_cardinality_rollups as r
  select i.user_id, rollup_bucket(t), w.writer, i.scope,
         coalesce(sum(i.referenced_mcp_server_count), 0), count(i.referenced_mcp_server_count),
         coalesce(sum(i.exposed_tool_count), 0),
         count(i.exposed_tool_count), coalesce(sum(i.invoked_tool_count), 0), count(i.invoked_tool_count),
         coalesce(sum(i.filtered_tool_count), 0), count(i.filtered_tool_count)
  from unnest(items) i
  cross join lateral (select case when i.charged then 0 else pg_backend_pid() end as writer) w
  where i.logged and i.user_id is not null group by i.user_id, i.scope, w.writer
  on conflict on constraint tool_cardinality_rollups_pkey
  do update set referenced_mcp_server_sum = r.referenced_mcp_server_sum + excluded.referenced_mcp_server_sum,
                referenced_mcp_server_rows = r.referenced_mcp_server_rows + excluded.referenced_mcp_server_rows,
                exposed_tool_sum = r.exposed_tool_sum + excluded.exposed_tool_sum,
                exposed_tool_rows = r.exposed_tool_rows + excluded.exposed_tool_rows,
                invoked_tool_sum = r.invoked_tool_sum + excluded.invoked_tool_sum,
                invoked_tool_rows = r.invoked_tool_rows + excluded.invoked_tool_rows,
                filtered_tool_sum = r.filtered_tool_sum + excluded.filtered_tool_sum,
                filtered_tool_rows = r.filtered_tool_rows + excluded.filtered_tool_rows;
end $$;
comment on function gateway_log is 'Writes summary rows with their tags and attempts; refused where one is there already.';
