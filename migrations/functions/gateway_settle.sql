-- After the provider: one transaction for the ledger rows, their day totals and the log rows of a batch. Locks first,
-- then judges, then writes.
-- The records are judged one after the other in arrival order (`ord`, from 1 without gaps), each against the total
-- with those accepted before it; one that does not fit is blocked alone. `releases` are requests whose claims and holds
-- end.
-- `at` is the time of records that come late, out of a journal; `again` says that they may have been judged before.
-- Returned are the verdicts other than 'recorded'.
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
set lock_timeout = '2s' set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
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
    counted := counts_toward_spend(item.pricing_status);
    if item.existing is not null or item.has_twin and item.digest = any (accepted_twins) then
      verdicts[item.ord] := 'duplicate';
    elsif counted and budget.hard_limit and spent + item.cost_picousd > budget.amount_10000 * 100000000::numeric then
      verdicts[item.ord] := 'blocked';
      insert into blocked_answers values (item.request_log_id, item.scope, item.cost_picousd, t)
      on conflict on constraint blocked_answers_pkey do nothing;
      if close_on_block then
        insert into budget_window_closures values (budget.budget_id, budget.starts, t, item.scope) on conflict do nothing;
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
         coalesce(sum(i.cost_picousd) filter (where counts_toward_spend(i.pricing_status)), 0)
  from unnest(items) i where accepted[i.ord] group by i.scope, i.model_key, i.pricing_status, i.user_id
  on conflict on constraint usage_rollups_pkey
  do update set request_count = r.request_count + excluded.request_count,
                counted_picousd = r.counted_picousd + excluded.counted_picousd;
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
  perform gateway_log(items, verdicts, t);
  if cardinality(releases) > 0 then
    perform end_rate_limit_holds(items, releases, t);
  end if;
end $$;
comment on function gateway_settle is 'Settlement: the hard limit is an invariant of this function.';
