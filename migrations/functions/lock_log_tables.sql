-- What is changed of a partitioned table takes the table for a moment from everybody, and whoever comes while that is
-- waited for waits, too: so it waits a fiftieth of a second at most for each, and then lets everybody through before it tries
-- again. What was asked for is held to the end of the transaction.
create or replace function lock_log_tables(names text[], tries integer) returns boolean
language plpgsql volatile set lock_timeout = '20ms' as $$
declare
  wanted constant text := (select string_agg(quote_ident(name), ', ') from unnest(names) name);
begin
  for try in 1 .. tries loop
    begin
      execute format('lock table %s in access exclusive mode', wanted);
      return true;
    exception when lock_not_available then
      if try < tries then
        perform pg_sleep(0.5);
      end if;
    end;
  end loop;
  return false;
end $$;
comment on function lock_log_tables is 'Takes tables of the request logs from everybody; false where they are in use for too long.';
