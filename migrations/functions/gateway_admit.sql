-- Before the provider, for a batch: which budget is in force for each scope, and what is spent of it. `asks` hold
-- only the requests whose id came from the caller: is it in the ledger already, is its claim to be had? A claim is had
-- by one request, and ends with it, with its process, or when it expires.
create or replace function gateway_admit(scopes json, asks json, claim_seconds integer, process uuid default null) returns json
language plpgsql volatile set lock_timeout = '2s' as $$
declare
  t timestamptz := gateway_now();
  wanted request_claims[];
begin
  if json_array_length(asks) > 0 then
    wanted := array(
      select row(request_digest(a.request_id), a.scope, a.request_log_id, t + make_interval(secs => claim_seconds),
                 process)
      from json_to_recordset(asks) a(request_log_id uuid, request_id text, scope text, claim boolean)
      where a.claim order by 1
    );
  end if;
  if cardinality(wanted) > 0 then
    if process is not null then
      insert into gateway_processes values (process, clock_timestamp(), clock_timestamp()) on conflict do nothing;
    end if;
    delete from request_claims c using unnest(wanted) w
    where c.request_id_sha256 = w.request_id_sha256 and c.ownership_scope_key = w.ownership_scope_key
      and (c.expires_at <= t or process_is_gone(c.process_id, process));
    insert into request_claims select w.* from unnest(wanted) w on conflict do nothing;
  end if;
  return json_build_object(
    'database_time', t,
    'read_only', current_setting('transaction_read_only')::boolean,
    'budgets', (
      select coalesce(json_agg(json_build_object(
        'scope', s.scope, 'budget_id', b.budget_id, 'cadence', b.cadence, 'amount_10000', b.amount_10000::text,
        'hard_limit', b.hard_limit, 'window_start', w.starts, 'window_end', w.ends,
        'spent', counted_spend(s.scope, w.starts, w.ends)::text,
        'closed', exists (select from budget_window_closures c
                          where c.budget_id = b.budget_id and c.window_start = w.starts
                            and c.ownership_scope_key = s.scope))), '[]')
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
