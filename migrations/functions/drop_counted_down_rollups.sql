-- Buckets that a purge has passed have been counted down to zero, and a count of zero needs no rows. Only rows that it
-- has locked are added up and deleted, so the deleted rows add up to zero even while others count.
-- Plan types that read whole tables are disabled, as in `gateway_purge_request_logs`.
create or replace function drop_counted_down_rollups(behind_from timestamptz, behind_until timestamptz) returns void
language plpgsql volatile
set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
begin
  with behind as (
    select bucket_start, agent_harness_key, ownership_scope_key, writer, request_count from harness_rollups
    where bucket_start >= behind_from and bucket_start < behind_until for update skip locked
  ), summed as (
    select b.*, sum(request_count) over (partition by bucket_start, agent_harness_key, ownership_scope_key) as total from behind b
  )
  delete from harness_rollups r using summed s
  where s.total = 0 and r.bucket_start = s.bucket_start and r.agent_harness_key = s.agent_harness_key
    and r.ownership_scope_key = s.ownership_scope_key and r.writer = s.writer;
  with behind as (
    select * from tool_cardinality_rollups
    where bucket_start >= behind_from and bucket_start < behind_until for update skip locked
  ), summed as (
    select user_id, bucket_start, ownership_scope_key, writer,
           (sum(referenced_mcp_server_sum) over w, sum(referenced_mcp_server_rows) over w, sum(exposed_tool_sum) over w,
            sum(exposed_tool_rows) over w, sum(invoked_tool_sum) over w, sum(invoked_tool_rows) over w,
            sum(filtered_tool_sum) over w, sum(filtered_tool_rows) over w) = (0, 0, 0, 0, 0, 0, 0, 0) as is_nothing
    from behind window w as (partition by user_id, bucket_start, ownership_scope_key)
  )
  delete from tool_cardinality_rollups r using summed s
  where s.is_nothing and r.user_id = s.user_id and r.bucket_start = s.bucket_start
    and r.ownership_scope_key = s.ownership_scope_key and r.writer = s.writer;
end $$;
comment on function drop_counted_down_rollups is 'Deletes the rollups of request logs that come to nothing, in a range of buckets.';
