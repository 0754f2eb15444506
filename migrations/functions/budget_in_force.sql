-- The planner inlines it, and the functions it uses, into a statement that calls it in its `from`: none of them is
-- called.
create or replace function budget_in_force(scope text, owner_user uuid, owner_team text, t timestamptz)
returns table (
  budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean, window_start timestamptz,
  window_end timestamptz, spent numeric, closed boolean
)
language sql stable as $$
  select b.budget_id, b.cadence, b.amount_10000, b.hard_limit, w.starts, w.ends, p.picousd,
         exists (select from budget_window_closures c
                 where c.budget_id = b.budget_id and c.window_start = w.starts and c.ownership_scope_key = scope)
  from active_budget(owner_user, owner_team) b
  cross join lateral (select budget_window_start(b.cadence, t) as starts, budget_window_end(b.cadence, t) as ends) w
  cross join lateral window_spend(scope, w.starts, w.ends) p
$$;
comment on function budget_in_force is 'The active budget of a scope, whose owner is a user or else a team: its window at an instant, what is spent in it, and whether a blocked cost has shut it. No row where there is none.';
