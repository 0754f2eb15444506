-- Each node ends what is on it: claims in its own shards, and holds on the coordinator. A shard that moves meanwhile
-- keeps claims, which then expire.
create or replace function end_left_requests(releases uuid[] default null) returns void
language plpgsql volatile as $$
declare
  shard text;
begin
  for shard in
    select format('request_claims_%s', s.shardid) from pg_dist_shard s
    join pg_dist_placement p on p.shardid = s.shardid
    join pg_dist_local_group g on g.groupid = p.groupid
    where s.logicalrelid = 'request_claims'::regclass
  loop
    if releases is not null then
      execute format('delete from %I c where c.request_log_id = any ($1)', shard) using releases;
    else
      execute format(
        'delete from %I c where c.process_id is not null
           and not exists (select from gateway_processes p where p.process_id = c.process_id)', shard);
    end if;
  end loop;
  if (select g.groupid = 0 from pg_dist_local_group g) then
    if releases is not null then
      delete from rate_limit_holds h where h.request_log_id = any (releases);
    else
      delete from rate_limit_holds h
      where not exists (select from gateway_processes p where p.process_id = h.process_id);
    end if;
  end if;
end $$;
comment on function end_left_requests is 'Ends the claims and holds of requests, or of processes that are gone.';
