create or replace function budget_terms_json(
  budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, timezone text, from_config boolean
) returns json language sql stable as $$
  select json_build_object('budget_id', budget_id, 'cadence', cadence, 'amount_10000', amount_10000,
                           'hard_limit', hard_limit, 'timezone', timezone, 'from_config', from_config)
$$;
comment on function budget_terms_json is 'A budget as events tell of it.';
