-- The planner inlines it, and the functions it uses, into a statement that calls it in its `from`: none of them is
-- called.
create or replace function budgets_in_force(scopes text[], users uuid[], teams text[], t timestamptz)
returns table (
  scope text, budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamptz,
  window_end timestamptz, spent numeric, closed boolean
)
language sql stable as $$
  select s.scope, b.budget_id, b.cadence, b.amount_10000, b.hard_limit, b.window_start, b.window_end, b.spent, b.closed
  from unnest(scopes, users, teams) s(scope, user_id, team_id)
  cross join lateral budget_in_force(s.scope, s.user_id, s.team_id, t) b
$$;
comment on function budgets_in_force is 'The budgets in force of scopes, whose owners are `users` and `teams`.';
