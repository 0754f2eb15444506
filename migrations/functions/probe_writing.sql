create or replace function probe_writing(pages integer) returns void
language plpgsql volatile as $$
begin
  if current_setting('transaction_read_only')::boolean then
    raise exception 'the database is read-only' using errcode = 'read_only_sql_transaction';
  end if;
  if pg_relation_size('write_probes') > 1048576 then
    truncate write_probes;
  end if;
  begin
    insert into write_probes select repeat('x', 8000) from generate_series(1, pages);
    raise exception 'room was there' using errcode = 'GWP01';
  exception when sqlstate 'GWP01' then
    null;
  end;
end $$;
comment on function probe_writing is 'Fails as a settlement would: in a database that only reads, and where the disk has no room for so many pages.';
