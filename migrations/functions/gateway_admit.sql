-- `gateway_admit_scopes`, and two questions about the requests whose ids their callers chose (`asks` holds only those):
-- is the id already in the ledger, and did the request get the claim that it asked for? A claim belongs to one request,
-- and ends with it, with its process, or when it expires.
create or replace function gateway_admit(scopes json, asks json, claim_seconds integer, process uuid default null) returns json
language plpgsql volatile set lock_timeout = '2s' as $$
declare
  t timestamptz := gateway_now();
  wanted request_claims[];
  admission jsonb;
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
  select gateway_admit_scopes(array_agg(s.scope), array_agg(s.user_id), array_agg(s.team_id)) into admission
  from json_to_recordset(scopes) s(scope text, user_id uuid, team_id text);
  return admission || jsonb_build_object(
    'accounted', (
      select coalesce(jsonb_agg(a.request_log_id), '[]')
      from json_to_recordset(asks) a(request_log_id uuid, request_id text, scope text)
      where exists (select from usage_cost_events e
                    where e.request_id_sha256 = request_digest(a.request_id) and e.ownership_scope_key = a.scope)),
    'unclaimed', (
      select coalesce(jsonb_agg(a.request_log_id), '[]')
      from json_to_recordset(asks) a(request_log_id uuid, request_id text, scope text, claim boolean)
      where a.claim and not exists (
        select from request_claims c
        where c.request_id_sha256 = request_digest(a.request_id) and c.ownership_scope_key = a.scope
          and c.request_log_id = a.request_log_id)));
end $$;
comment on function gateway_admit is 'Admission with request ids that callers chose: what is accounted already, and who has the claim.';
