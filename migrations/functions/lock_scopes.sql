-- Locks are taken in expressions, because starting a statement takes longer than taking a lock.
create or replace function lock_scopes(scopes text[]) returns void
language plpgsql volatile as $$
declare
  lock_key integer;
  is_locked boolean;
begin
  if cardinality(scopes) = 1 then
    is_locked := pg_advisory_xact_lock(7206752, hashtext(scopes[1])) is not null;
    return;
  end if;
  for lock_key in select distinct hashtext(scope) from unnest(scopes) scope order by 1 loop
    is_locked := pg_advisory_xact_lock(7206752, lock_key) is not null;
  end loop;
end $$;
comment on function lock_scopes is 'The lock of the hard limit: held to the end of the transaction by whoever adds counted spend to a scope or changes its budget. Always taken in sorted order, so there is no deadlock.';
