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

/** A server of the cluster, as this process is connected with it. */
export interface ClusterNode {
  /** For people: `coordinator`, or the address of a worker. */
  readonly name: string;
  readonly pool: ServicePool;
  /** This process as that server knows it. */
  readonly process: GatewayProcess;
}

/** The nodes that the rows of owners are on. Each is asked by itself: the coordinator has no part in the money path. */
export interface Cluster {
  readonly coordinator: ClusterNode;
  readonly shards: () => readonly Shard[];
  readonly nodes: () => readonly ClusterNode[];
  /** Where a shard is at the moment. */
  readonly placeOf: (shardId: string) => LedgerPlace;
  /** The node that a shard is on at the moment. */
  readonly nodeOf: (shardId: string) => ClusterNode;
  /** Ends the connections to workers; those to the coordinator are somebody else's. */
  readonly end: () => Promise<void>;
}

/** How the rows lie for who is connected with a cluster, or with none. */
export const distributionOf = (cluster: Cluster | undefined): Distribution =>
  cluster === undefined ? 'none' : 'citus';

export interface ClusterOptions {
  /** Connections to each worker. */
  readonly maxConnections: number;
  /** Called when a node takes no rows, and when it does again. */
  readonly onWriting: (node: string, trouble: WriteTrouble | undefined) => void;
  /** The way to a worker, where it is not the address that Citus has of it. */
  readonly nodeUrl?: (url: string) => string;
}

/** A shard that moves is looked for so often, with so many milliseconds between. */
const maxLooks = 20;
const lookMs = 100;
/** After a lost connection the map of the shards is read again, at most so often. */
const rereadMs = 1_000;

/** The servers, each with connections of its own from when it is first needed. */
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

/** Where the shards are, as the coordinator said it last. */
async function followShards(pool: ServicePool, nodeAt: (address: NodeAddress) => Promise<ClusterNode>) {
  let shards: readonly Shard[] = [];
  let nodes = new Map<string, ClusterNode>();
  let readAt = 0;
  const read = async (): Promise<void> => {
    const found = await readShards(pool);
    const next = new Map<string, ClusterNode>();
    // One after the other: two shards of a node that is new have one pool.
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
      throw new Error(`there is no shard ${shardId} any more: run gateway migrate, and start again`);
    },
  };
}

/** A shard wherever it is: a statement that comes to a node that it has left is sent again. */
const placeIn = (
  { nodeOf, reread, isOld }: Awaited<ReturnType<typeof followShards>>,
  shardId: string,
): LedgerPlace => ({
  named: (name) => sql.identifier([shardSchema(shardId), name]),
  ask: async (statement) => {
    for (let looks = 1; ; looks += 1) {
      try {
        return await statement(nodeOf(shardId).pool);
      } catch (error) {
        if (sqlState(error) !== movedState) {
          // It may be another server by now: whoever comes next asks that one.
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

/** Reads where the shards are. `pool` leads to the coordinator, and `url` is its URL. */
export async function openCluster(pool: ServicePool, url: string, options: ClusterOptions): Promise<Cluster> {
  const { coordinator, workers, at } = openNodes(pool, url, options);
  const followed = await followShards(pool, at);
  const { shards, nodeOf } = followed;
  /** One value for each shard: whoever groups by places compares them. */
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
 * This process as the whole cluster knows it: it is there where its coordinator knows it. A worker that is away is told
 * of it when it is back; `onAway` hears of it.
 */
export function clusterProcess(
  { coordinator, nodes }: Pick<Cluster, 'coordinator' | 'nodes'>,
  onAway: (node: string, error: unknown) => void,
): GatewayProcess {
  const { process } = coordinator;
  const away = new Set<string>();
  const told = new Set<ClusterNode>();
  const beatOf = async (node: ClusterNode): Promise<void> => {
    if (told.has(node)) return;
    told.add(node);
    try {
      await node.process.beat();
      away.delete(node.name);
    } catch (error) {
      if (!away.has(node.name)) onAway(node.name, error);
      away.add(node.name);
    } finally {
      told.delete(node);
    }
  };
  return {
    ...process,
    beat: async () => {
      // Nobody waits for a worker: its beat may take as long as a connection that cannot be had.
      for (const node of nodes()) if (node !== coordinator) void beatOf(node);
      await process.beat();
    },
  };
}
