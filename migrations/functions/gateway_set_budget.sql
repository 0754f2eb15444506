-- Any changed field closes the old row, which is history from then on, and opens a new one. Identical terms change
-- nothing, except that a budget set by the configuration file becomes the file's (`from_config`), and ends when its
-- block goes from there. Without terms (`new_cadence` null) the budget is deactivated. A change that does not come from
-- the file is an admin's (`actor`, from `address`, perhaps with `token`) and writes an event. Returns true if the terms
-- changed or the budget was deactivated.
create or replace function gateway_set_budget(
  owner_user uuid, owner_team text, new_cadence text, new_amount_10000 bigint, new_hard_limit boolean,
  new_timezone text, by_config boolean, mail_ready boolean, actor uuid default null, address text default null,
  token uuid default null
) returns boolean language plpgsql volatile set lock_timeout = '5s' as $$
declare
  scope text := ownership_scope(owner_user, owner_team);
  source text := case when by_config then 'config' else 'admin' end;
  present record;
  opened uuid;
  t timestamptz;
  spent numeric;
begin
  perform lock_budgets(array[scope]);
  t := gateway_now();
  if owner_user is null then
    select * into present from team_budgets b where b.team_id = owner_team and b.active;
  else
    select * into present from user_budgets b where b.user_id = owner_user and b.active;
  end if;
  if present.budget_id is null and new_cadence is null then
    return false;
  end if;
  if present.budget_id is not null and (present.cadence, present.amount_10000, present.hard_limit, present.timezone)
     is not distinct from (new_cadence, new_amount_10000, new_hard_limit, new_timezone) then
    opened := present.budget_id;
    if by_config then
      update user_budgets b set from_config = true where b.budget_id = opened and not b.from_config;
      update team_budgets b set from_config = true where b.budget_id = opened and not b.from_config;
    end if;
  else
    update user_budgets b set active = false, deactivated_at = t, deactivated_by = source, deactivated_by_user_id = actor
    where b.budget_id = present.budget_id;
    update team_budgets b set active = false, deactivated_at = t, deactivated_by = source, deactivated_by_user_id = actor
    where b.budget_id = present.budget_id;
    if new_cadence is not null and owner_user is null then
      insert into team_budgets (team_id, cadence, amount_10000, hard_limit, timezone, from_config, created_at, set_by,
                                set_by_user_id)
      values (owner_team, new_cadence, new_amount_10000, new_hard_limit, new_timezone, by_config, t, source, actor)
      returning budget_id into opened;
    elsif new_cadence is not null then
      insert into user_budgets (user_id, cadence, amount_10000, hard_limit, timezone, from_config, created_at, set_by,
                                set_by_user_id)
      values (owner_user, new_cadence, new_amount_10000, new_hard_limit, new_timezone, by_config, t, source, actor)
      returning budget_id into opened;
    end if;
    if not by_config then
      insert into admin_events (occurred_at, actor_user_id, action, target_kind, target_id, before_json, after_json,
                                remote_address, admin_token_id)
      values (t, actor, case when new_cadence is null then 'budget.delete' else 'budget.set' end,
              case when owner_user is null then 'team' else 'user' end, coalesce(owner_user::text, owner_team),
              case when present.budget_id is not null then
                budget_terms_json(present.budget_id, present.cadence, present.amount_10000, present.hard_limit,
                                  present.timezone, present.from_config) end,
              case when new_cadence is not null then
                budget_terms_json(opened, new_cadence, new_amount_10000, new_hard_limit, new_timezone, false) end,
              address, token);
    end if;
    if new_cadence is null then
      return true;
    end if;
  end if;
  spent := counted_spend(scope, budget_window_start(new_cadence, t), budget_window_end(new_cadence, t));
  if budget_alert_due(new_amount_10000, spent) then
    perform raise_budget_alert(opened, owner_user, owner_team, new_cadence, new_amount_10000,
                               budget_window_start(new_cadence, t), budget_window_end(new_cadence, t), spent, spent, t,
                               mail_ready);
  end if;
  return opened is distinct from present.budget_id;
end $$;
comment on function gateway_set_budget is 'The only writer of budgets: takes the lock of the hard limit, keeps history and the admin''s event, checks the alert.';
