-- One partition for each UTC month from the one of `since` to the one of `until_time`, where there is none yet. It is made
-- beside its table and then attached, which stops neither reading nor writing; rows of its month that lie in the default
-- partition already move into it. A table that is in use for too long keeps the default partition for this month until
-- the next call. Returned is how many were made.
create or replace function gateway_make_log_partitions(since timestamptz, until_time timestamptz) returns integer
language plpgsql volatile set lock_timeout = '1s' set timezone = 'UTC' as $$
declare
  wanted record;
  columns text;
  made integer := 0;
begin
  if not pg_try_advisory_xact_lock(4071771012) then
    return made;
  end if;
  for wanted in
    select t.log_table, t.storage, t.log_table || to_char(month, '_YYYY_MM') as part,
           log_id_floor(month) as from_id, log_id_floor(month + interval '1 month') as to_id
    from log_tables t, generate_series(date_trunc('month', since), until_time, interval '1 month') month
  loop
    continue when to_regclass(wanted.part) is not null;
    select string_agg(quote_ident(a.attname), ', ') into columns
    from pg_attribute a
    where a.attrelid = wanted.log_table::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = '';
    begin
      execute format('create table %I (like %I including all) with (%s)', wanted.part, wanted.log_table, wanted.storage);
      execute format(
        'with moved as (delete from %1$I where request_log_id >= %2$L and request_log_id < %3$L returning %4$s)
         insert into %5$I (%4$s) select %4$s from moved',
        wanted.log_table || '_default', wanted.from_id, wanted.to_id, columns, wanted.part);
      execute format('alter table %I attach partition %I for values from (%L) to (%L)', wanted.log_table, wanted.part,
                     wanted.from_id, wanted.to_id);
      made := made + 1;
    exception when lock_not_available or check_violation then
      raise warning 'partition % could not be made: %', wanted.part, sqlerrm;
    end;
  end loop;
  return made;
end $$;
comment on function gateway_make_log_partitions is 'Makes the partitions of the request logs ahead of time.';
