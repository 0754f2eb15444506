create or replace function budget_alert_threshold_bps() returns integer
language sql immutable parallel safe as $$ select 2000 $$;
comment on function budget_alert_threshold_bps is 'The threshold is fixed: an alert is due at 20 % remaining, 2000 of 10000. As in domain/budget/budget-alert.ts.';
