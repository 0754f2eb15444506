-- Rows are read once and counted in two ways: by how they ended, in groups that have a latency, and by their first
-- token, in groups that have none. The aggregates of one query see its rows in the same order, so each count has the
-- position of its time. The planner inlines it into a statement that calls it in its `from`.
create or replace function log_hour(starts timestamptz)
returns table (
  ends json, latencies integer[], latency_counts integer[], first_tokens integer[], first_token_counts integer[]
)
language sql stable as $$
  with alike as materialized (
    select latency_ms, status_code, error_code, first_token_ms, count(*)::integer as counted
    from (
      select l.latency_ms, l.status_code, l.error_code,
             case when l.status_code < 400 then l.first_token_ms end as first_token_ms
      from request_logs l where l.occurred_at >= starts and l.occurred_at < starts + interval '1 hour'
    ) logs
    group by grouping sets ((latency_ms, status_code, error_code), (first_token_ms))
  )
  select coalesce((select json_agg(json_build_array(status_code, error_code, counted))
                   from (select status_code, error_code, sum(counted) as counted
                         from alike where latency_ms is not null group by 1, 2) e), '[]'),
         coalesce(array_agg(latency_ms) filter (where status_code < 400), '{}'),
         coalesce(array_agg(counted) filter (where status_code < 400), '{}'),
         coalesce(array_agg(first_token_ms) filter (where first_token_ms is not null), '{}'),
         coalesce(array_agg(counted) filter (where first_token_ms is not null), '{}')
  from alike
$$;
comment on function log_hour is 'How the requests of an hour ended; latencies and first tokens are of those that ended well.';
