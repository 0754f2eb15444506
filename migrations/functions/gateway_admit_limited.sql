-- `gateway_admit` for requests that have rate limits. `subjects` are those of the whole batch. `limited` has the
-- requests in arrival order (`ord`); `at` of each has the positions of its own subjects in `subjects`, from 1.
-- Each request is judged after those before it, and counts for all of its subjects or for none. If the whole batch
-- fits, the loop over its requests is skipped. The result has the standing of each limit before the batch, and the
-- `ord` of each refused request.
-- Plans are generic and their types fixed, because planning each call would take longer than the statements themselves.
create or replace function gateway_admit_limited(
  scopes json, asks json, claim_seconds integer, process uuid, subjects text[], limited json
) returns jsonb
language plpgsql volatile set lock_timeout = '2s' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  admission jsonb := gateway_admit(scopes, asks, claim_seconds, process);
  item record;
  s integer;
  t timestamptz;
  starts timestamptz[];
  used_requests bigint[];
  used_tokens numeric[];
  flights bigint[];
  asked bigint[];
  max_requests bigint[];
  max_tokens bigint[];
  max_flights bigint[];
  standings json;
  is_full boolean;
  refused integer[] := '{}';
begin
  perform from rate_limit_windows w where w.subject = any (subjects) order by w.subject for update;
  -- The transactions that held these locks before have ended, so the statements below see what they counted.
  t := gateway_now();
  select array_agg(case when p.counts then w.window_start else m.starts end order by i.ord),
         array_agg(case when p.counts then w.requests else 0 end order by i.ord),
         array_agg(case when p.counts then w.tokens else 0 end order by i.ord),
         array_agg(l.requests_per_minute order by i.ord), array_agg(l.tokens_per_minute order by i.ord),
         array_agg(l.requests_in_flight order by i.ord), array_agg(0 order by i.ord)
    into starts, used_requests, used_tokens, max_requests, max_tokens, max_flights, flights
  from unnest(subjects) with ordinality i(subject, ord)
  cross join lateral (select date_trunc('minute', t, 'UTC') as starts) m
  left join rate_limits l on l.subject = i.subject
  left join rate_limit_windows w on w.subject = i.subject
  -- A window that starts later than the next minute was written by a wrong clock, and does not count.
  cross join lateral (
    select w.window_start between m.starts and m.starts + interval '1 minute' as counts
  ) p;
  if num_nonnulls(variadic max_flights) > 0 then
    flights := rate_limit_flights(subjects, max_flights, json_array_length(limited), t, process);
  end if;

  standings := (
    select json_agg(json_build_object(
      'requests_per_minute', max_requests[i.ord], 'tokens_per_minute', max_tokens[i.ord],
      'requests_in_flight', max_flights[i.ord], 'window_start', starts[i.ord], 'requests', used_requests[i.ord],
      'tokens', used_tokens[i.ord], 'in_flight', flights[i.ord]) order by i.ord)
    from generate_subscripts(subjects, 1) i(ord));

  asked := array(
    select count(*) from json_to_recordset(limited) a(at integer[]) cross join lateral unnest(a.at) p(s)
    group by p.s order by p.s);
  is_full := exists (
    select from generate_subscripts(subjects, 1) i(ord)
    where used_requests[i.ord] + asked[i.ord] > max_requests[i.ord] or used_tokens[i.ord] >= max_tokens[i.ord]
          or flights[i.ord] + asked[i.ord] > max_flights[i.ord]);
  if not is_full then
    used_requests := array(select used_requests[i.ord] + asked[i.ord] from generate_subscripts(subjects, 1) i(ord) order by i.ord);
  else
    for item in
      select a.ord, a.at from json_to_recordset(limited) a(ord integer, at integer[]) order by a.ord
    loop
      is_full := false;
      foreach s in array item.at loop
        is_full := is_full or used_requests[s] >= max_requests[s] is true or used_tokens[s] >= max_tokens[s] is true
                           or flights[s] >= max_flights[s] is true;
      end loop;
      if is_full then
        refused := refused || item.ord;
        continue;
      end if;
      foreach s in array item.at loop
        used_requests[s] := used_requests[s] + 1;
        flights[s] := flights[s] + 1;
      end loop;
    end loop;
  end if;

  if cardinality(refused) < json_array_length(limited) then
    update rate_limit_windows w
    set window_start = starts[i.ord], requests = used_requests[i.ord], tokens = used_tokens[i.ord]
    from unnest(subjects) with ordinality i(subject, ord) where w.subject = i.subject;
    if num_nonnulls(variadic max_tokens) + num_nonnulls(variadic max_flights) > 0 then
      insert into rate_limit_holds
      select subjects[p.s], a.request_log_id, process, t + make_interval(secs => claim_seconds)
      from json_to_recordset(limited) a(ord integer, request_log_id uuid, at integer[])
      cross join lateral unnest(a.at) p(s)
      where a.ord <> all (refused) and num_nonnulls(max_tokens[p.s], max_flights[p.s]) > 0
      on conflict do nothing;
      insert into gateway_processes values (process, clock_timestamp(), clock_timestamp()) on conflict do nothing;
    end if;
  end if;
  return admission || jsonb_build_object('database_time', t, 'refused', refused, 'limits', standings);
end $$;
comment on function gateway_admit_limited is 'Admission under rate limits: their invariant is of this function, under the locks of the subjects'' windows, taken in sorted order.';
