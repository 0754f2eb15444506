-- Whether the shard is on this node, where it then stays to the end of the transaction: whoever moves shards takes the
-- same lock for himself before he switches from the old place to the new one. Rows that were written into the old place
-- after that would be lost. The lock is taken first, for only then what is read of the place holds.
create or replace function gateway_hold_shard(shard bigint) returns boolean
language plpgsql volatile as $$
declare
  is_held constant boolean := lock_shard_metadata(5, array[shard]) is not null;
begin
  return exists (
    select from pg_dist_placement p join pg_dist_local_group g on g.groupid = p.groupid where p.shardid = shard);
end $$;
comment on function gateway_hold_shard is 'Keeps a shard on this node to the end of the transaction; false where it is on another.';
