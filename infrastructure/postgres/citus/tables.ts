/**
 * Where each table is on Citus. What a request writes is distributed by the ownership scope, and lies together: all rows
 * of a scope are on one node, in tables of one shard. What these rows are read with, there or in reports, is a reference
 * table, which every node has whole. Who serves, and whether rows can be written, each node knows for itself
 * (`gateway_make_node_tables`). All others stay on the coordinator, and nothing on a worker reads them.
 */

/** What every node has whole, in an order in which no table comes before one that it refers to. */
export const referenceTables = [
  'users',
  'teams',
  'service_accounts',
  'team_memberships',
  'api_keys',
  'user_budgets',
  'team_budgets',
] as const;

/** The first of the distributed tables, which the others lie with: its shards name the groups. */
export const leadingTable = 'usage_daily_totals';

/** The column that tables are distributed by. */
export const distributionColumn = 'ownership_scope_key';

export const distributedTables = [
  leadingTable,
  'usage_cost_events',
  'usage_rollups',
  'blocked_answers',
  'budget_window_closures',
  'budget_alerts',
  'budget_alert_deliveries',
  'request_claims',
  'harness_rollups',
  'tool_cardinality_rollups',
  'request_logs',
  'request_log_attempts',
  'request_log_tags',
  'request_log_payloads',
] as const;
