import { toUsd } from '../domain/money/money.ts';
import { priceUsage } from '../domain/ledger/price-usage.ts';
import type {
  AuditedAmount,
  AuditedRow,
  DayDifference,
  ImpossibleRow,
  LedgerAudit,
  LedgerRow,
  RollupAmount,
  RollupDifference,
} from './ports/ledger-audit.ts';

export interface LedgerVerification {
  readonly rows: number;
  /** One line for each difference; empty when the ledger is right. */
  readonly differences: readonly string[];
}

/**
 * The most differences of each kind that are listed: with more the ledger is broken altogether, and a longer list is no
 * help.
 */
const maxDifferences = 1000;

/**
 * Recomputes every ledger row from its tokens and its stored prices, and every day total and usage rollup from its
 * rows. An impossible row is listed, and does not keep the others from being checked.
 */
export const verifyLedger = (audit: LedgerAudit) => async (): Promise<LedgerVerification> => {
  const differences: string[] = [];
  let rows = 0;
  for await (const page of audit.auditedRows()) {
    rows += page.length;
    for (const each of page) {
      const difference = differenceOf(each);
      if (difference !== undefined && differences.length < maxDifferences) differences.push(difference);
    }
  }
  differences.push(...(await audit.dayDifferences()).slice(0, maxDifferences).map(dayDifference));
  differences.push(...(await audit.rollupDifferences(maxDifferences)).map(rollupDifference));
  return { rows, differences };
};

function differenceOf(audited: AuditedRow): string | undefined {
  if (audited.kind === 'impossible') return impossibleRow(audited.row);
  const { row } = audited;
  const expected = priceUsage(row, { input: row.inputPerToken, output: row.outputPerToken });
  return expected === row.cost ? undefined : rowDifference(row, expected);
}

const nameOf = ({ requestLogId, requestId, scope }: LedgerRow | ImpossibleRow): string =>
  `row ${requestLogId} (request ${JSON.stringify(requestId)}, ${scope})`;

const rowDifference = (row: LedgerRow, expected: bigint): string =>
  `${nameOf(row)}: cost ${toUsd(row.cost)} USD is stored, ${toUsd(expected)} USD follows from its tokens`;

const impossibleRow = (row: ImpossibleRow): string =>
  `${nameOf(row)}: no settlement writes such a row (${row.columns.join(', ')})`;

const dayDifference = ({ scope, day, total, sumOfRows }: DayDifference): string =>
  `day ${day} (${scope}): total ${usd(total)} is stored, its rows sum up to ${usd(sumOfRows)}`;

const rollupDifference = (found: RollupDifference): string =>
  `rollup ${found.bucketStart.toISOString()} (${found.scope}, ${found.modelKey}, ${found.pricingStatus}): ` +
  `${amount(found.rollup)} is stored, its rows sum up to ${amount(found.sumOfRows)}`;

const amount = ({ requestCount, spend }: RollupAmount): string => `${requestCount} requests, ${usd(spend)}`;

const usd = (money: AuditedAmount): string => (money === undefined ? 'no amount' : `${toUsd(money)} USD`);
