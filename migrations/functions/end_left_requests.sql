-- Ends claims and holds that did not end with their requests: those of `releases` or, without it, those of processes
-- that are gone.
create or replace function end_left_requests(releases uuid[] default null) returns void
language plpgsql volatile as $$
begin
  if releases is not null then
    delete from request_claims c where c.request_log_id = any (releases);
    delete from rate_limit_holds h where h.request_log_id = any (releases);
  else
    delete from request_claims c
    where c.process_id is not null
      and not exists (select from gateway_processes p where p.process_id = c.process_id);
    delete from rate_limit_holds h
    where not exists (select from gateway_processes p where p.process_id = h.process_id);
  end if;
end $$;
comment on function end_left_requests is 'Ends the claims and holds of requests, or of processes that are gone.';
