-- For replicas of the release before: `gateway_keep_bodies` is in its place.
-- A payload without its summary row (it waits in a journal, or was purged) is left out; one that is there already stays.
-- Returned is how many were kept. `has_payload` becomes true in the payload's own transaction.
-- The planner may not choose here: its plans may be kept, and one made while the tables were small would read them whole.
-- What it may not choose costs 10^10 before PostgreSQL 18, for which each call would be compiled.
-- Not in SQL, whose plans are made anew at each call before PostgreSQL 18.
create or replace function gateway_keep_payloads(items json) returns bigint
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  kept_count bigint;
begin
  with offered as (
    select p.* from json_to_recordset(items) p(
      request_log_id uuid, request_json json, response_json json, request_truncated boolean, response_truncated boolean)
  ), summaries as (
    update request_logs l
    set has_payload = true, request_payload_truncated = o.request_truncated,
        response_payload_truncated = o.response_truncated
    from offered o where l.request_log_id = o.request_log_id and not l.has_payload
    returning l.request_log_id, l.ownership_scope_key
  ), kept as (
    insert into request_log_payloads
    select s.request_log_id, s.ownership_scope_key, o.request_json, o.response_json from summaries s join offered o using (request_log_id)
    returning 1
  )
  select count(*) into kept_count from kept;
  return kept_count;
end $$;
comment on function gateway_keep_payloads is 'Keeps the payloads of a batch of requests that are logged already.';
