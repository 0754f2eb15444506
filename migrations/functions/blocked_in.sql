-- The planner inlines it into a statement that calls it in its `from`.
create or replace function blocked_in(scope text, from_time timestamptz, until_time timestamptz)
returns table (answers bigint)
language sql stable as $$
  select count(*) from blocked_answers b
  where b.ownership_scope_key = scope and b.occurred_at >= from_time and b.occurred_at < until_time
$$;
comment on function blocked_in is 'How many answers of a window were blocked.';
