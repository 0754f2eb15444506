-- Citus brings types to the workers with functions that take them as arguments, but does not see types within function
-- bodies.
create or replace function gateway_types(settlement_record, budget_standing) returns void
language plpgsql immutable as $$
begin
end $$;
comment on function gateway_types is 'Carries types to every node.';
