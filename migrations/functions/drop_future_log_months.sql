-- Month partitions that were made ahead of time give way to day partitions: those of all log tables or of none, and
-- only while they are empty.
create or replace function drop_future_log_months(since timestamptz) returns void
language plpgsql volatile as $$
declare
  found record;
  is_empty boolean;
begin
  for found in
    select array_agg(log_table) as tables, array_agg(part) as parts,
           string_agg(format('not exists (select from %I)', part), ' and ') as emptiness,
           string_agg(quote_ident(part), ', ') as dropped
    from log_partitions() where from_id > log_id_floor(since) and part = log_table || substring(part from '_\d{4}_\d\d$')
    group by from_id, to_id
  loop
    execute 'select ' || found.emptiness into is_empty;
    continue when not is_empty or not lock_log_tables(found.tables || found.parts, 2);
    execute 'select ' || found.emptiness into is_empty;
    continue when not is_empty;
    execute 'drop table ' || found.dropped;
  end loop;
end $$;
comment on function drop_future_log_months is 'Drops the empty partitions of whole months that begin behind a time.';
