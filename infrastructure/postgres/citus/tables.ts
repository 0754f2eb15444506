/**
 * The placement of each table on Citus. Tables that requests write to are distributed by the ownership scope and
 * colocated: all rows of a scope are on one node, in the tables of one shard. Tables that these rows are read with,
 * there or in reports, are reference tables, which every node has in full. Each node records for itself which processes
 * serve and whether rows can be written (`gateway_make_node_tables`). All others stay on the coordinator, and nothing
 * on a worker reads them.
 */

/** Tables that every node has in full, ordered so that each table comes after those that it refers to. */
export const referenceTables = [
  'users',
  'teams',
  'service_accounts',
  'team_memberships',
  'api_keys',
  'user_budgets',
  'team_budgets',
] as const;

/** The first of the distributed tables, with which the others are colocated: its shards name the groups. */
export const leadingTable = 'usage_daily_totals';

/** The column by which tables are distributed. */
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
