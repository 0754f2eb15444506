create or replace function probe_writing(pages integer) returns void
language plpgsql volatile as $$
begin
  if current_setting('transaction_read_only')::boolean then
    raise exception 'the database is read-only' using errcode = 'read_only_sql_transaction';
  end if;
  if pg_relation_size('write_probes') > 1048576 then
    begin
      -- A dump holds a lock on every table to its end: no beat may wait for it. Until then the table grows.
      lock table write_probes in access exclusive mode nowait;
      truncate write_probes;
    exception when lock_not_available then
      null;
    end;
  end if;
  begin
    insert into write_probes select repeat('x', 8000) from generate_series(1, pages);
    raise exception 'room was there' using errcode = 'GWP01';
  exception when sqlstate 'GWP01' then
    null;
  end;
end $$;
comment on function probe_writing is 'Fails as a settlement would: in a database that only reads, and where the disk has no room for so many pages.';
