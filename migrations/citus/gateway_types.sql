-- Types go to the workers with the functions that have them as arguments; within bodies nobody sees them.
create or replace function gateway_types(settlement_record, budget_standing) returns void
language plpgsql immutable as $$
begin
end $$;
comment on function gateway_types is 'Carries types to every node.';
