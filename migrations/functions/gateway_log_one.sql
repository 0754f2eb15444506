-- As `gateway_log`, for one record: its fields are parameters, which cost less than a set of one row.
create or replace function gateway_log_one(item settlement_record, verdict text, t timestamptz) returns void
language plpgsql volatile as $$
begin
  insert into request_logs (
    request_log_id, ownership_scope_key, request_id, api_key_id, user_id, team_id, service_account_id, model_key, resolved_model_key,
    provider_key, status_code, error_code, latency_ms, first_token_ms, prompt_tokens, completion_tokens, total_tokens,
    caller_service, caller_component, caller_env, exposed_tool_count, invoked_tool_count,
    referenced_mcp_server_count, filtered_tool_count, user_agent_raw,
    agent_harness_key, agent_harness_label, metadata_json, occurred_at
  )
  values (
    item.request_log_id, item.scope, item.request_id, item.api_key_id, item.user_id, item.team_id,
    item.service_account_id, item.model_key, item.resolved_model_key, item.provider_key,
    case when verdict = 'blocked' and item.error_code is null then 429 else item.status_code end,
    case when verdict = 'blocked' then coalesce(item.error_code, 'budget_exceeded') else item.error_code end,
    item.latency_ms, item.first_token_ms, item.prompt_tokens, item.completion_tokens, item.total_tokens,
    item.caller_service, item.caller_component, item.caller_env, item.exposed_tool_count, item.invoked_tool_count,
    item.referenced_mcp_server_count, item.filtered_tool_count, item.user_agent_raw, item.agent_harness_key,
    item.agent_harness_label, settled_metadata(item.metadata_json, verdict, item.blocked_cost_usd), t
  );
  if item.attempts is not null then
    insert into request_log_attempts
    select item.request_log_id, item.scope, a.attempt_number, a.provider_key, a.upstream_model, a.status, a.status_code,
           a.error_code, a.error_detail, a.stream, to_timestamp(a.started_ms / 1000.0),
           to_timestamp(a.completed_ms / 1000.0), a.completed_ms - a.started_ms
    from jsonb_to_recordset(item.attempts) a(
      attempt_number integer, provider_key text, upstream_model text, status text, status_code integer,
      error_code text, error_detail text, stream boolean, started_ms bigint, completed_ms bigint);
  end if;
  if item.tags is not null then
    insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
    select l.request_log_id, l.ownership_scope_key, tag.key, tag.value, l.list_bucket, l.status_code, l.model_key
    from request_logs l cross join lateral jsonb_each_text(item.tags) tag
    where l.request_log_id = item.request_log_id and l.ownership_scope_key = item.scope;
  end if;
  if item.agent_harness_key is not null then
    insert into harness_rollups as r
    values (rollup_bucket(t), item.agent_harness_key, case when item.charged then 0 else pg_backend_pid() end,
            item.scope, item.agent_harness_label, 1)
    on conflict on constraint harness_rollups_pkey
    do update set request_count = r.request_count + 1;
  end if;
  if item.user_id is not null then
    insert into tool_cardinality_rollups as r
    values (item.user_id, rollup_bucket(t), case when item.charged then 0 else pg_backend_pid() end, item.scope,
            coalesce(item.referenced_mcp_server_count, 0), num_nonnulls(item.referenced_mcp_server_count),
            coalesce(item.exposed_tool_count, 0), num_nonnulls(item.exposed_tool_count),
            coalesce(item.invoked_tool_count, 0), num_nonnulls(item.invoked_tool_count),
            coalesce(item.filtered_tool_count, 0), num_nonnulls(item.filtered_tool_count))
    on conflict on constraint tool_cardinality_rollups_pkey
    do update set referenced_mcp_server_sum = r.referenced_mcp_server_sum + excluded.referenced_mcp_server_sum,
                  referenced_mcp_server_rows = r.referenced_mcp_server_rows + excluded.referenced_mcp_server_rows,
                  exposed_tool_sum = r.exposed_tool_sum + excluded.exposed_tool_sum,
                  exposed_tool_rows = r.exposed_tool_rows + excluded.exposed_tool_rows,
                  invoked_tool_sum = r.invoked_tool_sum + excluded.invoked_tool_sum,
                  invoked_tool_rows = r.invoked_tool_rows + excluded.invoked_tool_rows,
                  filtered_tool_sum = r.filtered_tool_sum + excluded.filtered_tool_sum,
                  filtered_tool_rows = r.filtered_tool_rows + excluded.filtered_tool_rows;
  end if;
end $$;
comment on function gateway_log_one is 'Writes a summary row with its tags and attempts; refused where it is there already.';
