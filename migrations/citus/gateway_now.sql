-- Stable, because Citus requires that of functions in statements that change rows: within one statement it may be
-- evaluated once. After a scope's lock is taken it is read by an expression of its own, which calls it each time. In
-- PL/pgSQL, because that evaluates a lone expression without a query: as SQL, each call would start and end one.
create or replace function gateway_now() returns timestamptz
language plpgsql stable as $$
begin
  return clock_timestamp();
end $$;
comment on function gateway_now is 'The one clock of money: read after a scope''s lock is held. Tests replace it.';
