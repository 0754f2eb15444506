import type { Cadence } from './budget.ts';

/** A budget as an admin sets it. */
export interface BudgetTerms {
  readonly cadence: Cadence;
  readonly amount10000: bigint;
  readonly hardLimit: boolean;
  /** A known IANA name; stored, but windows are always computed in UTC. */
  readonly timezone: string;
}
