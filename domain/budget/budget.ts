import type { Picodollars } from '../money/money.ts';

export type Cadence = 'daily' | 'weekly' | 'monthly';

/** An owner's active budget. Its windows are always computed in UTC, whatever `timezone` is stored with it. */
export interface Budget {
  readonly cadence: Cadence;
  readonly amount: Picodollars;
  readonly hardLimit: boolean;
}
