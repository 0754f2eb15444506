-- Budgets, the windows that a blocked cost has shut, and alerts.

-- A user's and a team's are the same but for whose they are. Owners are no foreign keys, for no key leads out of what
-- belongs to one scope.
do $do$
declare
  owner_kind text;
  id_type text;
begin
  for owner_kind, id_type in values ('user', 'uuid'), ('team', 'text') loop
    execute format($table$
    create table %1$s_budgets (
      budget_id uuid primary key default gen_random_uuid(),
      %1$s_id %2$s not null,
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
      constraint %1$s_budgets_cadence_check check (cadence in ('daily', 'weekly', 'monthly')),
      constraint %1$s_budgets_amount_check check (amount_10000 between 0 and 9007199254740991),
      constraint %1$s_budgets_history_check check (active = (deactivated_at is null)),
      constraint %1$s_budgets_by_whom_check
        check (set_by in ('admin', 'config') and deactivated_by in ('admin', 'config'))
    );
    comment on table %1$s_budgets is 'A %1$s''s budget: one active row, the others are history. One that is `from_config` is in the file, and goes when its block goes from there.';
    create unique index %1$s_budgets_one_active_key on %1$s_budgets (%1$s_id) where active;
    create index %1$s_budgets_history_idx on %1$s_budgets (%1$s_id, created_at, budget_id);
    $table$, owner_kind, id_type);
  end loop;
end $do$;

create table budget_window_closures (
  budget_id uuid not null,
  window_start timestamptz not null,
  closed_at timestamptz not null,
  ownership_scope_key text not null,
  constraint budget_window_closures_pkey primary key (budget_id, window_start, ownership_scope_key)
);
comment on table budget_window_closures is 'accounting.after_block = close_window: a blocked cost has shut this window of this budget.';

create table budget_alerts (
  budget_alert_id uuid not null default gen_random_uuid(),
  ownership_scope_key text not null,
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
  constraint budget_alerts_pkey primary key (budget_alert_id, ownership_scope_key),
  constraint budget_alerts_once_key unique (budget_id, threshold_bps, window_start, ownership_scope_key),
  constraint budget_alerts_one_owner_check check (num_nonnulls(user_id, team_id) = 1)
);
comment on table budget_alerts is 'A budget came down to its threshold: at most one for each budget, threshold and window.';
create index budget_alerts_created_at_idx on budget_alerts (created_at desc, budget_alert_id desc);

create table budget_alert_deliveries (
  delivery_id uuid not null default gen_random_uuid(),
  ownership_scope_key text not null,
  budget_alert_id uuid not null,
  channel text not null default 'email',
  recipient text,
  delivery_status text not null,
  failure_reason text,
  created_at timestamptz not null,
  attempted_at timestamptz,
  sent_at timestamptz,
  failure_told boolean not null default false,
  constraint budget_alert_deliveries_pkey primary key (delivery_id, ownership_scope_key),
  constraint budget_alert_deliveries_alert_fkey
    foreign key (budget_alert_id, ownership_scope_key) references budget_alerts,
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
