-- Links records of tool calls that were written before the log row of their request: those of the last day with the
-- same request id and owner, and without a request log. It waits for records that are being written, and records that
-- are written later see the log row, so that none is missed by both sides. If very many calls share an id, only the
-- newest 1,000 are considered.
-- Plan types that read whole tables are disabled: a plan may be cached while the table is small, and used when it is
-- large.
create or replace function gateway_link_invocations(items json) returns void language plpgsql volatile
set lock_timeout = '2s'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  perform pg_advisory_xact_lock(4071771014);
  update mcp_tool_invocations i set request_log_id = found.request_log_id
  from (
    select o.request_log_id, c.mcp_tool_invocation_id
    from json_to_recordset(items) o(request_log_id uuid, request_id text, scope text)
    cross join lateral (
      select i.* from mcp_tool_invocations i
      where hashtextextended(i.request_id, 0) = hashtextextended(o.request_id, 0) and i.request_id = o.request_id
        and i.list_bucket >= gateway_now() - interval '1 day'
      order by i.list_bucket desc limit 1000
    ) c
    where c.request_log_id is null and ownership_scope(c.user_id, c.team_id) = o.scope
  ) found
  where i.mcp_tool_invocation_id = found.mcp_tool_invocation_id;
end $$;
comment on function gateway_link_invocations is 'Gives records of MCP tool calls the request log that came after them.';
