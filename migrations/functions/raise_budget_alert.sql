-- Must be called with the scope's lock held.
create or replace function raise_budget_alert(
  budget uuid, owner_user uuid, owner_team text, cadence text, amount_10000 bigint, starts timestamptz, ends timestamptz,
  spent_before numeric, spent_after numeric, t timestamptz, mail_ready boolean
) returns void language plpgsql volatile as $$
declare
  scope text := ownership_scope(owner_user, owner_team);
  alert uuid;
begin
  insert into budget_alerts (
    ownership_scope_key, budget_id, user_id, team_id, cadence, amount_10000, threshold_bps, window_start, window_end, spend_before_picousd,
    spend_after_picousd, created_at
  )
  values (scope, budget, owner_user, case when owner_user is null then owner_team end, cadence, amount_10000,
          budget_alert_threshold_bps(), starts, ends, spent_before, spent_after, t)
  on conflict on constraint budget_alerts_once_key do nothing
  returning budget_alert_id into alert;
  if alert is null then
    return;
  end if;
  insert into budget_alert_deliveries (ownership_scope_key, budget_alert_id, recipient, delivery_status, failure_reason, created_at)
  select scope, alert, r.email, case when mail_ready then 'pending' else 'failed' end,
         case when not mail_ready then 'mail_not_configured' end, t
  from budget_alert_recipients(owner_user, owner_team) r(email);
  if not found then
    insert into budget_alert_deliveries (ownership_scope_key, budget_alert_id, delivery_status, failure_reason, created_at)
    values (scope, alert, 'failed', 'no_recipient', t);
  end if;
end $$;
comment on function raise_budget_alert is 'One alert with its queued deliveries; nothing when this window has had its alert.';
