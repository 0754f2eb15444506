-- The planner inlines it into a statement that calls it in its `from`.
create or replace function log_mark(starts timestamptz) returns table (mark text)
language sql stable as $$
  select count(*) || ' ' || coalesce(sum(l.status_code), 0) from request_logs l
  where l.occurred_at >= starts and l.occurred_at < starts + interval '1 hour'
$$;
comment on function log_mark is 'What tells the logs of an hour from those that were there before: how many, and the sum of how they ended.';
