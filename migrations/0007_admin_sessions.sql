-- How platform admins log in, and what stops guessing. Times are those of gateway_now(), on all replicas.

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
