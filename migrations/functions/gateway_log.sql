create or replace function gateway_log(items settlement_record[], verdicts text[], t timestamptz) returns void
language sql volatile as $$
  with summaries as (
    insert into request_logs (
      request_log_id, ownership_scope_key, request_id, api_key_id, user_id, team_id, service_account_id, model_key, resolved_model_key,
      provider_key, status_code, error_code, latency_ms, first_token_ms, prompt_tokens, completion_tokens, total_tokens,
      caller_service, caller_component, caller_env, exposed_tool_count, invoked_tool_count,
      referenced_mcp_server_count, filtered_tool_count, user_agent_raw,
      agent_harness_key, agent_harness_label, metadata_json, occurred_at
    )
    select i.request_log_id, i.scope, i.request_id, i.api_key_id, i.user_id, i.team_id, i.service_account_id, i.model_key,
           i.resolved_model_key, i.provider_key,
           case when verdicts[i.ord] = 'blocked' then 429 else i.status_code end,
           case when verdicts[i.ord] = 'blocked' then 'budget_exceeded' else i.error_code end,
           i.latency_ms, i.first_token_ms, i.prompt_tokens, i.completion_tokens, i.total_tokens, i.caller_service,
           i.caller_component, i.caller_env, i.exposed_tool_count, i.invoked_tool_count,
           i.referenced_mcp_server_count, i.filtered_tool_count, i.user_agent_raw, i.agent_harness_key,
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
    returning request_log_id, ownership_scope_key, user_id, agent_harness_key, agent_harness_label, exposed_tool_count, invoked_tool_count,
              referenced_mcp_server_count, filtered_tool_count, list_bucket, status_code, model_key
  ), writers as (
    select i.request_log_id, case when i.charged then 0 else pg_backend_pid() end as writer from unnest(items) i
  ), tags as (
    insert into request_log_tags (request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
    select s.request_log_id, s.ownership_scope_key, tag.key, tag.value, s.list_bucket, s.status_code, s.model_key
    from summaries s join unnest(items) i using (request_log_id) cross join lateral jsonb_each_text(i.tags) tag
  ), harnesses as (
    insert into harness_rollups as r
    select rollup_bucket(t), s.agent_harness_key, w.writer, s.ownership_scope_key, max(s.agent_harness_label), count(*)
    from summaries s join writers w using (request_log_id)
    where s.agent_harness_key is not null group by s.agent_harness_key, s.ownership_scope_key, w.writer
    on conflict on constraint harness_rollups_pkey
    do update set request_count = r.request_count + excluded.request_count
  ), cardinalities as (
    insert into tool_cardinality_rollups as r
    select s.user_id, rollup_bucket(t), w.writer, s.ownership_scope_key,
           coalesce(sum(s.referenced_mcp_server_count), 0), count(s.referenced_mcp_server_count),
           coalesce(sum(s.exposed_tool_count), 0),
           count(s.exposed_tool_count), coalesce(sum(s.invoked_tool_count), 0), count(s.invoked_tool_count),
           coalesce(sum(s.filtered_tool_count), 0), count(s.filtered_tool_count)
    from summaries s join writers w using (request_log_id)
    where s.user_id is not null group by s.user_id, s.ownership_scope_key, w.writer
    on conflict on constraint tool_cardinality_rollups_pkey
    do update set referenced_mcp_server_sum = r.referenced_mcp_server_sum + excluded.referenced_mcp_server_sum,
                  referenced_mcp_server_rows = r.referenced_mcp_server_rows + excluded.referenced_mcp_server_rows,
                  exposed_tool_sum = r.exposed_tool_sum + excluded.exposed_tool_sum,
                  exposed_tool_rows = r.exposed_tool_rows + excluded.exposed_tool_rows,
                  invoked_tool_sum = r.invoked_tool_sum + excluded.invoked_tool_sum,
                  invoked_tool_rows = r.invoked_tool_rows + excluded.invoked_tool_rows,
                  filtered_tool_sum = r.filtered_tool_sum + excluded.filtered_tool_sum,
                  filtered_tool_rows = r.filtered_tool_rows + excluded.filtered_tool_rows
  )
  insert into request_log_attempts
  select s.request_log_id, s.ownership_scope_key, a.attempt_number, a.provider_key, a.upstream_model, a.status, a.status_code, a.error_code,
         a.error_detail, a.stream, to_timestamp(a.started_ms / 1000.0), to_timestamp(a.completed_ms / 1000.0),
         a.completed_ms - a.started_ms
  from summaries s join unnest(items) i using (request_log_id)
  cross join lateral jsonb_to_recordset(i.attempts) a(
    attempt_number integer, provider_key text, upstream_model text, status text, status_code integer,
    error_code text, error_detail text, stream boolean, started_ms bigint, completed_ms bigint)
$$;
comment on function gateway_log is 'Writes summary rows with their tags and attempts; a row that is there already is left as it is. A blocked cost stays on its row.';
