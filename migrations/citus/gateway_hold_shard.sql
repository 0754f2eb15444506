-- Whether the shard is on this node. If it is, it stays there to the end of the transaction: a shard move takes the
-- same lock exclusively before it switches from the old placement to the new one, and rows written into the old one
-- after that would be lost. The lock is taken first, because only then does the placement that is read stay valid.
create or replace function gateway_hold_shard(shard bigint) returns boolean
language plpgsql volatile as $$
declare
  is_held constant boolean := lock_shard_metadata(5, array[shard]) is not null;
begin
  return exists (
    select from pg_dist_placement p join pg_dist_local_group g on g.groupid = p.groupid where p.shardid = shard);
end $$;
comment on function gateway_hold_shard is 'Keeps a shard on this node to the end of the transaction; false where it is on another.';
