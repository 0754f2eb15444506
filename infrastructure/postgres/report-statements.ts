import * as t from 'io-ts';
import { type FragmentSqlToken, sql } from 'slonik';
import type { Window } from '../../domain/shared/window.ts';
import type { OwnerKind } from '../../domain/reports/spend-report.ts';
import { timestamp, int8, nullable } from './codecs.ts';
import type { Distribution } from './distribution.ts';
import { row } from './pool.ts';

/** The statements of the reports. They read only rollups, each by a key that begins with the requested columns. */

const pricingStatus = t.keyof({ priced: null, legacy_estimated: null, unpriced: null, usage_missing: null });

const momentRow = t.type({ now: timestamp, logs_since: nullable(timestamp) });

export const moment = () => sql.type(row(momentRow))`
  select gateway_now() as now,
         (select occurred_at from request_logs order by occurred_at, request_log_id limit 1) as logs_since
`;

/** A row of one of three groupings of the same rollups: by bucket, by owner, or by model. */
export const ledgerUsageRow = t.type({
  bucket_start: nullable(timestamp),
  user_id: nullable(t.string),
  team_id: nullable(t.string),
  owner_name: nullable(t.string),
  model_key: nullable(t.string),
  pricing_status: pricingStatus,
  request_count: int8,
  cost_picousd: int8,
});

const owners = {
  all: sql.fragment`true`,
  user: sql.fragment`user_id is not null`,
  team: sql.fragment`user_id is null`,
} as const satisfies Record<OwnerKind, unknown>;

/** On Citus the rows are summed on their shards before they are grouped in several ways. */
export const ledgerUsage = (window: Window, ownerKind: OwnerKind, distribution: Distribution) => sql.type(
  row(ledgerUsageRow),
)`
  select g.bucket_start, g.user_id, case when g.user_id is null then g.team_id end as team_id,
         coalesce(u.name, t.name) as owner_name, g.model_key, g.pricing_status, g.request_count, g.cost_picousd
  from (
    select bucket_start, user_id, team_id, model_key, pricing_status, sum(request_count) as request_count,
           sum(counted_picousd) as cost_picousd
    from ${rollupsWhere(sql.fragment`${inWindow(window)} and ${owners[ownerKind]}`, distribution)}
    group by pricing_status, grouping sets ((bucket_start), (user_id, team_id), (model_key))
  ) g
  left join users u on u.user_id = g.user_id
  left join teams t on t.team_id = g.team_id and g.user_id is null
`;

/** Rollups that meet a condition, as a fragment that follows `from`. */
export const rollupsWhere = (condition: FragmentSqlToken, distribution: Distribution): FragmentSqlToken =>
  distribution === 'none'
    ? sql.fragment`usage_rollups where ${condition}`
    : sql.fragment`
        (select bucket_start, ownership_scope_key, user_id, team_id, model_key, pricing_status,
                sum(request_count) as request_count, sum(counted_picousd) as counted_picousd
         from usage_rollups where ${condition} group by 1, 2, 3, 4, 5, 6 offset 0) rollups
      `;

const ownerSpendRow = t.type({
  bucket_start: timestamp,
  user_id: nullable(t.string),
  team_id: nullable(t.string),
  spend: int8,
});

/** The spend of these users, and of these teams with their service accounts. */
export const ownerSpend = (
  window: Window,
  { userIds, teamIds }: { readonly userIds: readonly string[]; readonly teamIds: readonly string[] },
) => sql.type(row(ownerSpendRow))`
  select bucket_start, user_id, case when user_id is null then team_id end as team_id,
         sum(counted_picousd) as spend
  from usage_rollups
  where ${inWindow(window)}
    and (user_id = any (${sql.array([...userIds], 'uuid')})
         or user_id is null and team_id = any (${sql.array([...teamIds], 'text')}))
  group by 1, 2, 3
`;

const modelSpendRow = t.type({ bucket_start: timestamp, model_key: t.string, spend: int8 });

export const modelSpend = (window: Window, ownerKind: OwnerKind, modelKeys: readonly string[]) => sql.type(
  row(modelSpendRow),
)`
  select bucket_start, model_key, sum(counted_picousd) as spend
  from usage_rollups
  where ${inWindow(window)} and ${owners[ownerKind]} and model_key = any (${sql.array([...modelKeys], 'text')})
  group by bucket_start, model_key
`;

export const userModelUsageRow = t.type({
  user_id: t.string,
  user_name: nullable(t.string),
  model_key: t.string,
  request_count: int8,
  spend: int8,
});

export const userModelUsage = (window: Window) => sql.type(row(userModelUsageRow))`
  select g.user_id, u.name as user_name, g.model_key, g.request_count, g.spend
  from (
    select user_id, model_key, sum(request_count) as request_count, sum(counted_picousd) as spend
    from usage_rollups
    where ${inWindow(window)} and user_id is not null
    group by user_id, model_key
  ) g
  left join users u on u.user_id = g.user_id
`;

const userSpendRow = t.type({ bucket_start: timestamp, user_id: t.string, spend: int8 });

export const userSpend = (window: Window, userIds: readonly string[]) => sql.type(row(userSpendRow))`
  select bucket_start, user_id, sum(counted_picousd) as spend
  from usage_rollups
  where ${inWindow(window)} and ownership_scope_key = any (${sql.array(
    userIds.map((id) => `user:${id}`),
    'text',
  )})
  group by bucket_start, user_id
`;

export const toolCountsRow = t.type({
  user_id: t.string,
  referenced_mcp_server_sum: int8,
  referenced_mcp_server_rows: int8,
  exposed_tool_sum: int8,
  exposed_tool_rows: int8,
  invoked_tool_sum: int8,
  invoked_tool_rows: int8,
  filtered_tool_sum: int8,
  filtered_tool_rows: int8,
});

export const toolCounts = (window: Window, userIds: readonly string[]) => sql.type(row(toolCountsRow))`
  select user_id,
         sum(referenced_mcp_server_sum) as referenced_mcp_server_sum,
         sum(referenced_mcp_server_rows) as referenced_mcp_server_rows,
         sum(exposed_tool_sum) as exposed_tool_sum, sum(exposed_tool_rows) as exposed_tool_rows,
         sum(invoked_tool_sum) as invoked_tool_sum, sum(invoked_tool_rows) as invoked_tool_rows,
         sum(filtered_tool_sum) as filtered_tool_sum, sum(filtered_tool_rows) as filtered_tool_rows
  from tool_cardinality_rollups
  where user_id = any (${sql.array([...userIds], 'uuid')}) and ${inWindow(window)}
  group by user_id
`;

export const harnessCountsRow = t.type({
  bucket_start: timestamp,
  agent_harness_key: t.string,
  agent_harness_label: t.string,
  request_count: int8,
});

/** A bucket whose logs were purged sums to zero and is left out. */
export const harnessCounts = (window: Window) => sql.type(row(harnessCountsRow))`
  select bucket_start, agent_harness_key, max(agent_harness_label) as agent_harness_label,
         sum(request_count) as request_count
  from harness_rollups
  where ${inWindow(window)}
  group by bucket_start, agent_harness_key
  having sum(request_count) > 0
`;

const inWindow = ({ from, until }: Window) => sql.fragment`
  bucket_start >= ${from.toISOString()}::timestamptz and bucket_start < ${until.toISOString()}::timestamptz
`;
