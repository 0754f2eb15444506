import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import { nullable } from './codecs.ts';
import { openPool, row } from './pool.ts';

/** A replica from which reports and lists of records are read, instead of the database that is written. */
export interface ReadReplica {
  readonly pool: DatabasePool;
  /**
   * The time, in RFC 3339, up to which later reads see everything that was committed; null if the replica has replayed
   * nothing since its start.
   */
  readonly asOf: () => Promise<string | null>;
}

const asOfRow = t.type({ as_of: nullable(t.string) });

export async function openReadReplica(url: string, maxConnections: number): Promise<ReadReplica> {
  const pool = await openPool(url, maxConnections);
  return {
    pool,
    // A database that is not a replica is always current.
    asOf: () =>
      pool.oneFirst(sql.type(row(asOfRow))`
        select to_char(
          case when pg_is_in_recovery() then pg_last_xact_replay_timestamp() else clock_timestamp() end
            at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as as_of
      `),
  };
}
