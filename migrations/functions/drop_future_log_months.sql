-- Those that were made ahead give way to days, as long as nothing is in them.
create or replace function drop_future_log_months(since timestamptz) returns void
language plpgsql volatile as $$
declare
  found record;
  is_empty boolean;
begin
  for found in
    select * from log_partitions() where from_id > log_id_floor(since) and part = log_table || substring(part from '_\d{4}_\d\d$')
    order by log_table, part
  loop
    execute format('select not exists (select from %I)', found.part) into is_empty;
    continue when not is_empty or not lock_log_tables(array[found.log_table, found.part], 3);
    execute format('select not exists (select from %I)', found.part) into is_empty;
    continue when not is_empty;
    execute format('drop table %I', found.part);
  end loop;
end $$;
comment on function drop_future_log_months is 'Drops the empty partitions of whole months that begin behind a time.';
