-- Stable, as Citus wants functions of statements that change rows: within one of them it may be read once. It is read
-- after a scope's lock is held by an expression of its own, which calls it each time. In PL/pgSQL, which evaluates a
-- lone expression without a plan of its own: as SQL each call would begin and end a query.
create or replace function gateway_now() returns timestamptz
language plpgsql stable as $$
begin
  return clock_timestamp();
end $$;
comment on function gateway_now is 'The one clock of money: read after a scope''s lock is held. Tests replace it.';
