create or replace function ownership_scope(owner_user uuid, owner_team text) returns text
language sql immutable parallel safe as $$
  select case when owner_user is null then 'team:' || owner_team || ':actor:none' else 'user:' || owner_user::text end
$$;
comment on function ownership_scope is 'Whose spend it is: a user''s, or else a team''s.';
