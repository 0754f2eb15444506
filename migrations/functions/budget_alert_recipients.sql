create or replace function budget_alert_recipients(owner_user uuid, owner_team text) returns setof text
language sql stable as $$
  select u.email from users u where u.user_id = owner_user and u.active
  union
  select u.email from team_memberships m join users u on u.user_id = m.user_id
  where owner_user is null and m.team_id = owner_team and m.role in ('owner', 'admin') and u.active
$$;
comment on function budget_alert_recipients is 'A user budget notifies the user; a team budget notifies active team owners or admins.';
