-- Those that were made ahead give way to days, as long as nothing is in them.
create or replace function drop_future_log_months(since timestamptz) returns void
language plpgsql volatile set timezone = 'UTC' as $$
declare
  span record;
  part text;
  is_empty boolean;
begin
  for span in
    select array_agg(log_table order by log_table) as tables, array_agg(p.part order by log_table) as parts
    from log_partitions() p
    where from_id > log_id_floor(since) and p.part ~ '_\d{4}_\d\d$' and p.part !~ '_\d{4}_\d\d_\d\d$'
    group by from_id, to_id
  loop
    is_empty := true;
    foreach part in array span.parts loop
      if is_empty then
        execute format('select not exists (select from %I)', part) into is_empty;
      end if;
    end loop;
    if is_empty then
      perform drop_log_tables(span.tables, span.parts, 3);
    end if;
  end loop;
end $$;
comment on function drop_future_log_months is 'Drops the empty partitions of whole months that begin behind a time.';
