import { afterAll, beforeAll } from '@jest/globals';
import { testDistribution } from '../support/citus-database.ts';
import type { DatabasePool } from 'slonik';
import type { ListedRequestLog, RequestLogs } from '../../application/ports/request-logs.ts';
import { openPool } from '../../infrastructure/postgres/pool.ts';
import { requestLogsStore } from '../../infrastructure/postgres/request-logs-store.ts';
import type { Query } from './ledger-bench.ts';

/** A row with the columns that lists filter by; all others are the same in each row. */
export interface Row {
  readonly request_log_id: string;
  readonly request_id: string;
  readonly api_key_id: string | null;
  readonly user_id: string | null;
  readonly team_id: string | null;
  readonly service_account_id: string | null;
  readonly model_key: string | null;
  readonly provider_key: string | null;
  readonly status_code: number;
  readonly error_code: string | null;
  /** Status of its ledger row; null if there is none. */
  readonly pricing_status: string | null;
  readonly caller_service: string | null;
  readonly caller_component: string | null;
  readonly caller_env: string | null;
  readonly agent_harness_key: string | null;
  readonly occurred_at: string;
  readonly tags: Readonly<Record<string, string>>;
}

export const plainRow = {
  request_id: 'one',
  api_key_id: null,
  user_id: null,
  team_id: null,
  service_account_id: null,
  model_key: null,
  provider_key: null,
  status_code: 200,
  error_code: null,
  pricing_status: null,
  caller_service: null,
  caller_component: null,
  caller_env: null,
  agent_harness_key: null,
  tags: {},
};

export async function insertRows(query: Query, rows: readonly Row[]): Promise<void> {
  await query(
    `insert into request_logs (
       ownership_scope_key, request_log_id, request_id, api_key_id, user_id, team_id, service_account_id, model_key,
       provider_key, status_code, error_code, caller_service, caller_component, caller_env, agent_harness_key, occurred_at, latency_ms,
       metadata_json)
     select ownership_scope(user_id, coalesce(team_id, '')), r.*, 1, '{}' from json_to_recordset($1) r(
       request_log_id uuid, request_id text, api_key_id uuid, user_id uuid, team_id text, service_account_id text,
       model_key text, provider_key text, status_code integer, error_code text, caller_service text, caller_component text,
       caller_env text, agent_harness_key text, occurred_at timestamptz)`,
    [JSON.stringify(rows)],
  );
  await query(
    `insert into request_log_tags (
       request_log_id, ownership_scope_key, tag_key, tag_value, list_bucket, status_code, model_key)
     select l.request_log_id, l.ownership_scope_key, tag.key, tag.value, l.list_bucket, l.status_code, l.model_key
     from json_to_recordset($1) r(request_log_id uuid, tags jsonb)
     join request_logs l using (request_log_id) cross join lateral jsonb_each_text(r.tags) tag`,
    [JSON.stringify(rows)],
  );
  await query(
    `insert into usage_cost_events (
       request_log_id, ownership_scope_key, request_id, model_key, provider_key, upstream_model, pricing_status,
       prompt_tokens, completion_tokens, total_tokens, cost_picousd, occurred_at)
     select l.request_log_id, l.ownership_scope_key, l.request_log_id::text, 'm', 'p', 'm', r.pricing_status, 1, 1, 2, 1, l.occurred_at
     from json_to_recordset($1) r(request_log_id uuid, pricing_status text)
     join request_logs l using (request_log_id) where r.pricing_status is not null`,
    [JSON.stringify(rows)],
  );
}

/** The request logs of the suite's database. */
export function withRequestLogs(url: () => string): {
  readonly logs: RequestLogs;
  readonly pool: () => DatabasePool;
} {
  let pool: DatabasePool | undefined;
  beforeAll(async () => {
    pool = await openPool(url(), 2);
  });
  afterAll(async () => pool?.end());
  return {
    pool: () => pool!,
    logs: {
      page: (filter, ask) => requestLogsStore(pool!, testDistribution()).page(filter, ask),
      find: (id) => requestLogsStore(pool!, testDistribution()).find(id),
    },
  };
}

export const idsOf = (items: readonly ListedRequestLog[]): readonly string[] =>
  items.map(({ requestLogId }) => requestLogId);
