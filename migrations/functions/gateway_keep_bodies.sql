-- A payload without its summary row is skipped: the row still waits in a journal, or was purged. A payload that is
-- already there stays as it is. Returns how many were kept. `has_payload` becomes true in the transaction that writes
-- the payload.
-- A single payload is kept by statements without a set in them: starting one with a set takes longer than both.
-- Plan types that read whole tables are disabled: a plan may be cached while the tables are small, and used when they
-- are large.
-- Before PostgreSQL 18, a disabled plan type that is used for want of another adds 10^10 to the cost, so that every
-- call would be JIT-compiled: hence `jit = off`.
create or replace function gateway_keep_bodies(
  ids uuid[], requests json[], responses json[], requests_truncated boolean[], responses_truncated boolean[]
) returns bigint
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  scope text;
  kept_count bigint;
begin
  if cardinality(ids) = 1 then
    update request_logs l
    set has_payload = true, request_payload_truncated = requests_truncated[1],
        response_payload_truncated = responses_truncated[1]
    where l.request_log_id = ids[1] and not l.has_payload
    returning l.ownership_scope_key into scope;
    if scope is null then
      return 0;
    end if;
    insert into request_log_payloads values (ids[1], scope, requests[1], responses[1]);
    return 1;
  end if;

  with offered as (
    select * from unnest(ids, requests, responses, requests_truncated, responses_truncated)
      p(request_log_id, request_json, response_json, request_truncated, response_truncated)
  ), summaries as (
    update request_logs l
    set has_payload = true, request_payload_truncated = o.request_truncated,
        response_payload_truncated = o.response_truncated
    from offered o where l.request_log_id = o.request_log_id and not l.has_payload
    returning l.request_log_id, l.ownership_scope_key, o.request_json, o.response_json
  ), kept as (
    insert into request_log_payloads
    select s.request_log_id, s.ownership_scope_key, s.request_json, s.response_json from summaries s
    returning 1
  )
  select count(*) into kept_count from kept;
  return kept_count;
end $$;
comment on function gateway_keep_bodies is 'Keeps the payloads of a batch of requests that are logged already: the nth of each array is of the nth request.';
