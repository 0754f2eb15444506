import type { Cadence } from '../../domain/budget/budget.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { Amount10000, Picodollars } from '../../domain/money/money.ts';
import type { WindowFacts } from '../../domain/reports/overview.ts';
import type { Window } from '../../domain/shared/window.ts';

export interface Spent {
  readonly requestCount: number;
  readonly spend: Picodollars;
}

export interface ModelSpent extends Spent {
  readonly modelKey: string;
}

export interface OwnerSpent extends Spent {
  readonly owner: Owner;
  /** The id when the owner's row is gone. */
  readonly ownerName: string;
}

/** A budget in force, and the state of its current window. */
export interface BudgetStanding {
  readonly owner: Owner;
  readonly ownerName: string;
  readonly cadence: Cadence;
  readonly amount10000: Amount10000;
  readonly hardLimit: boolean;
  readonly window: Window;
  readonly spent: Picodollars;
  /** Answers in the window whose cost it blocked. */
  readonly blockedAnswers: number;
}

export interface BudgetStandings {
  readonly total: number;
  /** Budgets with 80 % or more spent, where the alert is due; this includes every budget with an amount of 0. */
  readonly above80Percent: number;
  /**
   * Budgets that blocked an answer in their window, or whose hard limit is reached, so that they refuse every request.
   */
  readonly blocked: number;
  /** At most ten, those nearest to their amount first. */
  readonly nearest: readonly BudgetStanding[];
}

/** What needs attention, each kind once (rule 53.6). */
export const attentionKinds = [
  'unpriced_models',
  'budget_blocks',
  'failed_mails',
  'journal_records',
  'replicas_behind',
  'provider_errors',
] as const;
export type AttentionKind = (typeof attentionKinds)[number];

export const attentionItemKinds = [
  'model',
  'user',
  'team',
  'journal_file',
  'gateway_process',
  'route',
] as const;

/** One of the objects that a fact is about. */
export interface AttentionItem {
  readonly kind: (typeof attentionItemKinds)[number];
  readonly id: string;
  readonly title: string;
  readonly count: number;
}

export interface Attention {
  readonly count: number;
  /** There are more than were counted. */
  readonly isLowerBound: boolean;
  /** At most ten. */
  readonly items: readonly AttentionItem[];
}

/** Which steps of setting up a gateway are done, as far as the database knows. */
export interface StoredSetup {
  readonly modelAnswered: boolean;
  readonly keyExists: boolean;
  readonly budgetSet: boolean;
}

export interface OverviewFacts {
  /** The database's time; all facts are of one snapshot. */
  readonly now: Date;
  readonly window: Window;
  /** The time of the oldest retained request log; `undefined` when there is none. */
  readonly logsSince: Date | undefined;
  readonly usage: WindowFacts;
  /** Of the current UTC day. */
  readonly today: Spent;
  readonly topModels: readonly ModelSpent[];
  readonly topOwners: readonly OwnerSpent[];
  readonly budgets: BudgetStandings;
  readonly attention: Readonly<Record<Exclude<AttentionKind, 'journal_records'>, Attention>>;
  readonly setup: StoredSetup;
}

export interface OverviewStore {
  readonly read: () => Promise<OverviewFacts>;
}

/** Which steps of setting up are done in the file that this process loaded last. */
export interface ConfiguredSetup {
  readonly mailConfigured: boolean;
  readonly telemetryConfigured: boolean;
  /** The database is not the embedded one. */
  readonly ownDatabase: boolean;
}
