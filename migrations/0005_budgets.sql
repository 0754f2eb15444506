-- Budgets, their windows, and the two checks.

create table user_budgets (
  budget_id uuid primary key default gen_random_uuid(),
  user_id uuid not null references users,
  cadence text not null,
  amount_10000 bigint not null,
  hard_limit boolean not null,
  timezone text not null default 'UTC',
  active boolean not null default true,
  from_config boolean not null default false,
  created_at timestamptz not null default now(),
  deactivated_at timestamptz,
  constraint user_budgets_cadence_check check (cadence in ('daily', 'weekly', 'monthly')),
  constraint user_budgets_amount_check check (amount_10000 between 0 and 9007199254740991),
  constraint user_budgets_history_check check (active = (deactivated_at is null))
);
comment on table user_budgets is 'A user''s budget: one active row, the others are history.';
comment on column user_budgets.from_config is 'Set by the file: goes when the block goes from the file.';
create unique index user_budgets_one_active_key on user_budgets (user_id) where active;

create table team_budgets (
  budget_id uuid primary key default gen_random_uuid(),
  team_id text not null references teams,
  cadence text not null,
  amount_10000 bigint not null,
  hard_limit boolean not null,
  timezone text not null default 'UTC',
  active boolean not null default true,
  from_config boolean not null default false,
  created_at timestamptz not null default now(),
  deactivated_at timestamptz,
  constraint team_budgets_cadence_check check (cadence in ('daily', 'weekly', 'monthly')),
  constraint team_budgets_amount_check check (amount_10000 between 0 and 9007199254740991),
  constraint team_budgets_history_check check (active = (deactivated_at is null))
);
comment on table team_budgets is 'A team''s budget: one active row, the others are history.';
comment on column team_budgets.from_config is 'Set by the file: goes when the block goes from the file.';
create unique index team_budgets_one_active_key on team_budgets (team_id) where active;

create table budget_window_closures (
  budget_id uuid not null,
  window_start timestamptz not null,
  closed_at timestamptz not null,
  constraint budget_window_closures_pkey primary key (budget_id, window_start)
);
comment on table budget_window_closures is 'accounting.after_block = close_window: a blocked cost has shut this window of this budget.';

create table request_claims (
  request_id_sha256 bytea not null,
  ownership_scope_key text not null,
  request_log_id uuid not null,
  expires_at timestamptz not null,
  constraint request_claims_pkey primary key (request_id_sha256, ownership_scope_key)
);
create index request_claims_request_log_id_idx on request_claims (request_log_id);
comment on table request_claims is 'accounting.duplicate_request_ids = reject: a request in flight; gone when it ends or expires.';

