-- In the place of `end_rate_limit_holds` on shards: subjects of rate limits are of many owners, so that their windows and
-- holds are on the coordinator. Whoever settles there ends what the request holds after it has settled here.
create or replace function gateway_holds_elsewhere(items settlement_record[], releases uuid[], t timestamptz) returns void
language plpgsql volatile as $$
begin
end $$;
comment on function gateway_holds_elsewhere is 'Ends no holds: they are on another node.';
