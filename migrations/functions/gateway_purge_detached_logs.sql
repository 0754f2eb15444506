-- Drops the partitions of one detached span and subtracts their rows from the rollups: the rows are read once, and none
-- is deleted by itself. Each call handles one span; one that a crashed purge left is found by a later call. The counts
-- are written as in `gateway_purge_request_logs`. Returns how many request logs were dropped; null if no span is left,
-- or if its tables are locked, for example by another purge.
create or replace function gateway_purge_detached_logs() returns bigint
language plpgsql volatile as $$
declare
  suffix text;
  parts text[];
  deleted bigint;
  bucket_from timestamptz;
  bucket_until timestamptz;
begin
  select substring(c.relname from '_\d{4}_\d\d(?:_\d\d)?$'), array_agg(c.relname::text) into suffix, parts
  from log_tables t
  join pg_class p on p.oid = t.log_table::regclass
  join pg_class c on c.relnamespace = p.relnamespace and c.relkind = 'r' and not c.relispartition
    and c.relname = 'purged_' || t.log_table || substring(c.relname from '_\d{4}_\d\d(?:_\d\d)?$')
  group by 1 having count(*) = (select count(*) from log_tables) order by 1 limit 1;
  if suffix is null then
    return null;
  end if;
  begin
    execute format('lock table %s in access exclusive mode nowait', (select string_agg(quote_ident(name), ', ') from unnest(parts) name));
  exception when lock_not_available or undefined_table then
    return null;
  end;
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
     select coalesce(sum(n), 0), min(bucket_start), max(bucket_start) from counted', 'purged_request_logs' || suffix)
    into deleted, bucket_from, bucket_until;
  perform drop_counted_down_rollups(bucket_from, bucket_until + interval '12 hours');
  execute format('drop table %s', (select string_agg(quote_ident(name), ', ') from unnest(parts) name));
  return deleted;
end $$;
comment on function gateway_purge_detached_logs is 'Drops one span of the request logs that was taken out of them, and takes it out of the rollups.';
