import type { DatabasePool } from 'slonik';
import type { DatabaseConfig } from '../infrastructure/config/database-config.ts';
import { causeOf, type Log } from '../infrastructure/logging.ts';
import { type Cluster, clusterProcess, openCluster } from '../infrastructure/postgres/citus/cluster.ts';
import { placeOfScope } from '../infrastructure/postgres/citus/sharded-ledger.ts';
import {
  type GatewayProcess,
  gatewayProcess,
  type WriteTrouble,
} from '../infrastructure/postgres/gateway-process.ts';
import { type LedgerPlaces, oneDatabase } from '../infrastructure/postgres/ledger-place.ts';
import { openPool, type ServicePool } from '../infrastructure/postgres/pool.ts';
import { openReadReplica, type ReadReplica } from '../infrastructure/postgres/read-replica.ts';
import type { Database } from './database.ts';

/** The connections of a process to its database. */
export interface DatabasePools {
  readonly pool: ServicePool;
  /** The nodes that hold the rows of owners, on a Citus cluster; `pool` leads to its coordinator. */
  readonly cluster: Cluster | undefined;
  /** A read replica of that database. */
  readonly replica: ReadReplica | undefined;
}

export async function openPools(
  database: Database,
  settings: DatabaseConfig,
  log: Log,
): Promise<DatabasePools> {
  const pool = await openPool(database.url, settings.maxConnections);
  const replica = await replicaOf(settings);
  if (database.distribution === 'none') return { pool, replica, cluster: undefined };
  const cluster = await clusterOf(pool, database.url, settings.maxConnections, log).catch(
    async (error: unknown) => {
      await pool.end();
      throw error;
    },
  );
  return { pool, replica, cluster };
}

/** Pools connect on first use, so an unreachable replica does not prevent startup. */
const replicaOf = async (settings: DatabaseConfig): Promise<ReadReplica | undefined> =>
  settings.kind === 'embedded' || settings.readUrl === undefined
    ? undefined
    : openReadReplica(settings.readUrl, settings.maxConnections);

/** This process as the database knows it. The log says when rows cannot be written, and when they can be again. */
export const processOf = (pool: DatabasePool, cluster: Cluster | undefined, log: Log): GatewayProcess =>
  cluster === undefined
    ? gatewayProcess(pool, { onWriting: (trouble) => tellWriting(log, trouble) })
    : clusterProcess(cluster, (node, error) =>
        log.error(
          { node, error: causeOf(error) },
          'the heartbeat of this process could not be written to a node of the database',
        ),
      );

/** The nodes of a Citus cluster, each with connections of its own. */
const clusterOf = (pool: ServicePool, url: string, maxConnections: number, log: Log): Promise<Cluster> =>
  openCluster(pool, url, {
    maxConnections,
    onWriting: (node, trouble) => tellWriting(log, trouble, { node }),
  });

/** Where the rows of each owner are. */
export const placesOf = (pool: ServicePool, cluster: Cluster | undefined): LedgerPlaces =>
  cluster === undefined ? oneDatabase(pool) : placeOfScope(cluster);

const tellWriting = (log: Log, trouble: WriteTrouble | undefined, where: object = {}): void =>
  trouble === undefined
    ? log.info(where, 'the database accepts writes again')
    : log.error(
        { ...where, cause: trouble },
        'the database accepts no writes: owners with a hard limit are refused',
      );
