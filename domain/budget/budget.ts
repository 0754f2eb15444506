import type { Picodollars } from '../money/money.ts';

export type Cadence = 'daily' | 'weekly' | 'monthly';

/** An owner's active budget. `timezone` is stored with it, but windows are always computed in UTC. */
export interface Budget {
  readonly budgetId: string;
  readonly cadence: Cadence;
  readonly amount: Picodollars;
  readonly hardLimit: boolean;
}
