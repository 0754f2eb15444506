-- Settlement, after the provider has answered: one transaction for the ledger rows of a batch, their day totals and
-- rollups, and the log rows. It takes the locks first, then judges, then writes; blocked answers, window closures and
-- alerts are written while it judges.
-- The records of a scope are judged in arrival order (`ord`, from 1 without gaps), each against the spend including
-- those accepted before it. A record that does not fit is blocked alone. `records` is an array, or a single object that
-- has never been judged before. `releases` are requests whose claims and holds end.
-- `at` is the time of late records, which come out of a journal. `again` says that the records may have been judged
-- before, by a try whose answer was lost: nothing that it wrote is written twice. Without `again`, inserting a ledger
-- or log row that is already there is a unique violation.
-- Returns a row for each verdict other than 'recorded'.
-- Starting a statement costs as much as several rows. So there is one per table, whatever the size of the batch, and
-- rare work has a statement of its own behind a condition. A single record is written by statements without a set in
-- them.
-- Plan types that read whole tables are disabled: a plan may be cached while the tables are small, and used when they
-- are large.
-- Before PostgreSQL 18, a disabled plan type that is used for want of another adds 10^10 to the cost, so that every
-- call would be JIT-compiled: hence `jit = off`.
create or replace function gateway_settle(
  records json, releases uuid[], close_on_block boolean, mail_ready boolean, at timestamptz default null,
  again boolean default false
)
returns table (
  ord integer, verdict text, budget_id uuid, cadence text, amount_10000 bigint, window_start timestamptz,
  window_end timestamptz, database_time timestamptz
)
language plpgsql volatile
set lock_timeout = '2s' set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
  is_lone constant boolean := json_typeof(records) = 'object';
  is_any_known boolean := false;
  is_done boolean;
  items settlement_record[];
  item settlement_record;
  place integer := 0;
  scope_place integer := 0;
  scopes text[];
  users uuid[];
  teams text[];
  budgets budget_standing[];
  budget budget_standing;
  additions numeric[];
  twins text[];
  accounted uuid[];
  t timestamptz;
  counted boolean;
  alerted boolean;
  accepted boolean[];
  accepted_twins text[];
  verdicts text[];
