-- Functions that tables stand on: their generated columns, indexes, checks and defaults. They must be there before the
-- tables, and what is stored was made by them; so they are not in `functions`, whose files may change with any release.

create function gateway_now() returns timestamptz language sql volatile as 'select clock_timestamp()';
comment on function gateway_now is 'The one clock of money: read after a scope''s lock is held. Tests replace it.';

create function request_digest(request_id text) returns bytea
language sql immutable parallel safe as $$ select sha256(replace(request_id, '\', '\\')::bytea) $$;
comment on function request_digest is 'SHA-256 of the id''s UTF-8 bytes: unique keys are made on it, so that the length of an id never fails an insert. The cast reads backslashes as escapes, hence the replacing; convert_to would not be immutable, and not be inlined.';

create function long_request_id_sha256(request_id text) returns text
language sql immutable parallel safe as $$
  select case when octet_length(request_id) > 1024
    then encode(sha256(replace(request_id, '\', '\\')::bytea), 'hex') end
$$;
comment on function long_request_id_sha256 is 'SHA-256 in hex of an id of more than 1,024 bytes; null for others, which are looked for as they are and have no entry in the indexes. As request_digest says it, which an index cannot call by a name in here.';
create function counts_toward_spend(pricing_status text) returns boolean
language sql immutable parallel safe as $$ select pricing_status in ('priced', 'legacy_estimated') $$;
comment on function counts_toward_spend is 'Whether a ledger row counts toward spend and budget windows; the others are visible in reports.';

-- Who calls and who pays.

create table users (
  user_id uuid primary key default gen_random_uuid(),
  email text not null,
  email_folded text not null generated always as (lower(email)) stored,
  name text not null,
  role text not null default 'user',
  request_logging_enabled boolean not null default true,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint users_email_folded_key unique (email_folded),
  constraint users_role_check check (role in ('user', 'platform_admin'))
);
comment on table users is 'A person: owns keys and spend, may be a platform admin.';

create table teams (
  team_id text primary key,
  name text not null,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table teams is 'A group that owns keys and spend of its own.';

create table team_memberships (
  team_id text not null references teams,
  user_id uuid not null references users,
  role text not null default 'member',
  from_config boolean not null default false,
  created_at timestamptz not null default now(),
  constraint team_memberships_pkey primary key (team_id, user_id),
  constraint team_memberships_role_check check (role in ('owner', 'admin', 'member'))
);
comment on table team_memberships is 'A user''s place in a team; owners and admins get the team''s budget alerts.';
create index team_memberships_user_id_idx on team_memberships (user_id);

create table service_accounts (
  service_account_id text primary key,
  name text not null,
  team_id text not null references teams,
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table service_accounts is 'A non-human caller; its spend belongs to its team.';

create table api_keys (
  api_key_id uuid primary key default gen_random_uuid(),
  public_id text not null,
  secret_sha256 bytea not null,
  name text not null,
  user_id uuid references users,
  team_id text references teams,
  service_account_id text references service_accounts,
  allowed_models text[] not null default '{}',
  from_config boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  revoked_at timestamptz,
  revoked_by text,
  constraint api_keys_revoked_by_check check ((revoked_at is null) = (revoked_by is null) and revoked_by in ('admin', 'config')),
  constraint api_keys_public_id_key unique (public_id),
  constraint api_keys_secret_sha256_check check (octet_length(secret_sha256) = 32),
  constraint api_keys_one_owner_check check (num_nonnulls(user_id, team_id, service_account_id) = 1)
);
comment on table api_keys is 'A credential of the public API; the secret itself is never stored.';
comment on column api_keys.revoked_by is 'admin: for good; config: gone from the file, and back when it is in it again.';
comment on column api_keys.allowed_models is 'Model ids that the key may use; empty means every model.';
create index api_keys_user_id_idx on api_keys (user_id) where user_id is not null;
create index api_keys_team_id_idx on api_keys (team_id) where team_id is not null;
create index api_keys_service_account_id_idx on api_keys (service_account_id) where service_account_id is not null;
