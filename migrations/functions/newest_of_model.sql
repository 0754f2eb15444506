-- Answered from the index alone, which has `status_code` after `list_bucket`. The planner inlines it into a statement
-- that calls it in its `from`.
create or replace function newest_of_model(key text, since timestamptz, at_most integer)
returns table (requests integer, errors integer)
language sql stable as $$
  select count(*)::integer,
         (count(*) filter (where newest.status_code >= 400 and newest.status_code <> 499))::integer
  from (
    select l.status_code from request_logs l
    where l.model_key = key and l.list_bucket >= since order by l.list_bucket desc limit at_most
  ) newest
$$;
comment on function newest_of_model is 'How many requests of a model there were since a quarter of an hour, and how many failed; of the newest alone.';
