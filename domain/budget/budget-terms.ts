import type { Amount10000 } from '../money/money.ts';
import type { Cadence } from './budget.ts';

/** A budget as an admin sets it. */
export interface BudgetTerms {
  readonly cadence: Cadence;
  readonly amount10000: Amount10000;
  readonly hardLimit: boolean;
  /** A known IANA name; stored, but windows are always computed in UTC. */
  readonly timezone: string;
}
