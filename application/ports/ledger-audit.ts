import type { TokenUsage } from '../../domain/ledger/usage.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';

/** A counted ledger row, as it stands. */
export interface LedgerRow extends TokenUsage {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  readonly scope: string;
  readonly inputPerToken: Picodollars;
  readonly outputPerToken: Picodollars;
  readonly cost: Picodollars;
}

/**
 * A ledger row that no settlement writes: what a counted one should hold is missing, or no token count or amount, or one
 * that counts nothing holds money, or tokens that nobody told.
 */
export interface ImpossibleRow extends Pick<LedgerRow, 'requestLogId' | 'requestId' | 'scope'> {
  /** The columns at fault. */
  readonly columns: readonly string[];
}

export type AuditedRow =
  | { readonly kind: 'row'; readonly row: LedgerRow }
  | { readonly kind: 'impossible'; readonly row: ImpossibleRow };

/** Undefined: no amount, because an impossible row is in the sum. */
export type AuditedAmount = Picodollars | undefined;

/** A day whose stored total is not the sum of its rows. */
export interface DayDifference {
  readonly scope: string;
  readonly day: string;
  readonly total: AuditedAmount;
  readonly sumOfRows: AuditedAmount;
}

/** A usage rollup that is not what its rows add up to; one side is zero where the other is alone. */
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
  /** Every priced row, and every other one that holds what no settlement writes, in pages. */
  readonly auditedRows: () => AsyncIterable<readonly AuditedRow[]>;
  readonly dayDifferences: () => Promise<readonly DayDifference[]>;
  readonly rollupDifferences: (atMost: number) => Promise<readonly RollupDifference[]>;
}
