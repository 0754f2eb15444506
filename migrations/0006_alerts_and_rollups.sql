-- Budget alerts, and what reports read instead of whole tables.

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
  constraint budget_alert_deliveries_status_check
    check (delivery_status in ('pending', 'sending', 'sent', 'failed')),
  constraint budget_alert_deliveries_reason_check check ((delivery_status = 'failed') = (failure_reason is not null))
);
comment on table budget_alert_deliveries is 'One alert for one recipient, tried once: pending, sending, then sent or failed.';
create index budget_alert_deliveries_alert_idx on budget_alert_deliveries (budget_alert_id);
create index budget_alert_deliveries_open_idx on budget_alert_deliveries (created_at)
  where delivery_status in ('pending', 'sending');

create function budget_alert_recipients(owner_user uuid, owner_team text) returns setof text
language sql stable as $$
  select u.email from users u where u.user_id = owner_user and u.active
  union
  select u.email from team_memberships m join users u on u.user_id = m.user_id
  where owner_user is null and m.team_id = owner_team and m.role in ('owner', 'admin') and u.active
$$;
comment on function budget_alert_recipients is 'A user budget notifies the user; a team budget notifies active team owners or admins.';

create function budget_alert_due(amount_10000 bigint, spent numeric) returns boolean
language sql immutable parallel safe as $$
  select (amount_10000 * 100000000::numeric - spent) * 10000 <= amount_10000 * 100000000::numeric * 2000
$$;
comment on function budget_alert_due is 'The threshold is fixed at 20 % remaining (2000 of 10000).';

-- To be called under the scope's lock.
create function raise_budget_alert(
  budget uuid, owner_user uuid, owner_team text, cadence text, amount_10000 bigint, starts timestamptz, ends timestamptz,
  spent_before numeric, spent_after numeric, t timestamptz, mail_ready boolean
) returns void language plpgsql volatile as $$
declare
  alert uuid;
begin
  insert into budget_alerts (
    budget_id, user_id, team_id, cadence, amount_10000, threshold_bps, window_start, window_end, spend_before_picousd,
    spend_after_picousd, created_at
  )
  values (budget, owner_user, case when owner_user is null then owner_team end, cadence, amount_10000, 2000, starts,
          ends, spent_before, spent_after, t)
  on conflict on constraint budget_alerts_once_key do nothing
  returning budget_alert_id into alert;
  if alert is null then
    return;
  end if;
  insert into budget_alert_deliveries (budget_alert_id, recipient, delivery_status, failure_reason, created_at)
  select alert, r.email, case when mail_ready then 'pending' else 'failed' end,
         case when not mail_ready then 'mail_not_configured' end, t
  from budget_alert_recipients(owner_user, owner_team) r(email);
  if not found then
    insert into budget_alert_deliveries (budget_alert_id, delivery_status, failure_reason, created_at)
    values (alert, 'failed', 'no_recipient', t);
  end if;
end $$;
comment on function raise_budget_alert is 'One alert with its queued deliveries; nothing when this window has had its alert.';

-- Any changed field closes the old row into history and opens a new one; identical terms change nothing. Without
-- terms (`cadence` null) the budget is deactivated. True when something changed.
create function gateway_set_budget(
  owner_user uuid, owner_team text, new_cadence text, new_amount_10000 bigint, new_hard_limit boolean,
  new_timezone text, by_config boolean, mail_ready boolean
) returns boolean language plpgsql volatile set lock_timeout = '5s' as $$
declare
  scope text := case when owner_user is null then 'team:' || owner_team || ':actor:none' else 'user:' || owner_user end;
  present record;
  opened uuid;
  t timestamptz;
  spent numeric;
