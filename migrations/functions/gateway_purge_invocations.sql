-- One bounded batch of the oldest records before the cutoff; rows that others have locked are skipped.
-- Plan types that read whole tables are disabled: a plan may be cached while the table is small, and used when it is
-- large.
create or replace function gateway_purge_invocations(cutoff timestamptz, at_most integer) returns bigint
language sql volatile
set lock_timeout = '2s'
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
  with old as materialized (
    select mcp_tool_invocation_id from mcp_tool_invocations
    where occurred_at < cutoff order by occurred_at, mcp_tool_invocation_id limit at_most for update skip locked
  ), purged as (
    delete from mcp_tool_invocations i using old o where i.mcp_tool_invocation_id = o.mcp_tool_invocation_id returning 1
  )
  select count(*) from purged
$$;
comment on function gateway_purge_invocations is 'Deletes at most so many records of MCP tool calls from before the cutoff.';
