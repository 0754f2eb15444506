-- As in `functions/`, but the rows are read twice: each reading is counted on the shards.
create or replace function log_hour(starts timestamptz)
returns table (
  ends json, latencies integer[], latency_counts integer[], first_tokens integer[], first_token_counts integer[]
)
language plpgsql stable
set citus.allow_nested_distributed_execution = on as $$
begin
  return query
  with ended as materialized (
    select l.latency_ms, l.status_code, l.error_code, count(*)::integer as counted from request_logs l
    where l.occurred_at >= starts and l.occurred_at < starts + interval '1 hour' group by 1, 2, 3
  ), begun as materialized (
    select l.first_token_ms, count(*)::integer as counted from request_logs l
    where l.occurred_at >= starts and l.occurred_at < starts + interval '1 hour'
      and l.status_code < 400 and l.first_token_ms is not null
    group by 1
  )
  select coalesce((select json_agg(json_build_array(e.status_code, e.error_code, e.counted))
                   from (select d.status_code, d.error_code, sum(d.counted) as counted from ended d group by 1, 2) e), '[]'),
         coalesce((select array_agg(d.latency_ms order by d.latency_ms, d.counted) from ended d where d.status_code < 400), '{}'),
         coalesce((select array_agg(d.counted order by d.latency_ms, d.counted) from ended d where d.status_code < 400), '{}'),
         coalesce((select array_agg(b.first_token_ms order by b.first_token_ms) from begun b), '{}'),
         coalesce((select array_agg(b.counted order by b.first_token_ms) from begun b), '{}');
end $$;
comment on function log_hour is 'How the requests of an hour ended; latencies and first tokens are of those that ended well.';
