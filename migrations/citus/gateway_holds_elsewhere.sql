-- Replaces `end_rate_limit_holds` on shards. A subject of rate limits may have many owners, so windows and holds are on
-- the coordinator. After a request is settled here, the gateway ends its holds there.
create or replace function gateway_holds_elsewhere(items settlement_record[], releases uuid[], t timestamptz) returns void
language plpgsql volatile as $$
begin
end $$;
comment on function gateway_holds_elsewhere is 'Ends no holds: they are on another node.';
