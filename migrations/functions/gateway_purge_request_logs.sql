-- One bounded batch. The oldest rows before the cutoff are deleted and subtracted from the rollups. Then their
-- payloads, tags and attempts are deleted by statements that see everything that was stored for these rows before they
-- were locked. The negative counts go into rollup rows of the purge's own session, so that purge and settlement do not
-- wait for each other. Rows that others have locked are skipped: concurrent purges share the work.
-- `since` is where the search starts: before it are index entries of deleted rows, perhaps millions, until vacuum has
-- removed them. `reached` is where this batch ended.
-- Plan types that read whole tables are disabled: a plan may be cached while the tables are small, and used when they
-- are large.
-- Before PostgreSQL 18, a disabled plan type that is used for want of another adds 10^10 to the cost, so that every
-- call would be JIT-compiled: hence `jit = off`.
create or replace function gateway_purge_request_logs(
  cutoff timestamptz, since timestamptz, at_most integer, out deleted bigint, out reached timestamptz
) language plpgsql volatile
set lock_timeout = '2s'
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  ids uuid[];
  scopes text[];
  behind_from timestamptz;
  behind_until timestamptz;
begin
  with old as materialized (
    select request_log_id, ownership_scope_key from request_logs
    where occurred_at >= since and occurred_at < cutoff
    order by occurred_at, request_log_id limit at_most for update skip locked
  ), purged as (
    delete from request_logs l using old
    where l.request_log_id = old.request_log_id and l.ownership_scope_key = old.ownership_scope_key
    returning l.request_log_id, l.ownership_scope_key, l.occurred_at, rollup_bucket(l.occurred_at) as bucket_start,
              l.user_id, l.agent_harness_key, l.agent_harness_label, l.referenced_mcp_server_count,
              l.exposed_tool_count, l.invoked_tool_count, l.filtered_tool_count
  ), harnesses as (
    insert into harness_rollups as r
    select bucket_start, agent_harness_key, pg_backend_pid(), ownership_scope_key, max(agent_harness_label), -count(*)
    from purged where agent_harness_key is not null group by bucket_start, agent_harness_key, ownership_scope_key
    on conflict on constraint harness_rollups_pkey
    do update set request_count = r.request_count + excluded.request_count
  ), cardinalities as (
    insert into tool_cardinality_rollups as r
    select user_id, bucket_start, pg_backend_pid(), ownership_scope_key, -coalesce(sum(referenced_mcp_server_count), 0),
           -count(referenced_mcp_server_count), -coalesce(sum(exposed_tool_count), 0), -count(exposed_tool_count),
           -coalesce(sum(invoked_tool_count), 0), -count(invoked_tool_count), -coalesce(sum(filtered_tool_count), 0),
           -count(filtered_tool_count)
    from purged where user_id is not null group by user_id, bucket_start, ownership_scope_key
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
  select count(*), max(occurred_at), array_agg(request_log_id), array_agg(ownership_scope_key)
    into deleted, reached, ids, scopes from purged;
  delete from request_log_tags c using unnest(ids, scopes) p(id, scope)
  where c.request_log_id = p.id and c.ownership_scope_key = p.scope;
  delete from request_log_attempts c using unnest(ids, scopes) p(id, scope)
  where c.request_log_id = p.id and c.ownership_scope_key = p.scope;
  delete from request_log_payloads c using unnest(ids, scopes) p(id, scope)
  where c.request_log_id = p.id and c.ownership_scope_key = p.scope;

  behind_from := rollup_bucket(since);
  behind_until := rollup_bucket(case when deleted < at_most then cutoff else reached end);
  if behind_from < behind_until then
    perform drop_counted_down_rollups(behind_from, behind_until);
  end if;
end $$;
comment on function gateway_purge_request_logs is 'Deletes at most so many request logs before the cutoff, with their children and their part of the rollups.';
