import * as t from 'io-ts';
import { type DatabasePool, sql } from 'slonik';
import type { LedgerAudit, LedgerRow } from '../../application/ports/ledger-audit.ts';
import { integer } from './codecs.ts';
import { row } from './pool.ts';

/** Rows of one page: a few MB in memory. */
const pageSize = 10_000;

const pricedRow = t.type({
  request_log_id: t.string,
  request_id: t.string,
  ownership_scope_key: t.string,
  prompt_tokens: integer,
  completion_tokens: integer,
  total_tokens: integer,
  input_picousd_per_token: integer,
  output_picousd_per_token: integer,
  cost_picousd: integer,
});
const dayRow = t.type({ scope: t.string, day: t.string, total: integer, sum_of_rows: integer });

/** `legacy_estimated` rows carry no token prices to recompute from; their costs still count in the day totals. */
export const ledgerAuditStore = (pool: DatabasePool): LedgerAudit => ({
  pricedRows: async function* pages() {
    let after = '00000000-0000-0000-0000-000000000000';
    for (;;) {
      const rows = await pool.any(sql.type(row(pricedRow))`
        select request_log_id, request_id, ownership_scope_key, prompt_tokens, completion_tokens, total_tokens,
               input_picousd_per_token, output_picousd_per_token, cost_picousd
        from usage_cost_events
        where pricing_status = 'priced' and request_log_id > ${after}::uuid
        order by request_log_id limit ${pageSize}
      `);
      if (rows.length === 0) return;
      yield rows.map(ledgerRow);
      after = rows.at(-1)?.request_log_id ?? after;
    }
  },
  dayDifferences: async () => {
    const rows = await pool.any(sql.type(row(dayRow))`
      with sums as (
        select ownership_scope_key, (occurred_at at time zone 'UTC')::date as day, sum(cost_picousd) as amount
        from usage_cost_events where pricing_status in ('priced', 'legacy_estimated')
        group by 1, 2
      )
      select coalesce(s.ownership_scope_key, d.ownership_scope_key) as scope, coalesce(s.day, d.day)::text as day,
             coalesce(d.counted_picousd, 0) as total, coalesce(s.amount, 0) as sum_of_rows
      from sums s full join usage_daily_totals d
        on d.ownership_scope_key = s.ownership_scope_key and d.day = s.day
      where coalesce(d.counted_picousd, 0) <> coalesce(s.amount, 0)
      order by 1, 2
    `);
    return rows.map(({ scope, day, total, sum_of_rows }) => ({ scope, day, total, sumOfRows: sum_of_rows }));
  },
});

const ledgerRow = (found: t.TypeOf<typeof pricedRow>): LedgerRow => ({
  requestLogId: found.request_log_id,
  requestId: found.request_id,
  scope: found.ownership_scope_key,
  promptTokens: Number(found.prompt_tokens),
  completionTokens: Number(found.completion_tokens),
  totalTokens: Number(found.total_tokens),
  inputPerToken: found.input_picousd_per_token,
  outputPerToken: found.output_picousd_per_token,
  cost: found.cost_picousd,
});