create function budget_window_start(cadence text, at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select date_trunc(case cadence when 'daily' then 'day' when 'weekly' then 'week' else 'month' end,
                    at at time zone 'UTC') at time zone 'UTC'
$$;
create function budget_window_end(cadence text, at timestamptz) returns timestamptz
language sql immutable parallel safe as $$
  select (date_trunc(case cadence when 'daily' then 'day' when 'weekly' then 'week' else 'month' end,
                     at at time zone 'UTC')
          + case cadence when 'daily' then interval '1 day' when 'weekly' then interval '7 days'
                         else interval '1 month' end) at time zone 'UTC'
$$;
comment on function budget_window_start is 'UTC: daily from 00:00:00, weekly from Monday, monthly from the first day.';

create function counted_spend(scope text, from_time timestamptz, until_time timestamptz) returns numeric
language sql stable as $$
  select coalesce(sum(counted_picousd), 0) from usage_daily_totals
  where ownership_scope_key = scope
    and day >= (from_time at time zone 'UTC')::date and day < (until_time at time zone 'UTC')::date
$$;
comment on function counted_spend is 'Counted spend of a window in picodollars: a sum of at most 31 rows.';

create function active_budget(owner_user uuid, owner_team text)
returns table (budget_id uuid, cadence text, amount_10000 bigint, hard_limit boolean)
language sql stable as $$
  select b.budget_id, b.cadence, b.amount_10000, b.hard_limit from user_budgets b
  where b.user_id = owner_user and b.active
  union all
  select b.budget_id, b.cadence, b.amount_10000, b.hard_limit from team_budgets b
  where owner_user is null and b.team_id = owner_team and b.active
$$;

create function lock_scopes(scopes text[]) returns void
language plpgsql volatile as $$
declare
  lock_key integer;
begin
  for lock_key in select distinct hashtext(scope) from unnest(scopes) scope order by 1 loop
    perform pg_advisory_xact_lock(7206752, lock_key);
  end loop;
end $$;
comment on function lock_scopes is 'The lock of the hard limit: held to the end of the transaction by whoever adds counted spend to a scope or changes its budget. Always taken in sorted order, so there is no deadlock.';

create type admission_ask as (
  ord integer, request_log_id uuid, request_id text, scope text, user_id uuid, team_id text, claim boolean
);

-- Before the provider: is the request known already, which budget is in force, what is spent?
create function gateway_admit(asks json, claim_seconds integer)
returns table (
  ord integer, already_accounted boolean, claimed boolean, budget_id uuid, cadence text, amount_10000 bigint,
  hard_limit boolean, window_start timestamptz, window_end timestamptz, spent numeric, closed boolean,
  database_time timestamptz
)
language plpgsql volatile as $$
declare
  items admission_ask[] := array(select i from json_populate_recordset(null::admission_ask, asks) i);
  t timestamptz := gateway_now();
begin
  if exists (select from unnest(items) i where i.claim) then
    delete from request_claims c using unnest(items) i
    where i.claim and c.request_id_sha256 = request_digest(i.request_id)
      and c.ownership_scope_key = i.scope and c.expires_at <= t;
    insert into request_claims
    select request_digest(i.request_id), i.scope, i.request_log_id, t + make_interval(secs => claim_seconds)
    from unnest(items) i where i.claim order by 1, 2
    on conflict do nothing;
  end if;
  return query
  with scopes as materialized (
    select distinct i.scope, i.user_id, i.team_id from unnest(items) i
  ), budgets as materialized (
    select s.scope, b.*, budget_window_start(b.cadence, t) as starts, budget_window_end(b.cadence, t) as ends
    from scopes s cross join lateral active_budget(s.user_id, s.team_id) b
  ), spends as materialized (
    select b.*, counted_spend(b.scope, b.starts, b.ends) as spent,
      exists (select from budget_window_closures c
              where c.budget_id = b.budget_id and c.window_start = b.starts) as closed
    from budgets b
  )
  select i.ord,
    exists (select from usage_cost_events e
            where e.request_id_sha256 = request_digest(i.request_id) and e.ownership_scope_key = i.scope),
    not i.claim or exists (select from request_claims c
            where c.request_id_sha256 = request_digest(i.request_id) and c.ownership_scope_key = i.scope
              and c.request_log_id = i.request_log_id),
    s.budget_id, s.cadence, s.amount_10000, s.hard_limit, s.starts, s.ends, s.spent, s.closed, t
  from unnest(items) i left join spends s on s.scope = i.scope;
end $$;

create function gateway_log(logs json, verdicts text[], t timestamptz) returns void
language plpgsql volatile as $$
begin
  with entries as materialized (
    select l.* from jsonb_to_recordset(logs::jsonb)
      as l(ord integer, row jsonb, if_blocked jsonb, if_duplicate jsonb, tags jsonb, attempts jsonb)
  ), summaries as (
    insert into request_logs
    select r.* from entries l cross join lateral jsonb_populate_record(
      null::request_logs,
      l.row || coalesce(case verdicts[l.ord] when 'blocked' then l.if_blocked when 'duplicate' then l.if_duplicate end, '{}')
            || jsonb_build_object('occurred_at', t)
    ) r
    on conflict on constraint request_logs_pkey do nothing
    returning request_log_id
  ), tags as (
    insert into request_log_tags
    select (l.row ->> 'request_log_id')::uuid, tag.tag_key, tag.tag_value
    from entries l cross join lateral jsonb_to_recordset(l.tags) as tag(tag_key text, tag_value text)
    where (l.row ->> 'request_log_id')::uuid in (select request_log_id from summaries)
  )
  insert into request_log_attempts
  select a.* from entries l
  cross join lateral jsonb_populate_recordset(null::request_log_attempts, l.attempts) a
  where a.request_log_id in (select request_log_id from summaries);
end $$;
comment on function gateway_log is 'Writes summary rows with their tags and attempts; a row that is there already is left as it is.';

create type settlement_charge as (
  ord integer, request_log_id uuid, request_id text, scope text, api_key_id uuid, user_id uuid, team_id text,
  service_account_id text, model_key text, provider_key text, upstream_model text, prompt_tokens bigint,
  completion_tokens bigint, total_tokens bigint, pricing_status text, unpriced_reason text,
  input_picousd_per_token numeric, output_picousd_per_token numeric, pricing_source text, cost_picousd numeric
);

-- After the provider: one transaction for the ledger rows, their day totals and the log rows of a batch.
-- `charges` are judged one after the other in arrival order (`ord`), each against the total with those accepted
-- before it; one that does not fit is blocked alone. `logs` are rows of request_logs with their children, and
-- what changes in them by the verdict on the charge of the same `ord`; `releases` are claims that end.
create function gateway_settle(charges json, logs json, releases uuid[], close_on_block boolean)
returns table (
  ord integer, verdict text, budget_id uuid, cadence text, amount_10000 bigint, window_start timestamptz,
  window_end timestamptz, database_time timestamptz
)
language plpgsql volatile set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  items settlement_charge[] := array(select i from json_populate_recordset(null::settlement_charge, charges) i);
  item settlement_charge;
  t timestamptz;
  today date;
  scope_now text;
  spent numeric;
  added numeric;
  counted boolean;
  existing uuid;
  v text;
  b record;
  verdicts text[] := '{}';
begin
  perform lock_scopes(array(select i.scope from unnest(items) i));
  t := gateway_now();
  today := (t at time zone 'UTC')::date;

  for item in select i.* from unnest(items) i order by i.scope, i.ord loop
    if scope_now is distinct from item.scope then
      if added > 0 then
        insert into usage_daily_totals values (scope_now, today, added)
        on conflict on constraint usage_daily_totals_pkey
        do update set counted_picousd = usage_daily_totals.counted_picousd + excluded.counted_picousd;
      end if;
      scope_now := item.scope;
      added := 0;
      select a.*, budget_window_start(a.cadence, t) as starts, budget_window_end(a.cadence, t) as ends
        into b from active_budget(item.user_id, item.team_id) a;
      if b.hard_limit then
        spent := counted_spend(item.scope, b.starts, b.ends);
      end if;
    end if;

    counted := item.pricing_status in ('priced', 'legacy_estimated');
    select e.request_log_id into existing from usage_cost_events e
      where e.request_id_sha256 = request_digest(item.request_id) and e.ownership_scope_key = item.scope;
    if found then
      -- Its own row from an attempt whose answer was lost is no duplicate.
      v := case when existing = item.request_log_id then 'recorded' else 'duplicate' end;
    elsif counted and b.hard_limit and spent + item.cost_picousd > b.amount_10000 * 100000000::numeric then
      v := 'blocked';
      if close_on_block then
        insert into budget_window_closures values (b.budget_id, b.starts, t) on conflict do nothing;
      end if;
    else
      v := 'recorded';
      insert into usage_cost_events (
        request_log_id, request_id, ownership_scope_key, api_key_id, user_id, team_id, service_account_id,
        model_key, provider_key, upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status,
        unpriced_reason, input_picousd_per_token, output_picousd_per_token, pricing_source, cost_picousd,
        occurred_at
      ) values (
        item.request_log_id, item.request_id, item.scope, item.api_key_id, item.user_id, item.team_id,
        item.service_account_id, item.model_key, item.provider_key, item.upstream_model, item.prompt_tokens,
        item.completion_tokens, item.total_tokens, item.pricing_status, item.unpriced_reason,
        item.input_picousd_per_token, item.output_picousd_per_token, item.pricing_source, item.cost_picousd, t
      );
      if counted then
        added := added + item.cost_picousd;
        spent := spent + item.cost_picousd;
      end if;
    end if;
    verdicts[item.ord] := v;
    ord := item.ord; verdict := v; budget_id := b.budget_id; cadence := b.cadence;
    amount_10000 := b.amount_10000; window_start := b.starts; window_end := b.ends; database_time := t;
    return next;
  end loop;
  if added > 0 then
    insert into usage_daily_totals values (scope_now, today, added)
    on conflict on constraint usage_daily_totals_pkey
    do update set counted_picousd = usage_daily_totals.counted_picousd + excluded.counted_picousd;
  end if;
  if cardinality(releases) > 0 then
    delete from request_claims c where c.request_log_id = any (releases);
  end if;
  perform gateway_log(logs, verdicts, t);
end $$;
