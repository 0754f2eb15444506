-- If very many requests share an id, only the newest 100 are considered. The planner inlines it into a statement that
-- calls it in its `from`.
create or replace function log_of_request(request_id text, scope text) returns table (request_log_id uuid)
language sql stable as $$
  select l.request_log_id from (
    select l.request_log_id, l.ownership_scope_key, l.occurred_at from request_logs l
    where hashtextextended(l.request_id, 0) = hashtextextended(log_of_request.request_id, 0)
      and l.request_id = log_of_request.request_id
      and l.list_bucket >= gateway_now() - interval '1 day'
      and l.request_log_id >= log_id_floor(gateway_now() - interval '1 day')
    order by l.list_bucket desc limit 100
  ) l
  where l.ownership_scope_key = log_of_request.scope order by l.occurred_at desc limit 1
$$;
comment on function log_of_request is 'The newest request log of the last day that has this request id and owner; no row where there is none.';
