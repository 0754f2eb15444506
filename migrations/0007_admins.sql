-- How platform admins log in, what stops guessing, and who changed what. Times are those of gateway_now(), on all replicas.

create table user_passwords (
  user_id uuid not null,
  password_hash text not null,
  set_at timestamptz not null,
  constraint user_passwords_pkey primary key (user_id),
  constraint user_passwords_user_id_fkey foreign key (user_id) references users,
  constraint user_passwords_hash_check check (password_hash like '$argon2id$%')
);
comment on table user_passwords is 'The password of a person who may log in, as an argon2id hash in PHC format.';

create table admin_sessions (
  token_sha256 bytea not null,
  user_id uuid not null,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  constraint admin_sessions_pkey primary key (token_sha256),
  constraint admin_sessions_user_id_fkey foreign key (user_id) references users,
  constraint admin_sessions_token_check check (octet_length(token_sha256) = 32),
  constraint admin_sessions_order_check check (created_at <= last_seen_at and last_seen_at < expires_at)
);
comment on table admin_sessions is 'A login that has not ended; the token itself is never stored. To delete the row is to revoke the session.';
comment on column admin_sessions.last_seen_at is 'Written at most once a minute.';
create index admin_sessions_user_id_idx on admin_sessions (user_id, created_at);
create index admin_sessions_expires_at_idx on admin_sessions (expires_at);

create table login_attempts (
  account_sha256 bytea not null,
  address text not null,
  attempts integer not null,
  first_at timestamptz not null,
  constraint login_attempts_pkey primary key (account_sha256, address),
  constraint login_attempts_account_check check (octet_length(account_sha256) = 32),
  constraint login_attempts_attempts_check check (attempts > 0)
);
comment on table login_attempts is 'Logins tried for one account from one address since `first_at`, all of them failed or under way.';
comment on column login_attempts.account_sha256 is 'Of the e-mail as typed, in lower case: people type passwords there too, and the account need not exist.';
create index login_attempts_first_at_idx on login_attempts (first_at);

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
