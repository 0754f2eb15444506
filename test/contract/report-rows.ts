import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from '@jest/globals';
import { testDistribution } from '../support/citus-database.ts';
import type { Reports } from '../../application/ports/reports.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import {
  countsTowardSpend,
  type PricingStatus,
  type UsageCost,
} from '../../domain/ledger/usage-cost-event.ts';
import type { Tally } from '../../domain/reports/spend-report.ts';
import type { AgentHarness } from '../../domain/request-log/agent-harness.ts';
import type { RequestLog } from '../../domain/request-log/request-log.ts';
import { openPool, type ServicePool } from '../../infrastructure/postgres/pool.ts';
import { reportStore } from '../../infrastructure/postgres/report-store.ts';
import { aRecord, type Query, scopeOf, userIdOf } from './ledger-bench.ts';
import { openSettlementOf } from './settle-alone.ts';

/** Reports of the suite's database. */
export function withReports(url: () => string): {
  readonly reports: Reports;
  readonly pool: () => ServicePool;
} {
  let pool: ServicePool | undefined;
  beforeAll(async () => {
    pool = await openPool(url(), 2);
  });
  afterAll(async () => pool?.end());
  return {
    pool: () => pool!,
    reports: { onSnapshot: (read) => reportStore(pool!, testDistribution()).onSnapshot(read) },
  };
}

export const harness = (key: string): AgentHarness => ({ key, label: key.toUpperCase() });

interface LogFacts
  extends Partial<Pick<RequestLog, 'statusCode' | 'errorCode' | 'latencyMs' | 'firstTokenMs'>> {
  readonly harness?: AgentHarness;
  readonly exposedToolCount?: number | undefined;
  readonly invokedToolCount?: number | undefined;
}

/** The settlement of one request, with the columns of its log row that reports read. */
export function aRequest(caller: Caller, cost: UsageCost, modelKey: string, facts: LogFacts = {}) {
  const record = aRecord(caller, cost, { modelKey });
  return { ...record, logged: { ...record.logged, log: { ...record.logged.log, ...facts } } };
}

export const usageMissing: UsageCost = { pricingStatus: 'usage_missing' };

/** A row of the ledger, with which reports are compared. */
export interface RawRow {
  readonly userId: string | undefined;
  readonly teamId: string | undefined;
  readonly modelKey: string;
  readonly status: PricingStatus;
  readonly cost: bigint;
  /** Microseconds since the epoch. */
  readonly at: bigint;
}

export async function rawRows(query: Query): Promise<readonly RawRow[]> {
  const rows = await query<Record<'user_id' | 'team_id' | 'model_key' | 'status' | 'cost' | 'at', string>>(
    `select user_id, team_id, model_key, pricing_status as status, coalesce(cost_picousd, 0)::text as cost,
            (extract(epoch from occurred_at) * 1000000)::bigint::text as at from usage_cost_events`,
  );
  return rows.map((row) => ({
    userId: row.user_id ?? undefined,
    teamId: row.team_id ?? undefined,
    modelKey: row.model_key,
    status: row.status as PricingStatus,
    cost: BigInt(row.cost),
    at: BigInt(row.at),
  }));
}

const microsOf = (date: Date): bigint => BigInt(date.getTime()) * 1000n;

export const within = (rows: readonly RawRow[], from: Date, hours: number): readonly RawRow[] =>
  rows.filter(({ at }) => at >= microsOf(from) && at < microsOf(from) + BigInt(hours) * 3_600_000_000n);

export const spendOf = (rows: readonly RawRow[]): bigint =>
  rows.reduce((sum, { status, cost }) => (countsTowardSpend[status] ? sum + cost : sum), 0n);

export const tallyOf = (rows: readonly RawRow[]): Tally => {
  const countOf = (status: PricingStatus): number => rows.filter((row) => row.status === status).length;
  return {
    requestCount: rows.length,
    spend: spendOf(rows),
    counts: {
      priced: countOf('priced'),
      legacy_estimated: countOf('legacy_estimated'),
      unpriced: countOf('unpriced'),
      usage_missing: countOf('usage_missing'),
    },
  };
};

export const tallyIn = ({ requestCount, spend, counts }: Tally): Tally => ({ requestCount, spend, counts });

export const grouped = (
  rows: readonly RawRow[],
  keyOf: (row: RawRow) => string | undefined,
): Record<string, Tally> => {
  const keys = new Set(rows.flatMap((row) => keyOf(row) ?? []));
  return Object.fromEntries([...keys].map((key) => [key, tallyOf(rows.filter((row) => keyOf(row) === key))]));
};

/** Differences between the rollups of the request logs and the rows themselves; empty if they are equal. */
export const logRollupDifferences = (query: Query) =>
  query(`
    select * from (
      select bucket_start, agent_harness_key as key, sum(request_count) as n, 0 as a, 0 as b, 0 as c, 0 as d
      from harness_rollups group by 1, 2 having sum(request_count) <> 0
      union all
      select bucket_start, user_id::text, -1, sum(exposed_tool_sum), sum(exposed_tool_rows), sum(invoked_tool_sum),
             sum(invoked_tool_rows)
      from tool_cardinality_rollups group by 1, 2
    ) rollups
    full join (
      select rollup_bucket(occurred_at) as bucket_start, agent_harness_key as key, count(*) as n, 0 as a, 0 as b,
             0 as c, 0 as d
      from request_logs where agent_harness_key is not null group by 1, 2
      union all
      select rollup_bucket(occurred_at), user_id::text, -1, coalesce(sum(exposed_tool_count), 0),
             count(exposed_tool_count), coalesce(sum(invoked_tool_count), 0), count(invoked_tool_count)
      from request_logs where user_id is not null group by 1, 2
    ) logs
    using (bucket_start, key, n, a, b, c, d)
    where rollups is null or logs is null`);

/**
 * Settles a row that this release does not write: an estimate of an earlier one. `url` is that of the suite's
 * database.
 */
export async function settleEstimate(
  url: string,
  caller: Caller,
  modelKey: string,
  cost: bigint,
  at?: Date,
): Promise<void> {
  const row = {
    ord: 1,
    charged: true,
    request_log_id: randomUUID(),
    request_id: randomUUID(),
    scope: scopeOf(caller),
    api_key_id: caller.apiKeyId,
    user_id: userIdOf(caller) === '' ? undefined : userIdOf(caller),
    team_id: caller.keyOwner.kind === 'user' ? undefined : caller.keyOwner.teamId,
    model_key: modelKey,
    provider_key: 'up',
    upstream_model: 'simulated-fast',
    prompt_tokens: 1,
    completion_tokens: 1,
    total_tokens: 2,
    pricing_status: 'legacy_estimated',
    cost_picousd: cost.toString(),
  };
  await (await openSettlementOf(url, caller, row, { at })).commit();
}
