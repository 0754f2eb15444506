-- What admins manage over the API: versions for changes at the same time, marks of what the file owns, and keys that
-- expire, are rotated, and tell when they were last used.

alter table users add column from_config boolean not null default false;
alter table users add column version integer not null default 1;
comment on column users.from_config is 'The configuration file has it, and wins when it is applied the next time.';
comment on column users.version is 'Raised by each change: a change names the version that it is made to.';

alter table teams add column from_config boolean not null default false;
alter table teams add column version integer not null default 1;
comment on column teams.from_config is 'The configuration file has it, and wins when it is applied the next time.';
comment on column teams.version is 'Raised by each change: a change names the version that it is made to.';

alter table service_accounts add column from_config boolean not null default false;
alter table service_accounts add column version integer not null default 1;
comment on column service_accounts.from_config is 'The configuration file has it, and wins when it is applied the next time.';
comment on column service_accounts.version is 'Raised by each change: a change names the version that it is made to.';

alter table api_keys add column expires_at timestamptz;
alter table api_keys add column last_used_on date;
alter table api_keys add column created_by_user_id uuid constraint api_keys_created_by_user_id_fkey references users;
alter table api_keys add column version integer not null default 1;
alter table api_keys add column previous_secret_sha256 bytea;
alter table api_keys add column previous_expires_at timestamptz;
alter table api_keys add constraint api_keys_previous_secret_check
  check ((previous_secret_sha256 is null) = (previous_expires_at is null) and octet_length(previous_secret_sha256) = 32);
alter table api_keys add column name_folded text not null generated always as (lower(left(name, 128))) stored;
alter table users add column name_folded text not null generated always as (lower(left(name, 128))) stored;
comment on column api_keys.name_folded is 'What the name is looked for in: in the index of the list, so that no row is read for it.';
comment on column users.name_folded is 'What the name is looked for in: in the index of the list, so that no row is read for it.';
comment on column api_keys.expires_at is 'From then on the key is refused, on every replica; null: never.';
comment on column api_keys.last_used_on is 'UTC day of the last settled request, written some seconds after it, once a day.';
comment on column api_keys.created_by_user_id is 'The admin who made it over the API; null: the command line or the file.';
comment on column api_keys.version is 'Raised by each change: a change names the version that it is made to.';
comment on column api_keys.previous_secret_sha256 is 'The secret that a rotation replaced: valid until `previous_expires_at`.';

-- Lists are in the order of creation, newest first, whatever they are asked for by; what an index leads with is what
-- few rows have.
create index users_created_at_idx on users (created_at, user_id) include (name_folded, email_folded);
create index users_admins_idx on users (created_at, user_id) where role = 'platform_admin';
create index users_inactive_idx on users (created_at, user_id) where not active;
create index teams_created_at_idx on teams (created_at, team_id);
create index teams_inactive_idx on teams (created_at, team_id) where not active;
create index service_accounts_created_at_idx on service_accounts (created_at, service_account_id);
create index service_accounts_inactive_idx on service_accounts (created_at, service_account_id) where not active;
create index service_accounts_team_id_idx on service_accounts (team_id, created_at, service_account_id);

drop index api_keys_user_id_idx;
drop index api_keys_team_id_idx;
drop index api_keys_service_account_id_idx;
create index api_keys_created_at_idx on api_keys (created_at, api_key_id) include (name_folded);
create index api_keys_user_id_idx on api_keys (user_id, created_at, api_key_id) where user_id is not null;
create index api_keys_team_id_idx on api_keys (team_id, created_at, api_key_id) where team_id is not null;
create index api_keys_service_account_id_idx on api_keys (service_account_id, created_at, api_key_id)
  where service_account_id is not null;
create index api_keys_teams_idx on api_keys (created_at, api_key_id) where team_id is not null;
create index api_keys_service_accounts_idx on api_keys (created_at, api_key_id) where service_account_id is not null;
create index api_keys_revoked_idx on api_keys (created_at, api_key_id) where revoked_at is not null;
create index api_keys_expiring_idx on api_keys (created_at, api_key_id) where expires_at is not null;
