-- Detaches one span of time, whose rows are all from before the cutoff, from all log tables at once.
-- `gateway_purge_detached_logs` then does the slow part, where nobody waits for it.
-- `behind` is the end of the span that was looked at last. `reached` is the end of this one; it is null if no span is
-- left, or if the tables were in use for too long. The rows of all spans that are left then go one by one. So do those
-- of a span that has later rows, for example of requests that ended after it: it stays attached.
-- Later rows are looked for in the time index alone, because the check is repeated while everybody waits. Rows that
-- arrive for a detached span go into the default partition.
create or replace function gateway_detach_log_partitions(cutoff timestamptz, behind uuid, out reached uuid)
language plpgsql volatile set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  tables text[];
  parts text[];
  logs text;
  is_over boolean;
begin
  select s.to_id, s.tables, s.parts, s.logs into reached, tables, parts, logs
  from (
    select to_id, array_agg(log_table order by log_table) as tables, array_agg(part order by log_table) as parts,
           max(part) filter (where log_table = 'request_logs') as logs
    from log_partitions() where to_id <= log_id_floor(cutoff) and to_id > behind group by from_id, to_id
  ) s
  where cardinality(s.parts) = (select count(*) from log_tables) order by s.to_id limit 1;
  if reached is null then
    return;
  end if;
  execute format('select not exists (select from %I where occurred_at >= $1)', logs) into is_over using cutoff;
  if not is_over then
    return;
  end if;
  if not lock_log_tables(tables || parts, 10) then
    reached := null;
    return;
  end if;
  execute format('select not exists (select from %I where occurred_at >= $1)', logs) into is_over using cutoff;
  if is_over then
    for at in 1 .. cardinality(parts) loop
      execute format('alter table %I detach partition %I', tables[at], parts[at]);
      execute format('alter table %I rename to %I', parts[at], 'purged_' || parts[at]);
    end loop;
  end if;
end $$;
comment on function gateway_detach_log_partitions is 'Takes out of the request logs the next partitions whose rows are all from before the cutoff.';
