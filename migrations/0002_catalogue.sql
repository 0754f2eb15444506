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
comment on table gateway_state is 'One row; its revision grows with each change of identity or catalogue: whoever makes one calls `gateway_touch`.';
insert into gateway_state default values;
