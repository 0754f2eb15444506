-- What can be called. Rows are reconciled from the configuration; secrets stay in it (`${NAME}` is stored, not its value).

create table providers (
  provider_key text primary key,
  kind text not null,
  config_json jsonb not null,
  enabled boolean not null default true,
  updated_at timestamptz not null default now()
);
comment on table providers is 'An upstream as configured, placeholders unresolved. What kinds there are the codec of the configuration says.';

create table models (
  model_key text primary key,
  enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table models is 'A model id that callers may name.';

create table model_routes (
  model_key text not null references models,
  position integer not null,
  provider_key text not null references providers,
  upstream_model text not null,
  priority integer not null,
  enabled boolean not null default true,
  compatibility_json jsonb not null default '{}',
  config_json jsonb not null,
  updated_at timestamptz not null default now(),
  constraint model_routes_pkey primary key (model_key, position)
);
comment on table model_routes is 'One way to serve a model; `position` is its place in the file.';
comment on column model_routes.config_json is 'The whole route as configured, placeholders unresolved.';

create table gateway_state (
  singleton boolean primary key default true,
  revision bigint not null default 0,
  constraint gateway_state_singleton_check check (singleton)
);
comment on table gateway_state is 'One row; its revision grows with each change that replicas must take up.';
insert into gateway_state default values;

create function gateway_touch() returns trigger language plpgsql as $$
begin
  update gateway_state set revision = revision + 1;
  return null;
end $$;
comment on function gateway_touch is 'Any statement that changes identity or catalogue moves the revision on.';

create trigger users_touch after insert or update or delete on users
  for each statement execute function gateway_touch();
create trigger teams_touch after insert or update or delete on teams
  for each statement execute function gateway_touch();
create trigger service_accounts_touch after insert or update or delete on service_accounts
  for each statement execute function gateway_touch();
create trigger api_keys_touch after insert or update or delete on api_keys
  for each statement execute function gateway_touch();
create trigger providers_touch after insert or update or delete on providers
  for each statement execute function gateway_touch();
create trigger models_touch after insert or update or delete on models
  for each statement execute function gateway_touch();
create trigger model_routes_touch after insert or update or delete on model_routes
  for each statement execute function gateway_touch();
