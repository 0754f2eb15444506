create or replace function budget_alert_due(amount_10000 bigint, spent numeric) returns boolean
language sql immutable parallel safe as $$
  select (amount_10000 * 100000000::numeric - spent) * 10000 <= amount_10000 * 100000000::numeric * 2000
$$;
comment on function budget_alert_due is 'The threshold is fixed at 20 % remaining (2000 of 10000).';
