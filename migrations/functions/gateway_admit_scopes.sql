-- Admission of a batch, before the provider is called: which budget is in force for each scope, and how much of it is
-- spent. The owner of `scopes[n]` is `users[n]`, or else `teams[n]`.
-- A single scope is read by small statements: starting the one that reads many takes longer than all of these.
-- Plans are generic, because planning each call would take longer than the statements themselves. Plan types that read
-- whole tables are disabled, because a cached plan may date from a time when the tables were small.
create or replace function gateway_admit_scopes(scopes text[], users uuid[], teams text[]) returns json
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  t timestamptz := gateway_now();
  budget record;
  starts timestamptz;
  ends timestamptz;
  budgets json[] := '{}';
begin
  if cardinality(scopes) > 1 then
    budgets := array(
      select budget_admission(b.scope, b.budget_id, b.cadence, b.amount_10000, b.hard_limit, b.window_start,
                              b.window_end, b.spent, b.closed)
      from budgets_in_force(scopes, users, teams, t) b);
  else
    select * into budget from active_budget(users[1], teams[1]);
    if budget.budget_id is not null then
      starts := budget_window_start(budget.cadence, t);
      ends := budget_window_end(budget.cadence, t);
      budgets[1] := budget_admission(
        scopes[1], budget.budget_id, budget.cadence, budget.amount_10000, budget.hard_limit, starts, ends,
        (select s.picousd from window_spend(scopes[1], starts, ends) s),
        exists (select from budget_window_closures c
                where c.budget_id = budget.budget_id and c.window_start = starts
                  and c.ownership_scope_key = scopes[1]));
    end if;
  end if;
  return json_build_object(
    'database_time', t, 'read_only', current_setting('transaction_read_only')::boolean, 'budgets', budgets);
end $$;
comment on function gateway_admit_scopes is 'Admission: reads without a lock, for the limit itself is kept by gateway_settle.';
