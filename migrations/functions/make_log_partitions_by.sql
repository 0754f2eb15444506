-- Makes partitions for the parts of a time range that have none: one per UTC month, or one per UTC day. A month that
-- already has days is completed by days. A partition is made beside its table and then attached. Attaching locks the
-- default partition to the end of the transaction: statements that read it wait, inserts into other partitions do not.
-- Rows of the new partition's time are first moved there from the default one. If a lock is not available within a
-- second, or such a row still arrives in the default partition, rows of this time go on to the default one until the
-- next call. Returns how many were made.
create or replace function make_log_partitions_by(by_day boolean, since timestamptz, until_time timestamptz) returns integer
language plpgsql volatile set lock_timeout = '1s' set timezone = 'UTC' as $$
declare
  wanted record;
  columns text;
  made integer := 0;
begin
  if not pg_try_advisory_xact_lock(4071771012) then
    return made;
  end if;
  if by_day then
    perform drop_future_log_months(since);
  end if;
  for wanted in
    with there as materialized (select * from log_partitions()),
    months as (
      select t.log_table, t.storage, month, log_id_floor(month) as from_id, log_id_floor(month + interval '1 month') as to_id
      from log_tables t, generate_series(date_trunc('month', since), until_time, interval '1 month') month
    ), spans as (
      select m.*, to_char(month, '_YYYY_MM') as suffix from months m
      where not by_day and not exists (
        select from there p where p.log_table = m.log_table and p.from_id < m.to_id and p.to_id > m.from_id)
      union all
      select m.log_table, m.storage, m.month, log_id_floor(day), log_id_floor(day + interval '1 day'),
             to_char(day, '_YYYY_MM_DD')
      from months m
      cross join lateral generate_series(greatest(month, date_trunc('day', since)),
                                         least(month + interval '1 month' - interval '1 day', until_time),
                                         interval '1 day') day
      where by_day or exists (
        select from there p where p.log_table = m.log_table and p.from_id < m.to_id and p.to_id > m.from_id)
    )
    select log_table, storage, log_table || suffix as part, from_id, to_id from spans s
    where not exists (
      select from there p where p.log_table = s.log_table and p.from_id < s.to_id and p.to_id > s.from_id)
    order by from_id, log_table
  loop
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
comment on function make_log_partitions_by is 'Makes the partitions of the request logs that a time lacks, by months or by days.';
