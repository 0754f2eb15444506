import * as t from 'io-ts';
import type { Verdict } from '../../application/ports/ledger.ts';
import { fromAmount10000 } from '../../domain/money/money.ts';
import { cadence, int8, nullable, timestamp } from './codecs.ts';
import { prepared } from './prepared.ts';

const verdictResult = t.type({
  ord: t.number,
  verdict: t.keyof({ duplicate: null, blocked: null }),
  cadence: nullable(cadence),
  amount_10000: nullable(int8),
  window_start: nullable(timestamp),
  window_end: nullable(timestamp),
  database_time: timestamp,
});
type VerdictResult = t.TypeOf<typeof verdictResult>;

/** Settles the records of a batch. Returns a row for each record that is not simply recorded. */
export const settleRecords = prepared(
  verdictResult,
  {
    ord: 'int4',
    verdict: 'text',
    cadence: 'text',
    amount_10000: 'int8',
    window_start: 'timestamptz',
    window_end: 'timestamptz',
    database_time: 'timestamptz',
  },
  (named) => `
    select ord, verdict, cadence, amount_10000, window_start, window_end, database_time
    from ${named('gateway_settle')}($1::json, $2::uuid[], $3, $4, null, $5)`,
);

/** Throws if the statement blocked a cost without naming the budget, which is a defect. */
export function verdictOf(result: VerdictResult): Verdict {
  if (result.verdict === 'duplicate') return { kind: 'duplicate' };
  const { cadence, amount_10000, window_start, window_end, database_time } = result;
  if (cadence === null || amount_10000 === null) throw new TypeError('a cost was blocked without a budget');
  return {
    kind: 'blocked',
    budget: { cadence, amount: fromAmount10000(amount_10000), hardLimit: true },
    window: { from: window_start ?? database_time, until: window_end ?? database_time },
    databaseTime: database_time,
  };
}
