-- For transactions that change budgets: all their scopes are locked before the first change, so that two writers cannot
-- deadlock.
create or replace function lock_budgets(scopes text[]) returns void
language plpgsql volatile as $$
begin
  perform lock_scopes(scopes);
end $$;
comment on function lock_budgets is 'Takes the locks of scopes whose budgets change, to the end of the transaction.';
