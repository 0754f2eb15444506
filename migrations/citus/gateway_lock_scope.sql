-- Runs on the node that has the scope. A shard move waits for the end of the transaction, because the sender of the
-- call holds the lock of the shard's metadata.
create or replace function gateway_lock_scope(scope text) returns boolean
language plpgsql volatile as $$
begin
  perform lock_scopes(array[scope]);
  return true;
end $$;
comment on function gateway_lock_scope is 'Takes the lock of a scope on its node.';
