-- May run twice: a record that is already there stays as it is. Arguments and results come as arrays of one element, so
-- that a `null` that a tool returned differs from no result.
-- A record without a request log gets the newest one of the last day with its request id and owner.
-- `gateway_link_invocations`, which links from the other side, waits for the lock that is taken here.
-- Plan types that read whole tables are disabled: a plan may be cached while the tables are small, and used when they
-- are large.
create or replace function gateway_keep_invocations(items json) returns bigint language plpgsql volatile
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  kept bigint;
begin
  perform pg_advisory_xact_lock_shared(4071771014);
  insert into mcp_tool_invocations (
    mcp_tool_invocation_id, request_id, request_log_id, api_key_id, user_id, team_id, owner_kind, server_id,
    server_display_name, tool_id, tool_display_name, status, policy_result, latency_ms, error_code, arguments_json,
    result_json, arguments_truncated, result_truncated, occurred_at
  )
  select i.mcp_tool_invocation_id, i.request_id, coalesce(i.request_log_id, (
           select l.request_log_id from log_of_request(i.request_id, ownership_scope(i.user_id, i.team_id)) l
         )), i.api_key_id, i.user_id, i.team_id, i.owner_kind,
         i.server_id, i.server_display_name, i.tool_id, i.tool_display_name, i.status, i.policy_result, i.latency_ms,
         i.error_code, i.arguments_json -> 0, i.result_json -> 0, i.arguments_truncated, i.result_truncated,
         gateway_now()
  from json_to_recordset(items) i(
    mcp_tool_invocation_id uuid, request_id text, request_log_id uuid, api_key_id uuid, user_id uuid, team_id text,
    owner_kind text, server_id text, server_display_name text, tool_id text, tool_display_name text, status text,
    policy_result text, latency_ms integer, error_code text, arguments_json json, result_json json,
    arguments_truncated boolean, result_truncated boolean)
  on conflict on constraint mcp_tool_invocations_pkey do nothing;
  get diagnostics kept = row_count;
  return kept;
end $$;
comment on function gateway_keep_invocations is 'Keeps the records of a batch of MCP tool calls.';
