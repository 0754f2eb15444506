import * as E from 'fp-ts/lib/Either.js';
import { sql } from 'slonik';
import type {
  Admission,
  AdmissionRequest,
  SettlementRecord,
  StoreUnavailable,
  Verdict,
} from '../../../application/ports/ledger.ts';
import { scopeOf } from '../../../domain/identity/caller.ts';
import { hasLimits } from '../admission.ts';
import { databaseFault } from '../database-fault.ts';
import type { LedgerPlaces } from '../ledger-place.ts';
import { recordRow } from '../ledger-rows.ts';
import {
  type EndHolds,
  ledgerOn,
  type LedgerOptions,
  type LedgerStore,
  ledgerStore,
} from '../ledger-store.ts';
import { storedJson } from '../stored-text.ts';
import { BatchTurns } from '../batch-turns.ts';
import { withinTime } from '../within-time.ts';
import type { Cluster, ClusterNode } from './cluster.ts';
import { shardOf } from './shard-map.ts';

type ShardedOptions = Omit<LedgerOptions, 'process' | 'ownersElsewhere'>;

/** The place of the rows of a scope. */
export const placeOfScope =
  (cluster: Cluster): LedgerPlaces =>
  (scope) =>
    cluster.placeOf(shardOf(cluster.shards(), scope).id);

/**
 * Admission and settlement over Citus: one ledger per node. Each of its statements is for one of the node's shards and
 * works there as on a single database. A node that is away therefore fails only the owners on it. Rate limits span many
 * owners, so they are counted on the coordinator: after the owner was admitted, and when the request is settled.
 */
export function shardedLedger(cluster: Cluster, options: ShardedOptions): LedgerStore {
  const ofNodes = new Map<ClusterNode, LedgerStore>();
  const placeOf = placeOfScope(cluster);
  const turns = { admissions: new BatchTurns(), settlements: new BatchTurns() };
  const ledgerOf = (scope: string): LedgerStore => {
    const node = cluster.nodeOf(shardOf(cluster.shards(), scope).id);
    const known = ofNodes.get(node);
    if (known !== undefined) return known;
    const made = ledgerOn(placeOf, { ...options, process: node.process }, turns);
    ofNodes.set(node, made);
    return made;
  };
  const limited = limitedOn(cluster, options);
  const ledgers = () => [limited.ledger, ...ofNodes.values()];
  return {
    waiting: () =>
      ledgers()
        .map((ledger) => ledger.waiting())
        .reduce((sum, each) => ({
          admission: sum.admission + each.admission,
          settlement: sum.settlement + each.settlement,
        })),
    cancelWaits: () => {
      for (const ledger of ledgers()) ledger.cancelWaits();
    },
    admit: async (request) => {
      const { limits: _, ...unlimited } = request;
      const admitted = await ledgerOf(scopeOf(request.caller)).admit(unlimited);
      return E.isRight(admitted) && hasLimits(request) ? limited.admit(request, admitted.right) : admitted;
    },
    settle: async (record) => {
      const caller = record.charge?.caller ?? record.logged?.caller;
      if (caller === undefined) {
        // Before the release, because ending the claim also ends the holds, without counting tokens.
        await limited.ended(record, true);
        return releasedAnywhere(cluster, record, options);
      }
      const settled = await ledgerOf(scopeOf(caller)).settle(record);
      await limited.ended(record, E.isLeft(settled) || settled.right.kind !== 'journaled');
      return settled;
    },
  };
}

/** Rate limits, counted on the coordinator. */
function limitedOn(cluster: Cluster, options: ShardedOptions) {
  const { coordinator } = cluster;
  const ledger = ledgerStore(coordinator.pool, {
    ...options,
    process: coordinator.process,
    ownersElsewhere: true,
  });
  /** Requests that have holds. */
  const holding = new Set<string>();
  return {
    ledger,
    /** Counts a request whose owner was admitted. */
    admit: async (request: AdmissionRequest, admission: Admission) => {
      const counted = await ledger.admit({ ...request, claim: false });
      if (E.isLeft(counted)) {
        const { id } = shardOf(cluster.shards(), scopeOf(request.caller));
        if (request.claim) cluster.nodeOf(id).process.release(request.requestLogId);
        return counted;
      }
      const { limits, databaseTime } = counted.right;
      if (limits?.kind === 'admitted' && limits.held) holding.add(request.requestLogId);
      // The time of the minute in which the request was counted.
      return E.right({ ...admission, databaseTime, ...(limits === undefined ? {} : { limits }) });
    },
    /** Ends the holds of a request. The holds of a journaled record end later, when it is settled. */
    ended: async (record: SettlementRecord, isSettled: boolean): Promise<void> => {
      const { limited, release } = record;
      const isHeld = release !== undefined && holding.delete(release);
      if (!isSettled || release === undefined || !(isHeld || limited !== undefined)) return;
      const records = limited === undefined ? [] : [recordRow({ ...record, ...bare }, 1)];
      try {
        await endHolds(coordinator, records, release);
      } catch (error) {
        options.onFault(databaseFault(error), error);
        coordinator.process.release(release);
      }
    },
  };
}

const bare = { charge: undefined, logged: undefined };

/** A request that leaves no row has no known owner, so each node looks for its claim. */
async function releasedAnywhere(
  { nodes }: Cluster,
  { release }: SettlementRecord,
  { onFault }: Pick<ShardedOptions, 'onFault'>,
): Promise<E.Either<StoreUnavailable, Verdict>> {
  if (release === undefined) return E.right({ kind: 'recorded' });
  await Promise.all(
    nodes().map(async ({ pool, process }) => {
      try {
        const statement = sql.unsafe`select end_left_requests(array[${release}::uuid])`;
        await withinTime(pool, (connection) => connection.query(statement));
      } catch (error) {
        onFault(databaseFault(error), error);
        // Released with the next beat that reaches the node.
        process.release(release);
      }
    }),
  );
  return E.right({ kind: 'recorded' });
}

const endHolds = ({ pool }: ClusterNode, records: readonly object[], release: string) =>
  withinTime(pool, (connection) =>
    connection.query(sql.unsafe`
      select end_rate_limit_holds(
        array(select r from json_populate_recordset(null::settlement_record, ${storedJson(records)}::json) r),
        array[${release}::uuid], gateway_now())
    `),
  );

/** Ends the holds of a journaled record's request once the record is settled. */
export const endJournaledHolds =
  ({ coordinator }: Cluster): EndHolds =>
  async (record) => {
    const release = record['request_log_id'];
    if (typeof release === 'string') await endHolds(coordinator, [record], release);
  };
