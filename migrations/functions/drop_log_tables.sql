-- To drop a partition takes its table for a moment from everybody, and whoever comes while that is waited for waits, too:
-- so it waits a fiftieth of a second at most, and then lets everybody through before it tries again.
create or replace function drop_log_tables(tables text[], parts text[], tries integer) returns boolean
language plpgsql volatile set lock_timeout = '20ms' as $$
declare
  names constant text := (select string_agg(quote_ident(name), ', ') from unnest(tables || parts) name);
  dropped constant text := (select string_agg(quote_ident(name), ', ') from unnest(parts) name);
begin
  for try in 1 .. tries loop
    begin
      execute format('lock table %s in access exclusive mode', names);
      execute format('drop table %s', dropped);
      return true;
    exception when lock_not_available then
      if try < tries then
        perform pg_sleep(0.2);
      end if;
    end;
  end loop;
  return false;
end $$;
comment on function drop_log_tables is 'Drops partitions of these tables, all of them or none; false where the tables are in use for too long.';
