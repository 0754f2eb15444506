import type { Picodollars } from '../money/money.ts';
import type { Budget } from './budget.ts';
import { charge } from './hard-limit.ts';

/** A past answer: its cost, and when it was settled or blocked. */
export interface PastAnswer {
  readonly at: Date;
  readonly cost: Picodollars;
}

/** What an amount would have done to the answers of one window. */
export interface DryRun {
  /** When the first answer would have been blocked; `undefined` when none would have been. */
  readonly blocksFrom: Date | undefined;
  readonly blockedCount: number;
  readonly blockedCost: Picodollars;
}

/**
 * Production does not call this: it mirrors `budget_dry_run`, and tests check the SQL against it. Judges the answers of
 * a window in order by the rule of settlement (`charge`), each against the total of the earlier answers that fitted. An
 * answer that does not fit is blocked by itself; a later, cheaper one may still fit.
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
