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
  created_at timestamptz not null default gateway_now(),
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
  created_at timestamptz not null default gateway_now(),
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
create function add_counted_spend(scope text, on_day date, amount numeric) returns void
language sql volatile as $$
  insert into usage_daily_totals select scope, on_day, amount where amount > 0
  on conflict on constraint usage_daily_totals_pkey
  do update set counted_picousd = usage_daily_totals.counted_picousd + excluded.counted_picousd
$$;
comment on function add_counted_spend is 'Keeps a day''s total the sum of its rows; only under the scope''s lock.';
comment on function lock_scopes is 'The lock of the hard limit: held to the end of the transaction by whoever adds counted spend to a scope or changes its budget. Always taken in sorted order, so there is no deadlock.';

-- Before the provider, for a batch: which budget is in force for each scope, and what is spent of it. `asks` hold
-- only the requests whose id came from the caller: is it in the ledger already, is its claim to be had?
create function gateway_admit(scopes json, asks json, claim_seconds integer) returns json
language plpgsql volatile set lock_timeout = '2s' as $$
declare
  t timestamptz := gateway_now();
  wanted request_claims[];
begin
  if json_array_length(asks) > 0 then
    wanted := array(
      select row(request_digest(a.request_id), a.scope, a.request_log_id, t + make_interval(secs => claim_seconds))
      from json_to_recordset(asks) a(request_log_id uuid, request_id text, scope text, claim boolean)
      where a.claim order by 1
    );
    delete from request_claims c using unnest(wanted) w
    where c.request_id_sha256 = w.request_id_sha256 and c.ownership_scope_key = w.ownership_scope_key
      and c.expires_at <= t;
    insert into request_claims select w.* from unnest(wanted) w on conflict do nothing;
  end if;
  return json_build_object(
    'database_time', t,
    'budgets', (
      select coalesce(json_agg(json_build_object(
        'scope', s.scope, 'budget_id', b.budget_id, 'cadence', b.cadence, 'amount_10000', b.amount_10000::text,
        'hard_limit', b.hard_limit, 'window_start', w.starts, 'window_end', w.ends,
        'spent', counted_spend(s.scope, w.starts, w.ends)::text,
        'closed', exists (select from budget_window_closures c
                          where c.budget_id = b.budget_id and c.window_start = w.starts))), '[]')
      from json_to_recordset(scopes) s(scope text, user_id uuid, team_id text)
      cross join lateral active_budget(s.user_id, s.team_id) b
      cross join lateral (select budget_window_start(b.cadence, t) as starts,
                                 budget_window_end(b.cadence, t) as ends) w),
    'accounted', (
      select coalesce(json_agg(a.request_log_id), '[]')
      from json_to_recordset(asks) a(request_log_id uuid, request_id text, scope text)
      where exists (select from usage_cost_events e
                    where e.request_id_sha256 = request_digest(a.request_id) and e.ownership_scope_key = a.scope)),
    'unclaimed', (
      select coalesce(json_agg(a.request_log_id), '[]')
      from json_to_recordset(asks) a(request_log_id uuid, request_id text, scope text, claim boolean)
      where a.claim and not exists (
        select from request_claims c
        where c.request_id_sha256 = request_digest(a.request_id) and c.ownership_scope_key = a.scope
          and c.request_log_id = a.request_log_id))
  );
end $$;
comment on function gateway_admit is 'Admission: reads without a lock, for the limit itself is kept by gateway_settle.';

create type settlement_record as (
  ord integer, request_log_id uuid, request_id text, scope text, api_key_id uuid, user_id uuid, team_id text,
  service_account_id text, model_key text, provider_key text, prompt_tokens bigint, completion_tokens bigint,
  total_tokens bigint,
  -- the ledger row, where `charged`
  charged boolean, upstream_model text, pricing_status text, unpriced_reason text, input_picousd_per_token numeric,
  output_picousd_per_token numeric, pricing_source text, cost_picousd numeric,
  -- the summary row, where `logged`
  logged boolean, resolved_model_key text, status_code integer, error_code text, latency_ms integer,
  caller_service text, caller_component text, caller_env text, exposed_tool_count integer,
  invoked_tool_count integer, user_agent_raw text, agent_harness_key text, agent_harness_label text,
  metadata_json jsonb, blocked_cost_usd text, tags jsonb, attempts jsonb
);

create function gateway_log(items settlement_record[], verdicts text[], t timestamptz) returns void
language sql volatile as $$
  with summaries as (
    insert into request_logs (
      request_log_id, request_id, api_key_id, user_id, team_id, service_account_id, model_key, resolved_model_key,
      provider_key, status_code, error_code, latency_ms, prompt_tokens, completion_tokens, total_tokens,
      caller_service, caller_component, caller_env, exposed_tool_count, invoked_tool_count, user_agent_raw,
      agent_harness_key, agent_harness_label, metadata_json, occurred_at
    )
    select i.request_log_id, i.request_id, i.api_key_id, i.user_id, i.team_id, i.service_account_id, i.model_key,
           i.resolved_model_key, i.provider_key,
           case when verdicts[i.ord] = 'blocked' then 429 else i.status_code end,
           case when verdicts[i.ord] = 'blocked' then 'budget_exceeded' else i.error_code end,
           i.latency_ms, i.prompt_tokens, i.completion_tokens, i.total_tokens, i.caller_service, i.caller_component,
           i.caller_env, i.exposed_tool_count, i.invoked_tool_count, i.user_agent_raw, i.agent_harness_key,
           i.agent_harness_label,
           case verdicts[i.ord]
             when 'blocked' then i.metadata_json
               || jsonb_build_object('accounting', jsonb_build_object('blocked_cost_usd', i.blocked_cost_usd))
             when 'duplicate' then i.metadata_json || '{"accounting": {"duplicate": true}}'
             else i.metadata_json
           end,
           t
    from unnest(items) i where i.logged
    on conflict on constraint request_logs_pkey do nothing
    returning request_log_id
  ), tags as (
    insert into request_log_tags
    select s.request_log_id, tag.key, tag.value
    from summaries s join unnest(items) i using (request_log_id) cross join lateral jsonb_each_text(i.tags) tag
  )
  insert into request_log_attempts
  select s.request_log_id, a.attempt_number, a.provider_key, a.upstream_model, a.status, a.status_code, a.error_code,
         a.error_detail, a.stream, to_timestamp(a.started_ms / 1000.0), to_timestamp(a.completed_ms / 1000.0),
         a.completed_ms - a.started_ms
  from summaries s join unnest(items) i using (request_log_id)
  cross join lateral jsonb_to_recordset(i.attempts) a(
    attempt_number integer, provider_key text, upstream_model text, status text, status_code integer,
    error_code text, error_detail text, stream boolean, started_ms bigint, completed_ms bigint)
