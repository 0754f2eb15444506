import type { TokenUsage } from '../../domain/ledger/usage.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';

/** A counted ledger row, as stored. */
export interface LedgerRow extends TokenUsage {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  readonly scope: string;
  readonly inputPerToken: Picodollars;
  readonly outputPerToken: Picodollars;
  readonly cost: Picodollars;
}

/**
 * A ledger row that no settlement writes: a counted row lacks a value or holds one that is no token count or amount, or
 * a row that is not counted holds money, or token counts that no upstream reported.
 */
export interface ImpossibleRow extends Pick<LedgerRow, 'requestLogId' | 'requestId' | 'scope'> {
  /** The columns at fault, with their values. */
  readonly columns: readonly string[];
}

export type AuditedRow =
  | { readonly kind: 'row'; readonly row: LedgerRow }
  | { readonly kind: 'impossible'; readonly row: ImpossibleRow };

/** `undefined` when there is no amount, because an impossible row is part of the sum. */
export type AuditedAmount = Picodollars | undefined;

/** A day whose stored total is not the sum of its rows. */
export interface DayDifference {
  readonly scope: string;
  readonly day: string;
  readonly total: AuditedAmount;
  readonly sumOfRows: AuditedAmount;
}

/** A usage rollup that differs from the sum of its rows; where one side is missing, it is zero. */
export interface RollupDifference {
  readonly bucketStart: Date;
  readonly scope: string;
  readonly modelKey: string;
  readonly pricingStatus: string;
  readonly rollup: RollupAmount;
  readonly sumOfRows: RollupAmount;
}

export interface RollupAmount {
  readonly requestCount: bigint;
  readonly spend: AuditedAmount;
}

export interface LedgerAudit {
  /** Every priced row, and every other row that holds what no settlement writes, in pages. */
  readonly auditedRows: () => AsyncIterable<readonly AuditedRow[]>;
  readonly dayDifferences: () => Promise<readonly DayDifference[]>;
  readonly rollupDifferences: (atMost: number) => Promise<readonly RollupDifference[]>;
}
