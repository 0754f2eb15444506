import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'slonik';
import { databaseFault, sqlState } from '../database-fault.ts';
import type { Distribution } from '../distribution.ts';
import { type GatewayProcess, gatewayProcess, type WriteTrouble } from '../gateway-process.ts';
import type { LedgerPlace } from '../ledger-place.ts';
import { openPool, type ServicePool } from '../pool.ts';
import { nodeUrl, withKeptPlans } from './node-url.ts';
import { movedState, shardSchema } from './shard-functions.ts';
import { type NodeAddress, readShards, type Shard } from './shard-map.ts';

/** A server of the cluster, as this process is connected to it. */
export interface ClusterNode {
  /** For people: `coordinator`, or the address of a worker. */
  readonly name: string;
  readonly pool: ServicePool;
  /** This process as registered with that server. */
  readonly process: GatewayProcess;
}

/** The nodes that hold the rows of owners. Each is queried directly: the coordinator has no part in the money path. */
export interface Cluster {
  readonly coordinator: ClusterNode;
  readonly shards: () => readonly Shard[];
  readonly nodes: () => readonly ClusterNode[];
  /** The current place of a shard. */
  readonly placeOf: (shardId: string) => LedgerPlace;
  /** The node that currently has a shard. */
  readonly nodeOf: (shardId: string) => ClusterNode;
  /** Closes the connections to workers; those to the coordinator are owned by the caller. */
  readonly end: () => Promise<void>;
}

/** The distribution of the rows, with or without a cluster. */
export const distributionOf = (cluster: Cluster | undefined): Distribution =>
  cluster === undefined ? 'none' : 'citus';

export interface ClusterOptions {
  /** Connections to each worker. */
  readonly maxConnections: number;
  /** Called when a node stops taking rows, and when it takes them again. */
  readonly onWriting: (node: string, trouble: WriteTrouble | undefined) => void;
  /** Maps a worker's URL, where the worker is not reachable at the address that Citus has for it. */
  readonly nodeUrl?: (url: string) => string;
}

/** How often a moved shard is looked up again, with this many milliseconds in between. */
const maxLooks = 20;
const lookMs = 100;
/** After a lost connection the shard map is read again, at most this often. */
const rereadMs = 1_000;

/** The servers, each with its own connections, opened when first needed. */
function openNodes(pool: ServicePool, url: string, options: ClusterOptions) {
  const { maxConnections, onWriting, nodeUrl: way = (direct) => direct } = options;
  const nodeOf = (name: string, connections: ServicePool, id?: string): ClusterNode => ({
    name,
    pool: connections,
    process: gatewayProcess(connections, { onWriting: (trouble) => onWriting(name, trouble), id }),
  });
  const coordinator = nodeOf('coordinator', pool);
  const workers = new Map<string, ClusterNode>();
  return {
    coordinator,
    workers,
    at: async (address: NodeAddress): Promise<ClusterNode> => {
      if (address === 'coordinator') return coordinator;
      const name = `${address.host}:${address.port}`;
      const known = workers.get(name);
      if (known !== undefined) return known;
      const connections = await openPool(
        way(withKeptPlans(nodeUrl(url, address.host, address.port))),
        maxConnections,
      );
      const node = nodeOf(name, connections, coordinator.process.id);
      workers.set(name, node);
      return node;
    },
  };
}

/** The shard map, as last read from the coordinator. */
async function followShards(pool: ServicePool, nodeAt: (address: NodeAddress) => Promise<ClusterNode>) {
  let shards: readonly Shard[] = [];
  let nodes = new Map<string, ClusterNode>();
  let readAt = 0;
  const read = async (): Promise<void> => {
    const found = await readShards(pool);
    const next = new Map<string, ClusterNode>();
    // Sequentially, so that two shards on a new node share one pool.
    for (const { id, node } of found) next.set(id, await nodeAt(node));
    shards = found;
    nodes = next;
  };
  let reading: Promise<void> | undefined;
  const reread = (): Promise<void> => {
    reading ??= read().finally(() => {
      reading = undefined;
      readAt = performance.now();
    });
    return reading;
  };
  await reread();
  return {
    shards: () => shards,
    reread,
    isOld: () => performance.now() - readAt > rereadMs,
    nodeOf: (shardId: string): ClusterNode => {
      const node = nodes.get(shardId);
      if (node !== undefined) return node;
      throw new Error(`shard ${shardId} no longer exists: run gateway migrate, and restart`);
    },
  };
}

/** A shard wherever it currently is: a statement sent to a node that the shard has left is sent again. */
const placeIn = (
  { nodeOf, reread, isOld }: Awaited<ReturnType<typeof followShards>>,
  shardId: string,
): LedgerPlace => ({
  named: (name) => sql.identifier([shardSchema(shardId), name]),
  query: async (statement) => {
    for (let looks = 1; ; looks += 1) {
      try {
        return await statement(nodeOf(shardId).pool);
      } catch (error) {
        if (sqlState(error) !== movedState) {
          // The node may be a different server by now; rereading the map lets later statements find it.
          if (databaseFault(error) === 'connection' && isOld()) reread().catch(() => undefined);
          throw error;
        }
        if (looks === maxLooks) throw error;
        await sleep(looks === 1 ? 0 : lookMs);
        await reread();
      }
    }
  },
});

/** Connects to a cluster and reads where its shards are. `pool` leads to the coordinator, and `url` is its URL. */
export async function openCluster(pool: ServicePool, url: string, options: ClusterOptions): Promise<Cluster> {
  const { coordinator, workers, at } = openNodes(pool, url, options);
  const followed = await followShards(pool, at);
  const { shards, nodeOf } = followed;
  /** One value for each shard, because places are compared when items are grouped by place. */
  const places = new Map<string, LedgerPlace>();
  return {
    coordinator,
    shards,
    nodes: () => [coordinator, ...workers.values()],
    placeOf: (shardId) => {
      const place = places.get(shardId) ?? placeIn(followed, shardId);
      places.set(shardId, place);
      return place;
    },
    nodeOf,
    end: async () => {
      await Promise.all([...workers.values()].map((node) => node.pool.end()));
    },
  };
}

/**
 * This process as seen by the whole cluster: it counts as alive if the coordinator knows it. A worker that is away gets
 * the beat once it is back; `onAway` is called when a worker goes away.
 */
export function clusterProcess(
  { coordinator, nodes }: Pick<Cluster, 'coordinator' | 'nodes'>,
  onAway: (node: string, error: unknown) => void,
): GatewayProcess {
  const { process } = coordinator;
  const away = new Set<string>();
  const beating = new Set<ClusterNode>();
  const beatOf = async (node: ClusterNode): Promise<void> => {
    if (beating.has(node)) return;
    beating.add(node);
    try {
      await node.process.beat();
      away.delete(node.name);
    } catch (error) {
      if (!away.has(node.name)) onAway(node.name, error);
      away.add(node.name);
    } finally {
      beating.delete(node);
    }
  };
  return {
    ...process,
    beat: async () => {
      // Workers are not awaited: a beat may take as long as a connection that cannot be established.
      for (const node of nodes()) if (node !== coordinator) void beatOf(node);
      await process.beat();
    },
  };
}
