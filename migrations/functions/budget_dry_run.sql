-- What a hard budget of this amount would have blocked in a window. The answers of the scope, including those that its
-- own budget blocked, are judged in the order of their times, as `gateway_settle` judges them: each against the total
-- of those that fitted before it. Days that fit as a whole are not walked. The walk starts in the first day that does
-- not, and reads the ledger's pages from then on, with the rows of other scopes in them.
create or replace function budget_dry_run(
  scope text, amount_10000 bigint, from_time timestamptz, until_time timestamptz,
  out spent numeric, out blocks_from timestamptz, out blocked_count bigint, out blocked_cost numeric
)
language plpgsql stable set enable_seqscan = off set jit = off
as $$
#variable_conflict use_column
declare
  amount constant numeric := amount_10000 * 100000000::numeric;
  fitted numeric := 0;
  walk_from timestamptz := from_time;
  one record;
begin
  spent := counted_spend(scope, from_time, until_time);
  blocked_count := 0;
  blocked_cost := 0;

  for one in
    select day_start, counted_spend(scope, day_start, day_start + interval '24 hours')
                      + (blocked_spend(scope, day_start, day_start + interval '24 hours')).cost_picousd as cost
    from generate_series(from_time, until_time - interval '24 hours', interval '24 hours') day_start order by 1
  loop
    exit when fitted + one.cost > amount;
    fitted := fitted + one.cost;
    walk_from := one.day_start + interval '24 hours';
  end loop;

  for one in
    select e.occurred_at as at, e.cost_picousd as cost, e.request_log_id
    from usage_cost_events e
    where e.ownership_scope_key = scope and counts_toward_spend(e.pricing_status)
      and e.occurred_at >= walk_from and e.occurred_at < until_time
    union all
    select b.occurred_at, b.cost_picousd, b.request_log_id
    from blocked_answers b
    where b.ownership_scope_key = scope and b.occurred_at >= walk_from and b.occurred_at < until_time
    order by 1, 3
  loop
    if fitted + one.cost > amount then
      blocks_from := coalesce(blocks_from, one.at);
      blocked_count := blocked_count + 1;
      blocked_cost := blocked_cost + one.cost;
    else
      fitted := fitted + one.cost;
    end if;
  end loop;
end $$;
comment on function budget_dry_run is 'What a hard budget of an amount would have blocked in a window; changes nothing.';
