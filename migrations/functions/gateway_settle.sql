-- After the provider: one transaction for the ledger rows, their day totals and the log rows of a batch. Locks first,
-- then judges, then writes.
-- The records are judged one after the other in arrival order (`ord`, from 1 without gaps), each against the total
-- with those accepted before it; one that does not fit is blocked alone. `releases` are requests whose claims and holds
-- end.
-- `at` is the time of records that come late, out of a journal; `again` says that they may have been judged before.
-- Returned are the verdicts other than 'recorded'.
-- To begin a statement costs as much as several rows: there is one for a table, whatever the size of the batch, what is
-- rare has its own behind a condition, and what groups records has a plain one beside it for a batch of one.
-- The planner may not choose here: its plans are kept, and one made while the tables were small would read them whole.
-- What it may not choose costs 10^10 before PostgreSQL 18, for which each call would be compiled.
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
  is_lone constant boolean := json_array_length(records) = 1;
  items settlement_record[];
  item settlement_record;
  place integer := 0;
  scopes text[] := '{}';
  additions numeric[] := '{}';
  twins text[] := '{}';
  accounted uuid[] := '{}';
  budget record;
  t timestamptz;
  starts timestamptz;
  ends timestamptz;
  spent numeric;
  counted boolean;
  alerted boolean;
  accepted boolean[] := '{}';
  accepted_twins text[];
  verdicts text[] := '{}';