begin
  perform lock_scopes(array[scope]);
  t := gateway_now();
  if owner_user is null then
    select * into present from team_budgets b where b.team_id = owner_team and b.active;
  else
    select * into present from user_budgets b where b.user_id = owner_user and b.active;
  end if;
  if present.budget_id is null and new_cadence is null then
    return false;
  end if;
  if present.budget_id is not null and (present.cadence, present.amount_10000, present.hard_limit, present.timezone)
     is not distinct from (new_cadence, new_amount_10000, new_hard_limit, new_timezone) then
    opened := present.budget_id;
    -- Whoever set it last owns it: what the file sets goes with the file.
    update user_budgets b set from_config = by_config where b.budget_id = opened and b.from_config <> by_config;
    update team_budgets b set from_config = by_config where b.budget_id = opened and b.from_config <> by_config;
  else
    update user_budgets b set active = false, deactivated_at = t where b.budget_id = present.budget_id;
    update team_budgets b set active = false, deactivated_at = t where b.budget_id = present.budget_id;
    if new_cadence is null then
      return true;
    end if;
    if owner_user is null then
      insert into team_budgets (team_id, cadence, amount_10000, hard_limit, timezone, from_config, created_at)
      values (owner_team, new_cadence, new_amount_10000, new_hard_limit, new_timezone, by_config, t)
      returning budget_id into opened;
    else
      insert into user_budgets (user_id, cadence, amount_10000, hard_limit, timezone, from_config, created_at)
      values (owner_user, new_cadence, new_amount_10000, new_hard_limit, new_timezone, by_config, t)
      returning budget_id into opened;
    end if;
  end if;
  spent := counted_spend(scope, budget_window_start(new_cadence, t), budget_window_end(new_cadence, t));
  if budget_alert_due(new_amount_10000, spent) then
    perform raise_budget_alert(opened, owner_user, owner_team, new_cadence, new_amount_10000,
                               budget_window_start(new_cadence, t), budget_window_end(new_cadence, t), spent, spent, t,
                               mail_ready);
  end if;
  return opened is distinct from present.budget_id;
end $$;
comment on function gateway_set_budget is 'The only writer of budgets: takes the lock of the hard limit, keeps history, checks the alert.';

create function rollup_bucket(at timestamptz) returns timestamptz
language sql immutable parallel safe as $$ select date_bin('12 hours', at, timestamptz '2000-01-01 00:00:00+00') $$;
comment on function rollup_bucket is 'The 12-hour UTC bucket of an instant; two make a UTC day.';

create table usage_rollups (
  bucket_start timestamptz not null,
  ownership_scope_key text not null,
  model_key text not null,
  pricing_status text not null,
  user_id uuid,
  team_id text,
  request_count bigint not null,
  counted_picousd numeric(38, 0) not null,
  constraint usage_rollups_pkey primary key (bucket_start, ownership_scope_key, model_key, pricing_status)
);
comment on table usage_rollups is 'Ledger rows of one scope, model, status and 12-hour bucket, counted and summed; always equal to its rows.';

create table harness_rollups (
  bucket_start timestamptz not null,
  agent_harness_key text not null,
  writer integer not null,
  agent_harness_label text not null,
  request_count bigint not null,
  constraint harness_rollups_pkey primary key (bucket_start, agent_harness_key, writer)
);
comment on table harness_rollups is 'Request-log rows of one harness and 12-hour bucket, counted by each database session for itself, so that none waits for another.';

create table tool_cardinality_rollups (
  user_id uuid not null,
  bucket_start timestamptz not null,
  writer integer not null,
  referenced_mcp_server_sum bigint not null,
  referenced_mcp_server_rows bigint not null,
  exposed_tool_sum bigint not null,
  exposed_tool_rows bigint not null,
  invoked_tool_sum bigint not null,
  invoked_tool_rows bigint not null,
  filtered_tool_sum bigint not null,
  filtered_tool_rows bigint not null,
  constraint tool_cardinality_rollups_pkey primary key (user_id, bucket_start, writer)
);
comment on table tool_cardinality_rollups is 'Tool counts of a user''s request-log rows in a 12-hour bucket; rows where a dimension was not recorded are not in its count.';

-- What older replicas settle meanwhile waits, and is not missing from the sums.
lock table usage_cost_events, request_logs in share row exclusive mode;
insert into usage_rollups
select rollup_bucket(occurred_at), ownership_scope_key, model_key, pricing_status, user_id, max(team_id), count(*),
       coalesce(sum(cost_picousd) filter (where pricing_status in ('priced', 'legacy_estimated')), 0)
from usage_cost_events group by 1, 2, 3, 4, 5;
insert into harness_rollups
select rollup_bucket(occurred_at), agent_harness_key, 0, max(agent_harness_label), count(*)
from request_logs where agent_harness_key is not null group by 1, 2;
insert into tool_cardinality_rollups
select user_id, rollup_bucket(occurred_at), 0, coalesce(sum(referenced_mcp_server_count), 0),
       count(referenced_mcp_server_count), coalesce(sum(exposed_tool_count), 0), count(exposed_tool_count),
       coalesce(sum(invoked_tool_count), 0), count(invoked_tool_count), coalesce(sum(filtered_tool_count), 0),
       count(filtered_tool_count)
from request_logs where user_id is not null group by 1, 2;

