-- Who changed what.

create table admin_events (
  admin_event_id uuid not null default gen_random_uuid(),
  occurred_at timestamptz not null default gateway_now(),
  actor_user_id uuid,
  action text not null,
  target_kind text not null,
  target_id text not null,
  before_json json,
  after_json json,
  remote_address text,
  constraint admin_events_pkey primary key (admin_event_id)
);
comment on table admin_events is 'One change that a platform admin made, written in the transaction of the change itself. Append-only, and no purge touches it. Ids are no foreign keys: an event outlives whom it names.';
comment on column admin_events.actor_user_id is 'The admin who was logged in; null: the gateway''s command line.';
comment on column admin_events.target_id is 'The id of the user, team or API key that was changed, or whose budget was.';
comment on column admin_events.before_json is 'What the change replaced; null: there was nothing.';
comment on column admin_events.after_json is 'What there is since; null: nothing.';
comment on column admin_events.remote_address is 'Where the call came from; null: the gateway''s command line.';

-- Lists are in the order of time, whatever they are asked for by.
create index admin_events_occurred_at_idx on admin_events (occurred_at, admin_event_id);
create index admin_events_actor_idx on admin_events (actor_user_id, occurred_at, admin_event_id);
create index admin_events_target_idx on admin_events (target_id, occurred_at, admin_event_id);

create function admin_events_refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'admin_events is append-only' using errcode = 'restrict_violation';
end $$;
comment on function admin_events_refuse_change is 'What happened stays told: rows are neither changed nor deleted.';
create trigger admin_events_append_only_trigger before update or delete or truncate on admin_events
  for each statement execute function admin_events_refuse_change();
