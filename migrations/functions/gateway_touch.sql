create or replace function gateway_touch() returns void
language sql volatile as $$ update gateway_state set revision = revision + 1 $$;
comment on function gateway_touch is 'Moves the revision on, in the transaction of a change of identity or catalogue: every replica takes it up.';
