import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { AuditedRow, LedgerAudit } from '../../application/ports/ledger-audit.ts';
import { timestamp, int8, nullable } from './codecs.ts';
import { row } from './pool.ts';
import { longTransaction } from './long-transaction.ts';

/** Rows per page: a few MB in memory. */
const pageSize = 10_000;

/** A number as PostgreSQL prints it: an audit must be able to read values that should not exist. */
const asItIs = nullable(t.string);

const auditedColumns = t.type({
  request_log_id: t.string,
  request_id: t.string,
  ownership_scope_key: t.string,
  pricing_status: t.string,
  prompt_tokens: asItIs,
  completion_tokens: asItIs,
  total_tokens: asItIs,
  input_picousd_per_token: asItIs,
  output_picousd_per_token: asItIs,
  cost_picousd: asItIs,
});
const dayRow = t.type({ scope: t.string, day: t.string, total: asItIs, sum_of_rows: asItIs });
const rollupRow = t.type({
  bucket_start: timestamp,
  scope: t.string,
  model_key: t.string,
  pricing_status: t.string,
  rollup_count: int8,
  rollup_spend: asItIs,
  row_count: int8,
  row_spend: asItIs,
});

/**
 * `legacy_estimated` rows have no token prices to recompute from; their costs still count in the day totals. Rows that
 * count nothing are read only if they hold values that would count.
 */
export const ledgerAuditStore = (pool: DatabasePool): LedgerAudit => ({
  auditedRows: async function* pages() {
    let after = { id: '00000000-0000-0000-0000-000000000000', scope: '' };
    for (;;) {
      const rows = await pool.any(sql.type(row(auditedColumns))`
        select request_log_id, request_id, ownership_scope_key, pricing_status, prompt_tokens, completion_tokens,
               total_tokens, input_picousd_per_token, output_picousd_per_token, cost_picousd
        from usage_cost_events
        where (pricing_status = 'priced'
            or (pricing_status in ('unpriced', 'usage_missing')
              and num_nonnulls(input_picousd_per_token, output_picousd_per_token, cost_picousd) > 0)
            or (pricing_status = 'usage_missing'
              and num_nonnulls(prompt_tokens, completion_tokens, total_tokens) > 0))
          and (request_log_id, ownership_scope_key) > (${after.id}::uuid, ${after.scope})
        order by request_log_id, ownership_scope_key limit ${pageSize}
      `);
      const last = rows.at(-1);
      if (last === undefined) return;
      yield rows.map(auditedRow);
      after = { id: last.request_log_id, scope: last.ownership_scope_key };
    }
  },
  dayDifferences: async () => {
    const rows = await longTransaction(pool, (connection) => connection.any(dayDifferences()));
    return rows.map(({ scope, day, total, sum_of_rows }) => ({
      scope,
      day,
      total: wholeNumber(total),
      sumOfRows: wholeNumber(sum_of_rows),
    }));
  },
  rollupDifferences: async (atMost) =>
    (await longTransaction(pool, (connection) => connection.any(rollupDifferences(atMost)))).map((found) => ({
      bucketStart: found.bucket_start,
      scope: found.scope,
      modelKey: found.model_key,
      pricingStatus: found.pricing_status,
      rollup: { requestCount: found.rollup_count, spend: wholeNumber(found.rollup_spend) },
      sumOfRows: { requestCount: found.row_count, spend: wholeNumber(found.row_spend) },
    })),
});

const dayDifferences = () => sql.type(row(dayRow))`
  with sums as (
    select ownership_scope_key, (occurred_at at time zone 'UTC')::date as day, sum(cost_picousd) as amount
    from usage_cost_events where counts_toward_spend(pricing_status)
    group by 1, 2
  )
  select coalesce(s.ownership_scope_key, d.ownership_scope_key) as scope, coalesce(s.day, d.day)::text as day,
         coalesce(d.counted_picousd, 0) as total, coalesce(s.amount, 0) as sum_of_rows
  from sums s full join usage_daily_totals d
    on d.ownership_scope_key = s.ownership_scope_key and d.day = s.day
  where coalesce(d.counted_picousd, 0) <> coalesce(s.amount, 0)
  order by 1, 2
`;

/** Both sides are unioned and summed, so that a rollup without rows and rows without a rollup are both found. */
const rollupDifferences = (atMost: number) => sql.type(row(rollupRow))`
  select bucket_start, scope, model_key, pricing_status, sum(rollup_count) as rollup_count,
         sum(rollup_spend) as rollup_spend, sum(row_count) as row_count, sum(row_spend) as row_spend
  from (
    select bucket_start, ownership_scope_key as scope, model_key, pricing_status, user_id, team_id,
           request_count as rollup_count, counted_picousd as rollup_spend, 0 as row_count, 0 as row_spend
    from usage_rollups
    union all
    select rollup_bucket(occurred_at), ownership_scope_key, model_key, pricing_status, user_id, team_id, 0, 0,
           count(*), coalesce(sum(cost_picousd) filter (where counts_toward_spend(pricing_status)), 0)
    from usage_cost_events group by 1, 2, 3, 4, 5, 6
  ) both_sides
  group by bucket_start, scope, model_key, pricing_status, user_id, team_id
  having sum(rollup_count) <> sum(row_count) or sum(rollup_spend) <> sum(row_spend)
  order by 1, 2, 3, 4 limit ${atMost}
`;

/** `undefined` if the text is not a whole number (`NaN` is a numeric, too). */
const wholeNumber = (text: string | null): bigint | undefined =>
  text !== null && /^-?\d+$/.test(text) ? BigInt(text) : undefined;

const tokenColumns = ['prompt_tokens', 'completion_tokens', 'total_tokens'] as const;
const moneyColumns = ['input_picousd_per_token', 'output_picousd_per_token', 'cost_picousd'] as const;

type Audited = t.TypeOf<typeof auditedColumns>;
type Column = (typeof tokenColumns)[number] | (typeof moneyColumns)[number];

function auditedRow(found: Audited): AuditedRow {
  const identity = {
    requestLogId: found.request_log_id,
    requestId: found.request_id,
    scope: found.ownership_scope_key,
  };
  const faults = faultsOf(found);
  if (faults.length > 0)
    return {
      kind: 'impossible',
      row: { ...identity, columns: faults.map((column) => `${column} is ${found[column] ?? 'null'}`) },
    };
  const read = (column: Column): bigint => wholeNumber(found[column]) ?? 0n;
  return {
    kind: 'row',
    row: {
      ...identity,
      promptTokens: Number(read('prompt_tokens')),
      completionTokens: Number(read('completion_tokens')),
      totalTokens: Number(read('total_tokens')),
      inputPerToken: read('input_picousd_per_token'),
      outputPerToken: read('output_picousd_per_token'),
      cost: read('cost_picousd'),
    },
  };
}

/** Columns with values that no settlement writes. */
function faultsOf(found: Audited): readonly Column[] {
  if (found.pricing_status === 'priced')
    return [
      ...tokenColumns.filter((column) => !isAmount(found[column], BigInt(Number.MAX_SAFE_INTEGER))),
      ...moneyColumns.filter((column) => !isAmount(found[column])),
    ];
  const empty = found.pricing_status === 'unpriced' ? moneyColumns : [...tokenColumns, ...moneyColumns];
  return empty.filter((column) => found[column] !== null);
}

function isAmount(text: string | null, most?: bigint): boolean {
  const value = wholeNumber(text);
  return value !== undefined && value >= 0n && (most === undefined || value <= most);
}
