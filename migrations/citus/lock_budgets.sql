-- Each lock is taken within this transaction on the node that has the scope, because everyone who judges by the budget
-- takes it there. The order is the same as everywhere. There is one statement per scope, because Citus forwards a call
-- only if its argument is a constant.
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
