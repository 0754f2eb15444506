-- Altering a partitioned table needs an exclusive lock on it, and everybody who comes while that lock is waited for
-- waits as well. So each try waits at most 20 ms for a table, and lets everybody through for half a second before the
-- next try. The locks are held to the end of the transaction.
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
