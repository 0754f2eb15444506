create or replace function budget_admission(
  scope text, budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamptz,
  window_end timestamptz, spent numeric, closed boolean
) returns json
language sql stable as $$
  select json_build_object(
    'scope', scope, 'budget_id', budget_id, 'cadence', cadence, 'amount_10000', amount_10000::text,
    'hard_limit', hard_limit, 'window_start', window_start, 'window_end', window_end, 'spent', spent::text,
    'closed', closed)
$$;
comment on function budget_admission is 'What an admission tells of a budget.';
