-- Which processes are there, so that a claim ends with its process; and whether rows can be written at all.

create table gateway_processes (
  process_id uuid primary key,
  seen_at timestamptz not null,
  unbroken_since timestamptz not null
);
comment on table gateway_processes is 'A process that serves, seen once a second. By the system''s clock: what it says is whether somebody is there, not when something happened.';
comment on column gateway_processes.unbroken_since is 'From when on it has been seen without a gap: only who was there itself can say that another was not.';

alter table request_claims add column process_id uuid;
comment on column request_claims.process_id is 'Whose request it is; without one a claim ends with its request or when it expires.';

create function process_is_gone(holder uuid, observer uuid, patience interval default '5 seconds') returns boolean
language sql volatile as $$
  select holder <> observer
    and exists (select from gateway_processes p
                where p.process_id = observer and p.unbroken_since <= clock_timestamp() - patience
                  and p.seen_at > clock_timestamp() - patience)
    and not exists (select from gateway_processes p
                    where p.process_id = holder and p.seen_at > clock_timestamp() - patience)
$$;
comment on function process_is_gone is 'Not seen for so long by one who was there all the time: after an outage of the database nobody is gone before everybody could be seen again.';

-- Truncated now and then instead of vacuumed: each probe must need new room.
create unlogged table write_probes (filling text not null) with (autovacuum_enabled = false);
alter table write_probes alter column filling set storage plain;
comment on table write_probes is 'What probes wrote and took back: no row of it is ever seen.';

create function probe_writing(pages integer) returns void
language plpgsql volatile as $$
begin
  if current_setting('transaction_read_only')::boolean then
    raise exception 'the database is read-only' using errcode = 'read_only_sql_transaction';
  end if;
  if pg_relation_size('write_probes') > 1048576 then
    truncate write_probes;
  end if;
  begin
    insert into write_probes select repeat('x', 8000) from generate_series(1, pages);
    raise exception 'room was there' using errcode = 'GWP01';
  exception when sqlstate 'GWP01' then
    null;
  end;
end $$;
comment on function probe_writing is 'Fails as a settlement would: in a database that only reads, and where the disk has no room for so many pages.';

-- What a process says of itself once a second. `releases` are claims of requests that could not release them.
create function gateway_beat(process uuid, releases uuid[], pages integer) returns void
language plpgsql volatile set lock_timeout = '2s' as $$
begin
  perform probe_writing(pages);
  insert into gateway_processes as p values (process, clock_timestamp(), clock_timestamp())
  on conflict on constraint gateway_processes_pkey do update
  set seen_at = excluded.seen_at,
      unbroken_since = case when p.seen_at > excluded.seen_at - interval '5 seconds' then p.unbroken_since
                            else excluded.seen_at end;
  if cardinality(releases) > 0 then
    delete from request_claims c where c.request_log_id = any (releases);
  end if;
  delete from gateway_processes p where process_is_gone(p.process_id, process, '1 minute');
  if found then
    delete from request_claims c
    where c.process_id is not null
      and not exists (select from gateway_processes p where p.process_id = c.process_id);
  end if;
end $$;
comment on function gateway_beat is 'Keeps a process among those that are there, ends what it could not, and probes whether rows can be written.';

drop function gateway_admit(json, json, integer);
-- Before the provider, for a batch: which budget is in force for each scope, and what is spent of it. `asks` hold
-- only the requests whose id came from the caller: is it in the ledger already, is its claim to be had? A claim is had
-- by one request, and ends with it, with its process, or when it expires.
create function gateway_admit(scopes json, asks json, claim_seconds integer, process uuid default null) returns json
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
