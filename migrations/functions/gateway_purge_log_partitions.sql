-- One span of time whose rows are all before the cutoff goes as a whole, with its children and its part of the rollups:
-- its rows are read once, and none of them is deleted by itself. `behind` is the end of the last span that was looked at;
-- `reached` is that of this one, or null where there is none left. A span that still has later rows, such as those of
-- requests that went on past its end, or that somebody has in use, is left to `gateway_purge_request_logs`.
-- Whoever would write into the span waits meanwhile, which nobody does; everybody else does not, but for a moment at the
-- end. The counts are written as `gateway_purge_request_logs` writes them.
create or replace function gateway_purge_log_partitions(
  cutoff timestamptz, behind uuid, out deleted bigint, out reached uuid
) language plpgsql volatile set lock_timeout = '2s' set max_parallel_workers_per_gather = 0 set jit = off as $$
declare
  tables text[];
  parts text[];
  logs text;
  is_over boolean;
  bucket_from timestamptz;
  bucket_until timestamptz;
begin
  deleted := 0;
  select s.to_id, s.tables, s.parts, s.logs into reached, tables, parts, logs
  from (
    select to_id, array_agg(log_table order by log_table) as tables, array_agg(part order by log_table) as parts,
           max(part) filter (where log_table = 'request_logs') as logs
    from log_partitions() where to_id <= log_id_floor(cutoff) and to_id > behind group by from_id, to_id
  ) s
  where cardinality(s.parts) = (select count(*) from log_tables) order by s.to_id limit 1;
  if reached is null then
    return;
  end if;
  execute format('lock table %I in share row exclusive mode', logs);
  execute format('select not exists (select from %I where occurred_at >= $1)', logs) into is_over using cutoff;
  if not is_over then
    return;
  end if;
  execute format(
    'with counted as materialized (
       select rollup_bucket(occurred_at) as bucket_start, user_id, agent_harness_key, ownership_scope_key,
              max(agent_harness_label) as label, count(*) as n,
              coalesce(sum(referenced_mcp_server_count), 0) as mcp, count(referenced_mcp_server_count) as mcp_n,
              coalesce(sum(exposed_tool_count), 0) as exposed, count(exposed_tool_count) as exposed_n,
              coalesce(sum(invoked_tool_count), 0) as invoked, count(invoked_tool_count) as invoked_n,
              coalesce(sum(filtered_tool_count), 0) as filtered, count(filtered_tool_count) as filtered_n
       from %I group by 1, 2, 3, 4
     ), harnesses as (
       insert into harness_rollups as r
       select bucket_start, agent_harness_key, pg_backend_pid(), ownership_scope_key, max(label), -sum(n)
       from counted where agent_harness_key is not null group by bucket_start, agent_harness_key, ownership_scope_key
       on conflict on constraint harness_rollups_pkey
       do update set request_count = r.request_count + excluded.request_count
     ), cardinalities as (
       insert into tool_cardinality_rollups as r
       select user_id, bucket_start, pg_backend_pid(), ownership_scope_key, -sum(mcp), -sum(mcp_n), -sum(exposed),
              -sum(exposed_n), -sum(invoked), -sum(invoked_n), -sum(filtered), -sum(filtered_n)
       from counted where user_id is not null group by user_id, bucket_start, ownership_scope_key
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
     select coalesce(sum(n), 0), min(bucket_start), max(bucket_start) from counted', logs)
    into deleted, bucket_from, bucket_until;
  perform drop_counted_down_rollups(bucket_from, least(bucket_until + interval '12 hours', rollup_bucket(cutoff)));
  if not drop_log_tables(tables, parts, 40) then
    raise lock_not_available;
  end if;
exception when lock_not_available then
  deleted := 0;
end $$;
comment on function gateway_purge_log_partitions is 'Drops the next partitions of the request logs whose rows are all from before the cutoff.';
