-- Logical replication of all tables, by which servers are upgraded and moved, refuses each change of a row that it could
-- not find at the other end: it needs a key, and since PostgreSQL 18 one without generated columns (rule 42.18).
-- Admissions would wait behind a table that waits for a reader, such as a backup: so it waits a moment, and tries again.
create unique index rate_limits_subject_kind_id_idx on rate_limits (subject_kind, subject_id);
do $$
begin
  set local lock_timeout = '200ms';
  for tries in 1 .. 60 loop
    begin
      alter table rate_limits replica identity using index rate_limits_subject_kind_id_idx;
      exit;
    exception when lock_not_available then
      if tries = 60 then
        raise;
      end if;
      perform pg_sleep(0.3);
    end;
  end loop;
end $$;