begin
  if is_lone then
    item := json_populate_record(null::settlement_record, records -> 0);
    items[1] := item;
    if item.charged then
      scopes[1] := item.scope;
    end if;
  else
    -- Those with a charge first, scope by scope, each scope's in arrival order.
    items := array(
      select i from json_populate_recordset(null::settlement_record, records) i
      order by i.charged is true desc, i.scope collate "C", i.ord);
    foreach item in array items loop
      exit when item.charged is not true;
      if scopes[cardinality(scopes)] is distinct from item.scope then
        scopes := scopes || item.scope;
      end if;
    end loop;
  end if;
  if cardinality(scopes) > 0 then
    perform lock_scopes(scopes);
  end if;
  t := coalesce(at, gateway_now());

  if cardinality(scopes) > 0 and not is_lone then
    accounted := array(
      select e.request_log_id from unnest(items) with ordinality i
      left join usage_cost_events e
        on e.request_id_sha256 = request_digest(i.request_id) and e.ownership_scope_key = i.scope and i.charged
      order by i.ordinality);
    twins := array(
      select i.request_id from unnest(items) i where i.charged group by i.scope, i.request_id having count(*) > 1);
  elsif cardinality(scopes) > 0 then
    select array[e.request_log_id] into accounted from usage_cost_events e
    where e.request_id_sha256 = request_digest(item.request_id) and e.ownership_scope_key = item.scope;
  end if;

  scopes := '{}';
  foreach item in array items loop
    exit when item.charged is not true;
    place := place + 1;
    if scopes[cardinality(scopes)] is distinct from item.scope then
      scopes := scopes || item.scope;
      additions := additions || 0::numeric;
      accepted_twins := '{}';
      select * into budget from active_budget(item.user_id, item.team_id);
      alerted := budget.budget_id is null;
      starts := null;
      ends := null;
      if budget.budget_id is not null then
        starts := budget_window_start(budget.cadence, t);
        ends := budget_window_end(budget.cadence, t);
        select s.picousd into spent from window_spend(item.scope, starts, ends) s;
      end if;
    end if;

    -- Its own row, from a try whose answer was lost, is no duplicate.
    continue when accounted[place] = item.request_log_id;
    counted := counts_toward_spend(item.pricing_status);
    if accounted[place] is not null or item.request_id = any (accepted_twins) then
      verdicts[item.ord] := 'duplicate';
    elsif counted and budget.hard_limit and spent + item.cost_picousd > budget.amount_10000 * 100000000::numeric then
      verdicts[item.ord] := 'blocked';
      insert into blocked_answers values (item.request_log_id, item.scope, item.cost_picousd, t)
      on conflict on constraint blocked_answers_pkey do nothing;
      if close_on_block then
        insert into budget_window_closures values (budget.budget_id, starts, t, item.scope) on conflict do nothing;
      end if;
    else
      accepted[item.ord] := true;
      if item.request_id = any (twins) then
        accepted_twins := accepted_twins || item.request_id;
      end if;
      if counted then
        additions[cardinality(additions)] := additions[cardinality(additions)] + item.cost_picousd;
        spent := spent + item.cost_picousd;
        if not alerted and budget_alert_due(budget.amount_10000, spent) then
          alerted := true;
          perform raise_budget_alert(budget.budget_id, item.user_id, item.team_id, budget.cadence,
                                     budget.amount_10000, starts, ends, spent - item.cost_picousd, spent, t,
                                     mail_ready);
        end if;
      end if;
      continue;
    end if;
    ord := item.ord; verdict := verdicts[item.ord]; budget_id := budget.budget_id; cadence := budget.cadence;
    amount_10000 := budget.amount_10000; window_start := starts; window_end := ends; database_time := t;
    return next;
  end loop;

  if cardinality(accepted) > 0 then
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
  end if;
  -- The day's total stays the sum of its rows: it is added to under the lock of its scope.
  if cardinality(accepted) > 0 and is_lone then
    if additions[1] > 0 then
      insert into usage_daily_totals as d values (item.scope, (t at time zone 'UTC')::date, additions[1])
      on conflict on constraint usage_daily_totals_pkey
      do update set counted_picousd = d.counted_picousd + excluded.counted_picousd;
    end if;
    insert into usage_rollups as r
    values (rollup_bucket(t), item.scope, item.model_key, item.pricing_status, item.user_id, item.team_id, 1, additions[1])
    on conflict on constraint usage_rollups_pkey
    do update set request_count = r.request_count + 1, counted_picousd = r.counted_picousd + excluded.counted_picousd;
  elsif cardinality(accepted) > 0 then
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
  if cardinality(releases) > 0 then
    delete from request_claims c where c.request_log_id = any (releases);
  end if;
  -- Who was blocked by a try whose answer was lost, and is not now, was never told so: neither do the rows say it.
  if again then
    delete from blocked_answers b using unnest(items) i
    where i.charged and b.request_log_id = i.request_log_id and b.ownership_scope_key = i.scope
      and verdicts[i.ord] is distinct from 'blocked';
    update request_logs l
    set status_code = i.status_code, error_code = i.error_code,
        metadata_json = case verdicts[i.ord] when 'duplicate' then i.metadata_json || '{"accounting": {"duplicate": true}}'
                                             else i.metadata_json end
    from unnest(items) i
    where i.logged and i.charged and l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope
      and verdicts[i.ord] is distinct from 'blocked' and l.metadata_json -> 'accounting' ? 'blocked_cost_usd';
    update request_log_tags g set status_code = l.status_code
    from unnest(items) i
    join request_logs l on l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope
    where i.logged and i.charged and g.request_log_id = i.request_log_id and g.ownership_scope_key = i.scope
      and g.status_code <> l.status_code;
  end if;
  begin
    perform gateway_log(items, verdicts, t);
  exception when unique_violation then
    -- A try whose answer was lost has written some of them: a row that is there already is left as it is. To ask for
    -- it with `on conflict` would cost each settlement a look at every index of the partition.
    perform gateway_log(
      array(select i from unnest(items) i
            where not exists (select from request_logs l
                              where l.request_log_id = i.request_log_id and l.ownership_scope_key = i.scope)),
      verdicts, t);
  end;
  if cardinality(releases) > 0 then
    perform end_rate_limit_holds(items, releases, t);
  end if;
end $$;
comment on function gateway_settle is 'Settlement: the hard limit is an invariant of this function.';
