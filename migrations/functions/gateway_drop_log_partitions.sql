-- What a purge has emptied goes, and its room with it: partitions of whole months before the cutoff. To drop one stops
-- everybody for a moment, so a table that is in use is left to the next purge. Returned is how many went.
create or replace function gateway_drop_log_partitions(cutoff timestamptz) returns integer
language plpgsql volatile set lock_timeout = '200ms' as $$
declare
  part record;
  is_empty boolean;
  dropped integer := 0;
begin
  for part in
    select t.log_table, c.relname
    from log_tables t
    join pg_inherits h on h.inhparent = t.log_table::regclass
    join pg_class c on c.oid = h.inhrelid
    where substring(pg_get_expr(c.relpartbound, c.oid) from $re$TO \('([^']+)'\)$re$)::uuid <= log_id_floor(cutoff)
    order by t.log_table, c.relname
  loop
    execute format('select not exists (select from %I)', part.relname) into is_empty;
    continue when not is_empty;
    begin
      execute format('lock table %I, %I in access exclusive mode', part.log_table, part.relname);
      execute format('select not exists (select from %I)', part.relname) into is_empty;
      if is_empty then
        execute format('drop table %I', part.relname);
        dropped := dropped + 1;
      end if;
    exception when lock_not_available then
      null;
    end;
  end loop;
  return dropped;
end $$;
comment on function gateway_drop_log_partitions is 'Drops the partitions of the request logs that are empty and lie before the cutoff.';