$$;
comment on function gateway_log is 'Writes summary rows with their tags and attempts; a row that is there already is left as it is. A blocked cost stays on its row.';

-- After the provider: one transaction for the ledger rows, their day totals and the log rows of a batch. Locks first,
-- then judges, then writes.
-- The records are judged one after the other in arrival order (`ord`, from 1 without gaps), each against the total
-- with those accepted before it; one that does not fit is blocked alone. `releases` are claims that end.
-- Returned are the verdicts other than 'recorded'.
-- The planner may not choose here: its plans are kept, and one made while the tables were small would read them whole.
create function gateway_settle(records json, releases uuid[], close_on_block boolean)
returns table (
  ord integer, verdict text, budget_id uuid, cadence text, amount_10000 bigint, window_start timestamptz,
  window_end timestamptz, database_time timestamptz
)
language plpgsql volatile
set lock_timeout = '2s' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
  items settlement_record[] := array(select i from json_populate_recordset(null::settlement_record, records) i);
  item record;
  budget record;
  t timestamptz;
  today date;
  scope_now text;
  spent numeric;
  added numeric;
  counted boolean;
  accepted boolean[] := '{}';
  accepted_twins bytea[] := '{}';
  verdicts text[] := '{}';
begin
  perform lock_scopes(array(select i.scope from unnest(items) i where i.charged));
  t := gateway_now();
  today := (t at time zone 'UTC')::date;

  for item in
    select i.ord, i.request_log_id, i.scope, i.user_id, i.team_id, i.pricing_status, i.cost_picousd, d.digest,
           e.request_log_id as existing, count(*) over (partition by i.scope, d.digest) > 1 as has_twin
    from unnest(items) i
    cross join lateral (select request_digest(i.request_id) as digest) d
    left join usage_cost_events e on e.request_id_sha256 = d.digest and e.ownership_scope_key = i.scope
    where i.charged order by i.scope, i.ord
  loop
    if scope_now is distinct from item.scope then
      perform add_counted_spend(scope_now, today, added);
      scope_now := item.scope;
      added := 0;
      accepted_twins := '{}';
      select a.*, budget_window_start(a.cadence, t) as starts, budget_window_end(a.cadence, t) as ends
        into budget from active_budget(item.user_id, item.team_id) a;
      if budget.hard_limit then
        spent := counted_spend(item.scope, budget.starts, budget.ends);
      end if;
    end if;

    -- Its own row, from a try whose answer was lost, is no duplicate.
    continue when item.existing = item.request_log_id;
    counted := item.pricing_status in ('priced', 'legacy_estimated');
    if item.existing is not null or item.has_twin and item.digest = any (accepted_twins) then
      verdicts[item.ord] := 'duplicate';
    elsif counted and budget.hard_limit and spent + item.cost_picousd > budget.amount_10000 * 100000000::numeric then
      verdicts[item.ord] := 'blocked';
      if close_on_block then
        insert into budget_window_closures values (budget.budget_id, budget.starts, t) on conflict do nothing;
      end if;
    else
      accepted[item.ord] := true;
      if item.has_twin then
        accepted_twins := accepted_twins || item.digest;
      end if;
      if counted then
        added := added + item.cost_picousd;
        spent := spent + item.cost_picousd;
      end if;
      continue;
    end if;
    ord := item.ord; verdict := verdicts[item.ord]; budget_id := budget.budget_id; cadence := budget.cadence;
    amount_10000 := budget.amount_10000; window_start := budget.starts; window_end := budget.ends; database_time := t;
    return next;
  end loop;

  perform add_counted_spend(scope_now, today, added);
  insert into usage_cost_events (
    request_log_id, request_id, ownership_scope_key, api_key_id, user_id, team_id, service_account_id, model_key,
    provider_key, upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status, unpriced_reason,
    input_picousd_per_token, output_picousd_per_token, pricing_source, cost_picousd, occurred_at
  )
  select i.request_log_id, i.request_id, i.scope, i.api_key_id, i.user_id, i.team_id, i.service_account_id, i.model_key,
         i.provider_key, i.upstream_model, i.prompt_tokens, i.completion_tokens, i.total_tokens, i.pricing_status,
         i.unpriced_reason, i.input_picousd_per_token, i.output_picousd_per_token, i.pricing_source, i.cost_picousd, t
  from unnest(items) i where accepted[i.ord];
  if cardinality(releases) > 0 then
    delete from request_claims c where c.request_log_id = any (releases);
  end if;
  perform gateway_log(items, verdicts, t);
end $$;
comment on function gateway_settle is 'Settlement: the hard limit is an invariant of this function.';
