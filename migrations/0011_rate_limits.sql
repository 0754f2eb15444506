-- Rate limits: what a key, an owner or a model may do in a minute and at once, and what of that is taken.

create table rate_limits (
  subject_kind text not null,
  subject_id text not null,
  subject text not null generated always as (subject_kind || ':' || subject_id) stored,
  requests_per_minute bigint,
  tokens_per_minute bigint,
  requests_in_flight bigint,
  from_config boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint rate_limits_pkey primary key (subject),
  constraint rate_limits_subject_kind_check check (subject_kind in ('api_key', 'user', 'team', 'model')),
  constraint rate_limits_some_check check (num_nonnulls(requests_per_minute, tokens_per_minute, requests_in_flight) > 0),
  constraint rate_limits_range_check check (
    requests_per_minute between 1 and 9007199254740991 and tokens_per_minute between 1 and 9007199254740991
    and requests_in_flight between 1 and 9007199254740991
  )
);
comment on table rate_limits is 'What one key, owner or model may do: in a minute, and at once. One that is `from_config` is in the file, and goes when its block goes from there. Its ids are no foreign keys, for they are of several tables.';
comment on column rate_limits.subject is 'As windows and holds name it.';

-- A row is updated by every request of its subject, in place: it needs room beside it.
create table rate_limit_windows (
  subject text not null,
  window_start timestamptz not null default '-infinity',
  requests bigint not null default 0,
  tokens numeric(38, 0) not null default 0,
  constraint rate_limit_windows_pkey primary key (subject)
) with (fillfactor = 50);
comment on table rate_limit_windows is 'What a limited subject has taken of the minute that begins at `window_start`; its lock is the one under which its requests are judged. Made with its limit, and never deleted.';

create table rate_limit_holds (
  subject text not null,
  request_log_id uuid not null,
  process_id uuid not null,
  expires_at timestamptz not null,
  constraint rate_limit_holds_pkey primary key (subject, request_log_id)
);
comment on table rate_limit_holds is 'A request in flight that is limited by its subject: gone when it ends, with its process, or when it expires. Its tokens are counted by whoever takes it away, and so once.';
create index rate_limit_holds_request_log_id_idx on rate_limit_holds (request_log_id);
create index rate_limit_holds_process_id_idx on rate_limit_holds (process_id);

alter type settlement_record add attribute limited_tokens bigint;
