import { expect, afterAll } from '@jest/globals';
import { withDatabase } from '../support/database.ts';
import { queries } from '../support/gateway.ts';
import { settleTogether, withClock, withLedgers } from './ledger-bench.ts';

/** Two ledgers over one database, and its rows. After the tests, the day totals must be right. */
export function ledgerScene() {
  const database = withDatabase();
  afterAll(async () => {
    expect(await wrongTotals()).toEqual([]);
  });
  const query = queries(database.url);
  const { ledgers } = withLedgers(database.url, 2);
  const clock = withClock(query);
  const ledger = () => ledgers[0]!;
  const settle = async (...records: Parameters<typeof settleTogether>[1]) =>
    settleTogether(ledger(), records);
  const ledgerRow = async (requestLogId: string) =>
    (await query('select * from usage_cost_events where request_log_id = $1', [requestLogId]))[0];
  /** The days whose total is not the sum of their counted rows. */
  const wrongTotals = () =>
    query(
      `select from (select ownership_scope_key as scope, (occurred_at at time zone 'UTC')::date as day,
           sum(cost_picousd) as amount from usage_cost_events
         where pricing_status in ('priced', 'legacy_estimated') and ownership_scope_key <> 's' group by 1, 2) s
       full join usage_daily_totals d on d.ownership_scope_key = s.scope and d.day = s.day
       where coalesce(d.counted_picousd, 0) <> coalesce(s.amount, 0)`,
    );
  return { databaseUrl: database.url, query, ledgers, clock, ledger, settle, ledgerRow, wrongTotals };
}
