-- The last step of a settlement: once it has locked the windows, in sorted order, it waits for nothing else. If no
-- token limit applies, it locks none.
create or replace function end_rate_limit_holds(items settlement_record[], releases uuid[], t timestamptz) returns void
language plpgsql volatile set plan_cache_mode = force_generic_plan as $$
declare
  used_subjects text[];
  used_tokens numeric[];
begin
  -- Each record looks up its own holds: a join in the other order would scan all records for each hold.
  with ended as (
    delete from rate_limit_holds h using unnest(items) i
    where h.request_log_id = i.request_log_id and i.limited_tokens > 0
    returning h.subject, i.limited_tokens
  ), used as (
    select e.subject, sum(e.limited_tokens) as tokens from ended e group by e.subject
  )
  select array_agg(u.subject order by u.subject), array_agg(u.tokens order by u.subject)
    into used_subjects, used_tokens
  from used u join rate_limits l on l.subject = u.subject
  where l.tokens_per_minute is not null;
  delete from rate_limit_holds h where h.request_log_id = any (releases);
  if used_subjects is null then
    return;
  end if;
  perform from rate_limit_windows w where w.subject = any (used_subjects) order by w.subject for update;
  update rate_limit_windows w
  set window_start = case when w.window_start between m.starts and m.next_starts then w.window_start else m.starts end,
      requests = case when w.window_start between m.starts and m.next_starts then w.requests else 0 end,
      tokens = case w.window_start when m.starts then w.tokens + u.tokens when m.next_starts then w.tokens
                                   else u.tokens end
  from unnest(used_subjects, used_tokens) u(subject, tokens)
  cross join lateral (select date_trunc('minute', t, 'UTC') as starts,
                             date_trunc('minute', t, 'UTC') + interval '1 minute' as next_starts) m
  where w.subject = u.subject;
end $$;
comment on function end_rate_limit_holds is 'Ends what requests hold, and counts their tokens in the minute of their settlement, once: a second try finds no holds.';
