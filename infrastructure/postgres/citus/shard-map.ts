import * as t from 'io-ts';
import { type CommonQueryMethods, sql } from 'slonik';
import { row } from '../pool.ts';
import { leadingTable } from './tables.ts';
import { textHash } from './text-hash.ts';

/** The address of a node, or `coordinator` for the node that the URL leads to. */
export type NodeAddress = 'coordinator' | { readonly host: string; readonly port: number };

/** A part of the owners, and the node that has their rows. */
export interface Shard {
  readonly id: string;
  /** The lowest and the highest hash of its scopes. */
  readonly from: number;
  readonly to: number;
  readonly node: NodeAddress;
}

const shardRow = t.type({
  id: t.string,
  from: t.number,
  to: t.number,
  group_id: t.number,
  host: t.string,
  port: t.number,
});

/** The shards in the order of their hashes, as the coordinator currently has them. */
export async function readShards(connection: CommonQueryMethods): Promise<readonly Shard[]> {
  const rows = await connection.any(sql.type(row(shardRow))`
    select s.shardid::text as id, s.shardminvalue::integer as from, s.shardmaxvalue::integer as to,
           n.groupid as group_id, n.nodename as host, n.nodeport as port
    from pg_dist_shard s
    join pg_dist_placement p on p.shardid = s.shardid
    join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
    where s.logicalrelid = ${leadingTable}::regclass
    order by s.shardminvalue::integer
  `);
  return rows.map(({ id, from, to, group_id, host, port }) => ({
    id,
    from,
    to,
    node: group_id === 0 ? 'coordinator' : { host, port },
  }));
}

/** The shard of a scope. */
export function shardOf(shards: readonly Shard[], scope: string): Shard {
  const hash = textHash(scope);
  const found = shards.find(({ from, to }) => from <= hash && hash <= to);
  if (found === undefined) throw new Error('no shard has this scope');
  return found;
}
