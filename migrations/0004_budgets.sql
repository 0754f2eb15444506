-- Budgets, the windows that a blocked cost has shut, and alerts.

create table user_budgets (
  budget_id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users,
  cadence text not null,
  amount_10000 bigint not null,
  hard_limit boolean not null,
  timezone text not null default 'UTC',
  active boolean not null default true,
  from_config boolean not null default false,
  created_at timestamptz not null default gateway_now(),
  deactivated_at timestamptz,
  set_by text,
  set_by_user_id uuid,
  deactivated_by text,
  deactivated_by_user_id uuid,
  constraint user_budgets_cadence_check check (cadence in ('daily', 'weekly', 'monthly')),
  constraint user_budgets_amount_check check (amount_10000 between 0 and 9007199254740991),
  constraint user_budgets_history_check check (active = (deactivated_at is null)),
  constraint user_budgets_set_by_check check (set_by in ('admin', 'config')),
  constraint user_budgets_deactivated_by_check check (deactivated_by in ('admin', 'config'))
);
comment on table user_budgets is 'A user''s budget: one active row, the others are history.';
comment on column user_budgets.from_config is 'In the file: goes when the block goes from the file.';
comment on column user_budgets.set_by is 'admin or config; null: nobody said so.';
create unique index user_budgets_one_active_key on user_budgets (user_id) where active;
create index user_budgets_history_idx on user_budgets (user_id, created_at, budget_id);

create table team_budgets (
  budget_id uuid primary key default gen_random_uuid(),
  team_id text not null references teams,
  cadence text not null,
  amount_10000 bigint not null,
  hard_limit boolean not null,
  timezone text not null default 'UTC',
  active boolean not null default true,
  from_config boolean not null default false,
  created_at timestamptz not null default gateway_now(),
  deactivated_at timestamptz,
  set_by text,
  set_by_user_id uuid,
  deactivated_by text,
  deactivated_by_user_id uuid,
  constraint team_budgets_cadence_check check (cadence in ('daily', 'weekly', 'monthly')),
  constraint team_budgets_amount_check check (amount_10000 between 0 and 9007199254740991),
  constraint team_budgets_history_check check (active = (deactivated_at is null)),
  constraint team_budgets_set_by_check check (set_by in ('admin', 'config')),
  constraint team_budgets_deactivated_by_check check (deactivated_by in ('admin', 'config'))
);
comment on table team_budgets is 'A team''s budget: one active row, the others are history.';
comment on column team_budgets.from_config is 'In the file: goes when the block goes from the file.';
comment on column team_budgets.set_by is 'admin or config; null: nobody said so.';
create unique index team_budgets_one_active_key on team_budgets (team_id) where active;
create index team_budgets_history_idx on team_budgets (team_id, created_at, budget_id);

create table budget_window_closures (
  budget_id uuid not null,
  window_start timestamptz not null,
  closed_at timestamptz not null,
  constraint budget_window_closures_pkey primary key (budget_id, window_start)
);
comment on table budget_window_closures is 'accounting.after_block = close_window: a blocked cost has shut this window of this budget.';

create table budget_alerts (
  budget_alert_id uuid primary key default gen_random_uuid(),
  budget_id uuid not null,
  user_id uuid,
  team_id text,
  cadence text not null,
  amount_10000 bigint not null,
  threshold_bps integer not null,
  window_start timestamptz not null,
  window_end timestamptz not null,
  spend_before_picousd numeric(38, 0) not null,
  spend_after_picousd numeric(38, 0) not null,
  created_at timestamptz not null,
  constraint budget_alerts_once_key unique (budget_id, threshold_bps, window_start),
  constraint budget_alerts_one_owner_check check (num_nonnulls(user_id, team_id) = 1)
);
comment on table budget_alerts is 'A budget came down to its threshold: at most one for each budget, threshold and window.';
create index budget_alerts_created_at_idx on budget_alerts (created_at desc, budget_alert_id desc);

create table budget_alert_deliveries (
  delivery_id uuid primary key default gen_random_uuid(),
  budget_alert_id uuid not null references budget_alerts,
  channel text not null default 'email',
  recipient text,
  delivery_status text not null,
  failure_reason text,
  created_at timestamptz not null,
  attempted_at timestamptz,
  sent_at timestamptz,
  failure_told boolean not null default false,
  constraint budget_alert_deliveries_status_check
    check (delivery_status in ('pending', 'sending', 'sent', 'failed')),
  constraint budget_alert_deliveries_reason_check check ((delivery_status = 'failed') = (failure_reason is not null))
);
comment on table budget_alert_deliveries is 'One alert for one recipient, tried once: pending, sending, then sent or failed.';
create index budget_alert_deliveries_alert_idx on budget_alert_deliveries (budget_alert_id);
create index budget_alert_deliveries_open_idx on budget_alert_deliveries (created_at)
  where delivery_status in ('pending', 'sending');
comment on column budget_alert_deliveries.failure_told is 'A replica has logged and counted that this mail failed: each is told of once.';
create index budget_alert_deliveries_untold_idx on budget_alert_deliveries (created_at)
  where delivery_status = 'failed' and not failure_told;
