import type * as t from 'io-ts';
import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik';
import type { ReportSnapshot, Reports } from '../../application/ports/reports.ts';
import type { HarnessBucketCount } from '../../domain/reports/harness-usage.ts';
import type { UserModelUsage, UserToolCounts } from '../../domain/reports/leaderboard.ts';
import type { CohortSpend } from '../../domain/reports/spend-by-day.ts';
import { type LedgerUsage, type NamedOwner, ownerKey } from '../../domain/reports/spend-report.ts';
import type { Distribution } from './distribution.ts';
import * as statements from './report-statements.ts';
import { onSnapshot } from './snapshot.ts';

/** Reports over the rollups, never over whole tables. Each is read in one transaction with one snapshot. */
export const reportStore = (pool: DatabasePool, distribution: Distribution): Reports => ({
  onSnapshot: (read) =>
    onSnapshot(pool, async (connection) => read(await snapshot(connection, distribution)), settings),
});

/** Groups are few, but the planner expects many owners, and would sort half a million rows within 4 MB of memory. */
const settings = sql.unsafe`set local work_mem = '32MB'`;

async function snapshot(connection: CommonQueryMethods, distribution: Distribution): Promise<ReportSnapshot> {
  const { now, logs_since } = await connection.one(statements.moment());
  return {
    now,
    logsSince: logs_since ?? undefined,
    ledgerUsage: async (window, ownerKind) =>
      ledgerUsage(await connection.any(statements.ledgerUsage(window, ownerKind, distribution))),
    ownerSpend: async (window, owners) =>
      (await connection.any(statements.ownerSpend(window, idsOf(owners)))).flatMap(ownerSpend),
    modelSpend: async (window, ownerKind, modelKeys) =>
      (await connection.any(statements.modelSpend(window, ownerKind, modelKeys))).map((found) => ({
        bucketStart: found.bucket_start,
        key: found.model_key,
        spend: found.spend,
      })),
    userModelUsage: async (window) =>
      (await connection.any(statements.userModelUsage(window))).map(userModelUsage),
    userSpend: async (window, userIds) =>
      (await connection.any(statements.userSpend(window, userIds))).map((found) => ({
        bucketStart: found.bucket_start,
        userId: found.user_id,
        spend: found.spend,
      })),
    toolCounts: async (window, userIds) =>
      (await connection.any(statements.toolCounts(window, userIds))).map(userToolCounts),
    harnessCounts: async (window) =>
      (await connection.any(statements.harnessCounts(window))).map(harnessCount),
  };
}

const idsOf = (owners: readonly NamedOwner[]) => ({
  userIds: owners.flatMap((each) => (each.ownerKind === 'user' ? [each.ownerId] : [])),
  teamIds: owners.flatMap((each) => (each.ownerKind === 'team' ? [each.ownerId] : [])),
});

function ownerSpend(found: {
  readonly bucket_start: Date;
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly spend: bigint;
}): readonly CohortSpend[] {
  const ownerId = found.user_id ?? found.team_id;
  if (ownerId === null) return [];
  const key = ownerKey({ ownerKind: found.user_id === null ? 'team' : 'user', ownerId });
  return [{ bucketStart: found.bucket_start, key, spend: found.spend }];
}

function ledgerUsage(rows: readonly t.TypeOf<typeof statements.ledgerUsageRow>[]): LedgerUsage {
  const cuts = rows.map((found) => ({
    found,
    usage: {
      pricingStatus: found.pricing_status,
      requestCount: Number(found.request_count),
      cost: found.cost_picousd,
    },
  }));
  return {
    buckets: cuts.flatMap(({ found: { bucket_start }, usage }) =>
      bucket_start === null ? [] : [{ bucketStart: bucket_start, ...usage }],
    ),
    owners: cuts.flatMap(({ found, usage }) => ownerOf(found).map((owner) => ({ ...owner, ...usage }))),
    models: cuts.flatMap(({ found: { model_key }, usage }) =>
      model_key === null ? [] : [{ modelKey: model_key, ...usage }],
    ),
  };
}

/** An owner whose row is gone is shown by its id, so that its spend stays visible. */
function ownerOf(found: t.TypeOf<typeof statements.ledgerUsageRow>): readonly NamedOwner[] {
  const ownerId = found.user_id ?? found.team_id;
  if (ownerId === null) return [];
  const ownerKind = found.user_id === null ? 'team' : 'user';
  return [{ ownerKind, ownerId, ownerName: found.owner_name ?? ownerId }];
}

const userModelUsage = (found: t.TypeOf<typeof statements.userModelUsageRow>): UserModelUsage => ({
  userId: found.user_id,
  userName: found.user_name ?? found.user_id,
  modelKey: found.model_key,
  requestCount: Number(found.request_count),
  spend: found.spend,
});

const userToolCounts = (found: t.TypeOf<typeof statements.toolCountsRow>): UserToolCounts => ({
  userId: found.user_id,
  counts: {
    referencedMcpServer: { sum: found.referenced_mcp_server_sum, rows: found.referenced_mcp_server_rows },
    exposedTool: { sum: found.exposed_tool_sum, rows: found.exposed_tool_rows },
    invokedTool: { sum: found.invoked_tool_sum, rows: found.invoked_tool_rows },
    filteredTool: { sum: found.filtered_tool_sum, rows: found.filtered_tool_rows },
  },
});

const harnessCount = (found: t.TypeOf<typeof statements.harnessCountsRow>): HarnessBucketCount => ({
  bucketStart: found.bucket_start,
  harnessKey: found.agent_harness_key,
  harnessLabel: found.agent_harness_label,
  requestCount: Number(found.request_count),
});
