-- How long the caller of a stream waited for its beginning. No row is rewritten, for the column has no default. What is
-- settled would wait behind a table that waits for a reader, such as a backup: so it waits a moment, and tries again.
do $$
begin
  set local lock_timeout = '200ms';
  for tries in 1 .. 60 loop
    begin
      alter table request_logs add column first_token_ms integer;
      exit;
    exception when lock_not_available then
      if tries = 60 then
        raise;
      end if;
      perform pg_sleep(0.3);
    end;
  end loop;
end $$;
comment on column request_logs.first_token_ms is 'Milliseconds from the request''s arrival to the first content of a stream that went to its caller; null where none did, and in rows from before it was stored.';

alter type settlement_record add attribute first_token_ms integer;