create or replace function gateway_log(items settlement_record[], verdicts text[], t timestamptz) returns void
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
    returning request_log_id, user_id, agent_harness_key, agent_harness_label, exposed_tool_count, invoked_tool_count
  ), tags as (
    insert into request_log_tags
    select s.request_log_id, tag.key, tag.value
    from summaries s join unnest(items) i using (request_log_id) cross join lateral jsonb_each_text(i.tags) tag
  ), harnesses as (
    insert into harness_rollups as r
    select rollup_bucket(t), s.agent_harness_key, pg_backend_pid(), max(s.agent_harness_label), count(*)
    from summaries s where s.agent_harness_key is not null group by s.agent_harness_key
    on conflict on constraint harness_rollups_pkey
    do update set request_count = r.request_count + excluded.request_count
  ), cardinalities as (
    insert into tool_cardinality_rollups as r
    select s.user_id, rollup_bucket(t), pg_backend_pid(), 0, 0, coalesce(sum(s.exposed_tool_count), 0),
           count(s.exposed_tool_count), coalesce(sum(s.invoked_tool_count), 0), count(s.invoked_tool_count), 0, 0
    from summaries s where s.user_id is not null group by s.user_id
    on conflict on constraint tool_cardinality_rollups_pkey
    do update set exposed_tool_sum = r.exposed_tool_sum + excluded.exposed_tool_sum,
                  exposed_tool_rows = r.exposed_tool_rows + excluded.exposed_tool_rows,
                  invoked_tool_sum = r.invoked_tool_sum + excluded.invoked_tool_sum,
                  invoked_tool_rows = r.invoked_tool_rows + excluded.invoked_tool_rows
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

drop function gateway_settle(json, uuid[], boolean);
-- After the provider: one transaction for the ledger rows, their day totals and the log rows of a batch. Locks first,
-- then judges, then writes.
-- The records are judged one after the other in arrival order (`ord`, from 1 without gaps), each against the total
-- with those accepted before it; one that does not fit is blocked alone. `releases` are claims that end.
-- `at` is the time of records that come late, out of a journal; `again` says that they may have been judged before.
-- Returned are the verdicts other than 'recorded'.
-- The planner may not choose here: its plans are kept, and one made while the tables were small would read them whole.
create function gateway_settle(
  records json, releases uuid[], close_on_block boolean, mail_ready boolean, at timestamptz default null,
  again boolean default false
)
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
  alerted boolean;
  accepted boolean[] := '{}';
  accepted_twins bytea[] := '{}';
  verdicts text[] := '{}';
begin
  perform lock_scopes(array(select i.scope from unnest(items) i where i.charged));
  t := coalesce(at, gateway_now());
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
      alerted := budget.budget_id is null;
      if budget.budget_id is not null then
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
        if not alerted and budget_alert_due(budget.amount_10000, spent) then
          alerted := true;
          perform raise_budget_alert(budget.budget_id, item.user_id, item.team_id, budget.cadence,
                                     budget.amount_10000, budget.starts, budget.ends, spent - item.cost_picousd,
                                     spent, t, mail_ready);
        end if;
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
  insert into usage_rollups as r
  select rollup_bucket(t), i.scope, i.model_key, i.pricing_status, i.user_id, max(i.team_id), count(*),
         coalesce(sum(i.cost_picousd) filter (where i.pricing_status in ('priced', 'legacy_estimated')), 0)
  from unnest(items) i where accepted[i.ord] group by i.scope, i.model_key, i.pricing_status, i.user_id
  on conflict on constraint usage_rollups_pkey
  do update set request_count = r.request_count + excluded.request_count,
                counted_picousd = r.counted_picousd + excluded.counted_picousd;
  if cardinality(releases) > 0 then
    delete from request_claims c where c.request_log_id = any (releases);
  end if;
  -- Who was blocked by a try whose answer was lost, and is not now, has a row that says what its sender was never told.
  if again then
    update request_logs l
    set status_code = i.status_code, error_code = i.error_code,
        metadata_json = case verdicts[i.ord] when 'duplicate' then i.metadata_json || '{"accounting": {"duplicate": true}}'
                                             else i.metadata_json end
    from unnest(items) i
    where i.logged and i.charged and l.request_log_id = i.request_log_id
      and verdicts[i.ord] is distinct from 'blocked' and l.metadata_json -> 'accounting' ? 'blocked_cost_usd';
  end if;
  perform gateway_log(items, verdicts, t);
end $$;
comment on function gateway_settle is 'Settlement: the hard limit is an invariant of this function.';
