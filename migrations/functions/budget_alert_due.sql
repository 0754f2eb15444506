create or replace function budget_alert_due(amount_10000 bigint, spent numeric) returns boolean
language sql immutable parallel safe as $$
  select (amount_10000 * 100000000::numeric - spent) * 10000
         <= amount_10000 * 100000000::numeric * budget_alert_threshold_bps()
$$;
comment on function budget_alert_due is 'What remains of the amount is at or below the threshold.';