begin
  -- Locks are taken in expressions, because starting a statement takes longer than taking a lock. The statements that
  -- read budgets, spend and the ledger start when the locks are held (rule 37.3).
  if is_lone then
    item := json_populate_record(null::settlement_record, records);
    items[1] := item;
    if item.charged then
      is_any_known := item.request_id <> item.request_log_id::text;
      is_done := lock_scopes(array[item.scope]) is not null;
    end if;
    t := coalesce(at, gateway_now());
  else
    -- Charged records first, scope by scope, and in arrival order within each scope.
    items := array(
      select i from json_populate_recordset(null::settlement_record, records) i
      order by i.charged is true desc, i.scope collate "C", i.ord);
    foreach item in array items loop
      exit when item.charged is not true;
      is_any_known := is_any_known or again or item.request_id <> item.request_log_id::text;
      if scopes[scope_place] is distinct from item.scope then
        scope_place := scope_place + 1;
        scopes[scope_place] := item.scope;
        users[scope_place] := item.user_id;
        teams[scope_place] := item.team_id;
      end if;
    end loop;
    if scope_place > 0 then
      is_done := lock_scopes(scopes) is not null;
    end if;
    t := coalesce(at, gateway_now());
    budgets := array(
      select row(b.budget_id, b.cadence, b.amount_10000, b.hard_limit, b.window_start, b.window_end, b.spent)::budget_standing
      from unnest(scopes, users, teams) with ordinality s(scope, user_id, team_id, place)
      left join lateral budget_in_force(s.scope, s.user_id, s.team_id, t) b on true
      order by s.place);
    scope_place := 0;
  end if;

  -- A request id that the gateway made is the id of the log row, which is new. One that the caller chose may already be
  -- in the ledger.
  if is_any_known then
    if is_lone then
      select array[e.request_log_id] into accounted from usage_cost_events e
      where e.request_id_sha256 = request_digest(item.request_id) and e.ownership_scope_key = item.scope;
    else
      accounted := array(
        select e.request_log_id from unnest(items) with ordinality i
        left join usage_cost_events e
          on e.request_id_sha256 = request_digest(i.request_id) and e.ownership_scope_key = i.scope and i.charged
        order by i.ordinality);
      twins := array(
        select i.request_id from unnest(items) i where i.charged group by i.scope, i.request_id having count(*) > 1);
    end if;
  end if;

  foreach item in array items loop
    exit when item.charged is not true;
    place := place + 1;
    if scopes[scope_place] is distinct from item.scope then
      scope_place := scope_place + 1;
      additions[scope_place] := 0::numeric;
      if is_lone then
        -- Two small statements: starting the one that reads both takes as long, and an owner without a budget needs
        -- only the first.
        select b.budget_id, b.cadence, b.amount_10000, b.hard_limit into budget
        from active_budget(item.user_id, item.team_id) b;
        if budget.budget_id is not null then
          budget.window_start := budget_window_start(budget.cadence, t);
          budget.window_end := budget_window_end(budget.cadence, t);
          select s.picousd into budget.spent from window_spend(item.scope, budget.window_start, budget.window_end) s;
        end if;
      else
        budget := budgets[scope_place];
        accepted_twins := null;
      end if;
      alerted := budget.budget_id is null;
    end if;

    -- Its own row, written by a try whose answer was lost, is not a duplicate.
    continue when accounted[place] = item.request_log_id;
    counted := counts_toward_spend(item.pricing_status);
    if accounted[place] is not null or item.request_id = any (accepted_twins) then
      verdicts[item.ord] := 'duplicate';
    elsif counted and budget.hard_limit
          and budget.spent + item.cost_picousd > budget.amount_10000 * 100000000::numeric then
      verdicts[item.ord] := 'blocked';
      insert into blocked_answers values (item.request_log_id, item.scope, item.cost_picousd, t)
      on conflict on constraint blocked_answers_pkey do nothing;
      if close_on_block then
        insert into budget_window_closures values (budget.budget_id, budget.window_start, t, item.scope)
        on conflict do nothing;
      end if;
    else
      accepted[item.ord] := true;
      if item.request_id = any (twins) then
        accepted_twins := accepted_twins || item.request_id;
      end if;
      if counted then
        additions[scope_place] := additions[scope_place] + item.cost_picousd;
        budget.spent := budget.spent + item.cost_picousd;
        if not alerted and budget_alert_due(budget.amount_10000, budget.spent) then
          alerted := true;
          perform raise_budget_alert(budget.budget_id, item.user_id, item.team_id, budget.cadence, budget.amount_10000,
                                     budget.window_start, budget.window_end, budget.spent - item.cost_picousd,
                                     budget.spent, t, mail_ready);
        end if;
      end if;
      continue;
    end if;
    ord := item.ord; verdict := verdicts[item.ord]; budget_id := budget.budget_id; cadence := budget.cadence;
    amount_10000 := budget.amount_10000; window_start := budget.window_start; window_end := budget.window_end;
    database_time := t;
    return next;
  end loop;

  if is_lone then
    if accepted[1] then
      insert into usage_cost_events (
        request_log_id, request_id, ownership_scope_key, api_key_id, user_id, team_id, service_account_id, model_key,
        provider_key, upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status, unpriced_reason,
        input_picousd_per_token, output_picousd_per_token, pricing_source, cost_picousd, occurred_at
      )
      values (
        item.request_log_id, item.request_id, item.scope, item.api_key_id, item.user_id, item.team_id,
        item.service_account_id, item.model_key, item.provider_key, item.upstream_model, item.prompt_tokens,
        item.completion_tokens, item.total_tokens, item.pricing_status, item.unpriced_reason,
        item.input_picousd_per_token, item.output_picousd_per_token, item.pricing_source, item.cost_picousd, t
      );
      -- The day's total stays the sum of its rows, because it is added to under the lock of its scope.
      if additions[1] > 0 then
        insert into usage_daily_totals as d values (item.scope, (t at time zone 'UTC')::date, additions[1])
        on conflict on constraint usage_daily_totals_pkey
        do update set counted_picousd = d.counted_picousd + excluded.counted_picousd;
      end if;
      insert into usage_rollups as r
      values (rollup_bucket(t), item.scope, item.model_key, item.pricing_status, item.user_id, item.team_id, 1, additions[1])
      on conflict on constraint usage_rollups_pkey
      do update set request_count = r.request_count + 1, counted_picousd = r.counted_picousd + excluded.counted_picousd;
    end if;
    if item.logged then
      is_done := gateway_log_one(item, verdicts[1], t) is not null;
    end if;
  else
    if accepted is not null then
      insert into usage_cost_events (
        request_log_id, request_id, ownership_scope_key, api_key_id, user_id, team_id, service_account_id, model_key,
        provider_key, upstream_model, prompt_tokens, completion_tokens, total_tokens, pricing_status, unpriced_reason,
        input_picousd_per_token, output_picousd_per_token, pricing_source, cost_picousd, occurred_at
      )
      select i.request_log_id, i.request_id, i.scope, i.api_key_id, i.user_id, i.team_id, i.service_account_id,
             i.model_key, i.provider_key, i.upstream_model, i.prompt_tokens, i.completion_tokens, i.total_tokens,
             i.pricing_status, i.unpriced_reason, i.input_picousd_per_token, i.output_picousd_per_token,
             i.pricing_source, i.cost_picousd, t
      from unnest(items) i where accepted[i.ord];
      insert into usage_daily_totals as d
      select s.scope, (t at time zone 'UTC')::date, s.amount from unnest(scopes, additions) s(scope, amount)
      where s.amount > 0
      on conflict on constraint usage_daily_totals_pkey
      do update set counted_picousd = d.counted_picousd + excluded.counted_picousd;
      insert into usage_rollups as r
      select rollup_bucket(t), i.scope, i.model_key, i.pricing_status, i.user_id, max(i.team_id), count(*),
             coalesce(sum(i.cost_picousd) filter (where counts_toward_spend(i.pricing_status)), 0)
      from unnest(items) i where accepted[i.ord] group by i.scope, i.model_key, i.pricing_status, i.user_id
      on conflict on constraint usage_rollups_pkey
      do update set request_count = r.request_count + excluded.request_count,
                    counted_picousd = r.counted_picousd + excluded.counted_picousd;
    end if;
    if again then
      -- An earlier try, whose answer was lost, may have blocked records that are not blocked this time. Their callers
      -- never heard of it, so the rows must not say it either.
      delete from blocked_answers b using unnest(items) i
      where i.charged and b.request_log_id = i.request_log_id and b.ownership_scope_key = i.scope
        and verdicts[i.ord] is distinct from 'blocked';
      update request_logs l
      set status_code = i.status_code, error_code = i.error_code,
          metadata_json = settled_metadata(i.metadata_json, verdicts[i.ord], i.blocked_cost_usd)
      from unnest(items) i
      where i.logged and i.charged and l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope
        and verdicts[i.ord] is distinct from 'blocked' and l.metadata_json -> 'accounting' ? 'blocked_cost_usd';
      update request_log_tags g set status_code = l.status_code
      from unnest(items) i
      join request_logs l on l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope
      where i.logged and i.charged and g.request_log_id = i.request_log_id and g.ownership_scope_key = i.scope
        and g.status_code <> l.status_code;
      -- Log rows that are already there are not written again.
      perform gateway_log(
        array(select i from unnest(items) i
              where not exists (select from request_logs l
                                where l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope)),
        verdicts, t);
    else
      perform gateway_log(items, verdicts, t);
    end if;
  end if;
  if cardinality(releases) > 0 then
    delete from request_claims c where c.request_log_id = any (releases);
    -- Tokens count in the current minute, even those of a late record, whose own minute is over.
    perform end_rate_limit_holds(items, releases, case when at is null then t else gateway_now() end);
  end if;
end $$;
comment on function gateway_settle is 'Settlement: the hard limit is an invariant of this function.';
