create or replace function log_partitions() returns table (log_table text, part text, from_id uuid, to_id uuid)
language sql stable as $$
  select p.log_table, p.part, substring(p.bound from $re$FROM \('([^']+)'\)$re$)::uuid,
         substring(p.bound from $re$TO \('([^']+)'\)$re$)::uuid
  from (
    select t.log_table, c.relname::text as part, pg_get_expr(c.relpartbound, c.oid) as bound
    from log_tables t
    join pg_inherits h on h.inhparent = t.log_table::regclass
    join pg_class c on c.oid = h.inhrelid
  ) p
  where p.bound <> 'DEFAULT'
$$;
comment on function log_partitions is 'The partitions of the request logs and the ids that each holds, without the default ones.';
