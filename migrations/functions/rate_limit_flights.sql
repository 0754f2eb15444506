-- At most `asked` more requests may come to each subject. If that could be too many, holds that have expired or whose
-- process is gone are deleted first.
create or replace function rate_limit_flights(
  subjects text[], max_flights bigint[], asked integer, t timestamptz, process uuid
) returns bigint[]
language plpgsql volatile as $$
declare
  flights bigint[];
  tidied boolean := false;
begin
  loop
    flights := array(
      select case when max_flights[i.ord] is null then 0
             else (select count(*) from rate_limit_holds h where h.subject = i.subject and h.expires_at > t) end
      from unnest(subjects) with ordinality i(subject, ord) order by i.ord
    );
    exit when tidied or not exists (
      select from unnest(flights, max_flights) f(flight, max_flight) where f.flight + asked > f.max_flight);
    tidied := true;
    -- A locked hold is skipped: the transaction that has the lock, such as its settlement, deletes it.
    delete from rate_limit_holds h using (
      select g.subject, g.request_log_id from rate_limit_holds g
      where g.subject = any (subjects) and (g.expires_at <= t or g.process_id in (
        select p.process_id from (select distinct o.process_id from rate_limit_holds o where o.subject = any (subjects)) p
        where process_is_gone(p.process_id, process)))
      for update skip locked
    ) gone
    where h.subject = gone.subject and h.request_log_id = gone.request_log_id;
    exit when not found;
  end loop;
  return flights;
end $$;
comment on function rate_limit_flights is 'How many requests of each limited subject are in flight; 0 where nobody asks.';
