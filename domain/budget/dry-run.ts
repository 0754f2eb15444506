import type { Picodollars } from '../money/money.ts';
import type { Budget } from './budget.ts';
import { charge } from './hard-limit.ts';

/** An answer of the past: its cost, and when it was settled, or blocked. */
export interface PastAnswer {
  readonly at: Date;
  readonly cost: Picodollars;
}

/** What an amount would have done to the answers of one window. */
export interface DryRun {
  /** When the first would have been blocked; undefined: none would have been. */
  readonly blocksFrom: Date | undefined;
  readonly blockedCount: number;
  readonly blockedCost: Picodollars;
}

/**
 * Production does not call this: it mirrors `budget_dry_run`, and tests hold the SQL against it. The answers of a window
 * in their order, each judged by the rule of settlement (`charge`) against the total of those that fitted before it: one
 * that does not fit is blocked alone, and a later, cheaper one may fit.
 */
export function dryRun(budget: Budget, answers: readonly PastAnswer[]): DryRun {
  let spent: Picodollars = 0n;
  const blocked = answers.filter(({ cost }) => {
    const judged = charge(budget, spent, cost);
    if (judged._tag === 'Right') spent = judged.right;
    return judged._tag === 'Left';
  });
  return {
    blocksFrom: blocked[0]?.at,
    blockedCount: blocked.length,
    blockedCost: blocked.reduce((sum, { cost }) => sum + cost, 0n),
  };
}
