-- Called by `gateway_admit_limited`, which on the coordinator is asked about rate limits alone. Owners and claims are
-- admitted on their shards, by copies of the function in `functions/`.
create or replace function gateway_admit(scopes json, asks json, claim_seconds integer, process uuid default null) returns json
language plpgsql volatile as $$
begin
  if json_array_length(scopes) + json_array_length(asks) > 0 then
    raise exception 'owners are admitted on the shards that they are on';
  end if;
  return json_build_object(
    'database_time', gateway_now(), 'read_only', current_setting('transaction_read_only')::boolean,
    'budgets', '[]'::json, 'accounted', '[]'::json, 'unclaimed', '[]'::json);
end $$;
comment on function gateway_admit is 'Admission without owners.';
