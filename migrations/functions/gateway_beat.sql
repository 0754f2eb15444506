-- Called once a second by each gateway process. `releases` are requests whose claims and holds did not end with them.
create or replace function gateway_beat(process uuid, releases uuid[], pages integer) returns void
language plpgsql volatile set lock_timeout = '2s' as $$
begin
  perform probe_writing(pages);
  insert into gateway_processes as p values (process, clock_timestamp(), clock_timestamp())
  on conflict on constraint gateway_processes_pkey do update
  set seen_at = excluded.seen_at,
      unbroken_since = case when p.seen_at between excluded.seen_at - interval '5 seconds'
                                               and excluded.seen_at + interval '5 seconds'
                            then least(p.unbroken_since, excluded.seen_at) else excluded.seen_at end;
  if cardinality(releases) > 0 then
    perform end_left_requests(releases);
  end if;
  delete from gateway_processes p where process_is_gone(p.process_id, process, '1 minute');
  if found then
    perform end_left_requests();
  end if;
end $$;
comment on function gateway_beat is 'Keeps a process among those that are there, ends what it could not, and probes whether rows can be written.';
