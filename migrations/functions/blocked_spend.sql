create or replace function blocked_spend(
  scope text, from_time timestamptz, until_time timestamptz, out answers bigint, out cost_picousd numeric
)
language sql stable as $$
  select count(*), coalesce(sum(b.cost_picousd), 0) from blocked_answers b
  where b.ownership_scope_key = scope and b.occurred_at >= from_time and b.occurred_at < until_time
$$;
comment on function blocked_spend is 'How many answers of a window were blocked, and what they cost in picodollars.';
