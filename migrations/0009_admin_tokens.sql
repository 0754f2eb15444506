-- What scripts use in the place of a session.

create table admin_tokens (
  admin_token_id uuid not null default gen_random_uuid(),
  public_id text not null,
  secret_sha256 bytea not null,
  user_id uuid not null,
  name text not null,
  scope text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  last_used_on date,
  revoked_at timestamptz,
  constraint admin_tokens_pkey primary key (admin_token_id),
  constraint admin_tokens_public_id_key unique (public_id),
  constraint admin_tokens_user_id_fkey foreign key (user_id) references users,
  constraint admin_tokens_secret_check check (octet_length(secret_sha256) = 32),
  constraint admin_tokens_scope_check check (scope in ('read', 'write'))
);
comment on table admin_tokens is 'A credential of the admin API for scripts; it acts for the person who made it, and its secret is never stored.';
comment on column admin_tokens.scope is 'read: calls that change nothing; write: these and all others.';
comment on column admin_tokens.expires_at is 'From then on it is refused; null: never.';
comment on column admin_tokens.last_used_on is 'UTC day of the last call, written once a day.';
create index admin_tokens_user_id_idx on admin_tokens (user_id);
create index admin_tokens_created_at_idx on admin_tokens (created_at, admin_token_id);

alter table admin_events add column admin_token_id uuid;
comment on column admin_events.admin_token_id is 'The token that the call was made with; null: a session, or the command line.';

-- It gains the token as its last argument; with the old one beside it a call would not say which of the two it means.
drop function if exists gateway_set_budget(
  uuid, text, text, bigint, boolean, text, boolean, boolean, uuid, text
);
