create or replace function active_budget(owner_user uuid, owner_team text)
returns table (budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean)
language sql stable as $$
  select b.budget_id, b.cadence, b.amount_10000, b.hard_limit from user_budgets b
  where b.user_id = owner_user and b.active
  union all
  select b.budget_id, b.cadence, b.amount_10000, b.hard_limit from team_budgets b
  where owner_user is null and b.team_id = owner_team and b.active
$$;
