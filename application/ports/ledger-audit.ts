import type { Picodollars } from '../../domain/money/money.ts';

/** A counted ledger row, as it stands. */
export interface LedgerRow {
  readonly requestLogId: string;
  readonly requestId: string;
  readonly scope: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly totalTokens: number;
  readonly inputPerToken: Picodollars;
  readonly outputPerToken: Picodollars;
  readonly cost: Picodollars;
}

/** A day whose stored total is not the sum of its rows. */
export interface DayDifference {
  readonly scope: string;
  readonly day: string;
  readonly total: Picodollars;
  readonly sumOfRows: Picodollars;
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
  readonly spend: Picodollars;
}

export interface LedgerAudit {
  /** Every priced row, in pages, as of one moment. */
  readonly pricedRows: () => AsyncIterable<readonly LedgerRow[]>;
  readonly dayDifferences: () => Promise<readonly DayDifference[]>;
  readonly rollupDifferences: (atMost: number) => Promise<readonly RollupDifference[]>;
}
