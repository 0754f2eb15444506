-- Runs on the node that has the scope. A shard that moves waits for the end of the transaction: whoever sent the call has
-- its metadata locked.
create or replace function gateway_lock_scope(scope text) returns boolean
language plpgsql volatile as $$
begin
  perform lock_scopes(array[scope]);
  return true;
end $$;
comment on function gateway_lock_scope is 'Takes the lock of a scope on its node.';
