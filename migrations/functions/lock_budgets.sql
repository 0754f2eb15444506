-- For who changes budgets: of several scopes at once before the first of them is changed, so that two writers do not
-- wait for each other in a circle.
create or replace function lock_budgets(scopes text[]) returns void
language plpgsql volatile as $$
begin
  perform lock_scopes(scopes);
end $$;
comment on function lock_budgets is 'Takes the locks of scopes whose budgets change, to the end of the transaction.';
