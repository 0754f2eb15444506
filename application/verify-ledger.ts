import { toUsd } from '../domain/money/money.ts';
import { priceUsage } from '../domain/money/price-usage.ts';
import type {
  DayDifference,
  LedgerAudit,
  LedgerRow,
  RollupAmount,
  RollupDifference,
} from './ports/ledger-audit.ts';

export interface LedgerVerification {
  readonly rows: number;
  /** Lines that tell what differs; empty when the ledger is right. */
  readonly differences: readonly string[];
}

/** Differences that are told one by one; a ledger with more of them needs no longer list. */
const maxDifferences = 1000;

/**
 * Recomputes every ledger row from its tokens and its stored prices, and every day total and usage rollup from its
 * rows.
 */
export const verifyLedger = (audit: LedgerAudit) => async (): Promise<LedgerVerification> => {
  const differences: string[] = [];
  let rows = 0;
  for await (const page of audit.pricedRows()) {
    rows += page.length;
    for (const each of page) {
      const expected = priceUsage(each, { input: each.inputPerToken, output: each.outputPerToken });
      if (expected !== each.cost && differences.length < maxDifferences)
        differences.push(rowDifference(each, expected));
    }
  }
  differences.push(...(await audit.dayDifferences()).slice(0, maxDifferences).map(dayDifference));
  differences.push(...(await audit.rollupDifferences(maxDifferences)).map(rollupDifference));
  return { rows, differences };
};

const rowDifference = (row: LedgerRow, expected: bigint): string =>
  `row ${row.requestLogId} (request ${JSON.stringify(row.requestId)}, ${row.scope}): ` +
  `cost ${toUsd(row.cost)} USD is stored, ${toUsd(expected)} USD follows from its tokens`;

const dayDifference = ({ scope, day, total, sumOfRows }: DayDifference): string =>
  `day ${day} (${scope}): total ${toUsd(total)} USD is stored, its rows sum up to ${toUsd(sumOfRows)} USD`;

const rollupDifference = (found: RollupDifference): string =>
  `rollup ${found.bucketStart.toISOString()} (${found.scope}, ${found.modelKey}, ${found.pricingStatus}): ` +
  `${amount(found.rollup)} is stored, its rows sum up to ${amount(found.sumOfRows)}`;

const amount = ({ requestCount, spend }: RollupAmount): string =>
  `${requestCount} requests, ${toUsd(spend)} USD`;
