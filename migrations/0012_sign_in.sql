-- Signing in at the organisation's identity provider, and the second factor of who signs in by password.

alter table admin_sessions add column signed_in_by text not null default 'password'
  constraint admin_sessions_signed_in_by_check check (signed_in_by in ('password', 'oidc'));
comment on column admin_sessions.signed_in_by is 'Where a way of signing in is turned off, its sessions are over.';

create table user_second_factors (
  user_id uuid not null,
  sealed_secret bytea not null,
  begun_at timestamptz not null,
  confirmed_at timestamptz,
  last_used_step bigint,
  constraint user_second_factors_pkey primary key (user_id),
  constraint user_second_factors_user_id_fkey foreign key (user_id) references users,
  constraint user_second_factors_step_check check ((confirmed_at is null) = (last_used_step is null))
);
comment on table user_second_factors is 'The authenticator (TOTP) of a person who logs in by password.';
comment on column user_second_factors.sealed_secret is 'Encrypted with a key that only the person''s password makes.';
comment on column user_second_factors.confirmed_at is 'Null: begun, and no code was shown yet; logins do not ask for it.';
comment on column user_second_factors.last_used_step is 'Of the last code that was taken: none is taken twice, and no earlier one after it.';

create table user_recovery_codes (
  user_id uuid not null,
  code_sha256 bytea not null,
  constraint user_recovery_codes_pkey primary key (user_id, code_sha256),
  constraint user_recovery_codes_user_id_fkey foreign key (user_id) references user_second_factors on delete cascade,
  constraint user_recovery_codes_code_check check (octet_length(code_sha256) = 32)
);
comment on table user_recovery_codes is 'A code that stands for the authenticator once; to use it is to delete the row.';

create table oidc_sign_ins (
  state_sha256 bytea not null,
  browser_sha256 bytea not null,
  return_to text not null,
  address text not null,
  begun_at timestamptz not null,
  constraint oidc_sign_ins_pkey primary key (state_sha256),
  constraint oidc_sign_ins_digests_check check (octet_length(state_sha256) = 32 and octet_length(browser_sha256) = 32)
);
comment on table oidc_sign_ins is 'A browser that was sent to the identity provider and has not come back; to take its sign-in up is to delete the row.';
comment on column oidc_sign_ins.browser_sha256 is 'Of the cookie of that browser, which the nonce and the PKCE verifier are made of: neither is stored.';
comment on column oidc_sign_ins.address is 'As sign-ins are counted by.';
create index oidc_sign_ins_begun_at_idx on oidc_sign_ins (begun_at);
create index oidc_sign_ins_address_idx on oidc_sign_ins (address, begun_at);
