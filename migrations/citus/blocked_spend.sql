-- As in `functions/`, but in PL/pgSQL: Citus does not plan the statements of a function in SQL.
create or replace function blocked_spend(
  scope text, from_time timestamptz, until_time timestamptz, out answers bigint, out cost_picousd numeric
)
language plpgsql stable
set citus.allow_nested_distributed_execution = on as $$
#variable_conflict use_column
begin
  select found.answers, found.cost into answers, cost_picousd
  from (
    select count(*) as answers, coalesce(sum(b.cost_picousd), 0) as cost from blocked_answers b
    where b.ownership_scope_key = scope and b.occurred_at >= from_time and b.occurred_at < until_time
  ) found;
end $$;
comment on function blocked_spend is 'How many answers of a window were blocked, and what they cost in picodollars.';
