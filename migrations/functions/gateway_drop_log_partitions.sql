-- Drops partitions before the cutoff that a purge has emptied, which frees their disk space. A partition that is in use
-- is left to the next purge. Returns how many were dropped.
create or replace function gateway_drop_log_partitions(cutoff timestamptz) returns integer
language plpgsql volatile as $$
declare
  found record;
  is_empty boolean;
  dropped integer := 0;
begin
  for found in select * from log_partitions() where to_id <= log_id_floor(cutoff) order by log_table, part loop
    execute format('select not exists (select from %I)', found.part) into is_empty;
    continue when not is_empty or not lock_log_tables(array[found.log_table, found.part], 2);
    execute format('select not exists (select from %I)', found.part) into is_empty;
    continue when not is_empty;
    execute format('drop table %I', found.part);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
comment on function gateway_drop_log_partitions is 'Drops the partitions of the request logs that are empty and lie before the cutoff.';
