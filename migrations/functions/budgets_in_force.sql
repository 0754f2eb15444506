-- A statement that has it in its `from` takes it in, with all that it is made of: nothing is called.
create or replace function budgets_in_force(scopes text[], users uuid[], teams text[], t timestamptz)
returns table (
  scope text, budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamptz,
  window_end timestamptz, spent numeric, closed boolean
)
language sql stable as $$
  select s.scope, b.budget_id, b.cadence, b.amount_10000, b.hard_limit, w.starts, w.ends, p.picousd,
         exists (select from budget_window_closures c
                 where c.budget_id = b.budget_id and c.window_start = w.starts and c.ownership_scope_key = s.scope)
  from unnest(scopes, users, teams) s(scope, user_id, team_id)
  cross join lateral active_budget(s.user_id, s.team_id) b
  cross join lateral (select budget_window_start(b.cadence, t) as starts, budget_window_end(b.cadence, t) as ends) w
  cross join lateral window_spend(s.scope, w.starts, w.ends) p
$$;
comment on function budgets_in_force is 'The active budgets of scopes, whose owners are `users` and `teams`: their windows at an instant, what is spent in them, and whether a blocked cost has shut them.';
