-- The last thing of a settlement: whoever has the lock of a window waits for nobody any more.
create or replace function end_rate_limit_holds(items settlement_record[], releases uuid[], t timestamptz) returns void
language plpgsql volatile as $$
declare
  used_subjects text[];
  used_tokens numeric[];
begin
  with ended as (
    delete from rate_limit_holds h where h.request_log_id = any (releases) returning h.subject, h.request_log_id
  ), used as (
    select e.subject, sum(i.limited_tokens) as tokens
    from ended e
    join unnest(items) i on i.request_log_id = e.request_log_id
    join rate_limits l on l.subject = e.subject
    where i.limited_tokens > 0 and l.tokens_per_minute is not null
    group by e.subject
  )
  select array_agg(u.subject order by u.subject), array_agg(u.tokens order by u.subject)
    into used_subjects, used_tokens from used u;
  if used_subjects is null then
    return;
  end if;
  perform from rate_limit_windows w where w.subject = any (used_subjects) order by w.subject for update;
  update rate_limit_windows w
  set window_start = greatest(w.window_start, date_trunc('minute', t, 'UTC')),
      requests = case when w.window_start >= date_trunc('minute', t, 'UTC') then w.requests else 0 end,
      tokens = case when w.window_start > date_trunc('minute', t, 'UTC') then w.tokens
                    when w.window_start = date_trunc('minute', t, 'UTC') then w.tokens + u.tokens else u.tokens end
  from unnest(used_subjects, used_tokens) u(subject, tokens) where w.subject = u.subject;
end $$;
comment on function end_rate_limit_holds is 'Ends what requests hold, and counts their tokens in the minute of their settlement, once: a second try finds no holds.';
