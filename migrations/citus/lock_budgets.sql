-- Each lock is taken on the node that has the scope, in this transaction: there everybody takes it who judges by the
-- budget. In the order of all others. A statement is made for each, since Citus sends a call on for a constant alone.
create or replace function lock_budgets(scopes text[]) returns void
language plpgsql volatile as $$
declare
  scope text;
begin
  for scope in select distinct on (hashtext(s)) s from unnest(scopes) s order by hashtext(s) loop
    execute format('select * from gateway_lock_scope(%L)', scope);
  end loop;
end $$;
comment on function lock_budgets is 'Takes the locks of scopes whose budgets change, to the end of the transaction.';
