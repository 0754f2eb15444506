-- Before the provider, for a batch: which budget is in force for each scope, and what is spent of it. The owner of
-- `scopes[n]` is `users[n]`, or else `teams[n]`.
-- One scope is read by a statement of its own: it is quicker to begin than the one that reads many.
-- The planner may not choose here: planning anew at each call takes longer than the statements themselves, and a plan
-- that is kept may be of a time when the tables were small.
create or replace function gateway_admit_scopes(scopes text[], users uuid[], teams text[]) returns json
language plpgsql volatile
set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
set jit = off
as $$
declare
  t timestamptz := gateway_now();
  budget json;
  budgets json[] := '{}';
begin
  if cardinality(scopes) > 1 then
    budgets := array(
      select budget_admission(b.scope, b.budget_id, b.cadence, b.amount_10000, b.hard_limit, b.window_start,
                              b.window_end, b.spent, b.closed)
      from budgets_in_force(scopes, users, teams, t) b);
  else
    select budget_admission(scopes[1], b.budget_id, b.cadence, b.amount_10000, b.hard_limit, b.window_start,
                            b.window_end, b.spent, b.closed)
      into budget
    from budget_in_force(scopes[1], users[1], teams[1], t) b;
    if budget is not null then
      budgets[1] := budget;
    end if;
  end if;
  return json_build_object(
    'database_time', t, 'read_only', current_setting('transaction_read_only')::boolean, 'budgets', budgets);
end $$;
comment on function gateway_admit_scopes is 'Admission: reads without a lock, for the limit itself is kept by gateway_settle.';
