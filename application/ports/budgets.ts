import type { BudgetAlert } from '../../domain/budget/alert-mail.ts';
import type { Window } from '../../domain/shared/window.ts';
import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import type { DryRun } from '../../domain/budget/dry-run.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { AdminActor } from './admin-events.ts';
import type { Page, PageRequest } from './page.ts';

export interface StoredBudget extends BudgetTerms {
  readonly budgetId: string;
  readonly createdAt: Date;
}

/** Answers whose cost a hard budget blocked: charged to no budget, and part of no spend. */
export interface BlockedAnswers {
  readonly count: number;
  readonly cost: Picodollars;
}

/** The current window of the owner's budget, or the current month where there is none. */
export interface CurrentWindow extends Window {
  readonly spent: Picodollars;
  readonly blockedAnswers: BlockedAnswers;
}

/** What an owner spent on one UTC day; every window consists of whole days. */
export interface SpendDay {
  readonly day: Date;
  /** The number of ledger rows, of any pricing status. */
  readonly requestCount: number;
  readonly spent: Picodollars;
  readonly blockedAnswers: BlockedAnswers;
}

export interface SpendDays extends Window {
  /** Oldest first, without gaps. */
  readonly days: readonly SpendDay[];
}

/** What an amount would have blocked in one window, and what was spent in that window. */
export interface WindowDryRun extends Window, DryRun {
  readonly spent: Picodollars;
}

export interface BudgetDryRun {
  /** The last completed window. */
  readonly lastWindow: WindowDryRun;
  /** The current window, so far. */
  readonly currentWindow: WindowDryRun;
}

export interface OwnerBudget {
  readonly owner: Owner;
  readonly name: string;
  /** Only of users. */
  readonly email: string | undefined;
  /** Whether the owner is active. A deactivated owner may have a budget, which nobody can spend from. */
  readonly active: boolean;
  readonly budget: StoredBudget | undefined;
  readonly currentWindow: CurrentWindow;
  /** The addresses that an alert would go to now. */
  readonly alertRecipients: readonly string[];
}

/** Who set a budget, or ended it; `user` is `undefined` where that was not recorded. */
export type BudgetAuthor =
  | { readonly kind: 'config' }
  | {
      readonly kind: 'admin';
      readonly user: { readonly id: string; readonly name: string | undefined } | undefined;
    };

/** A budget that is in force, or was. */
export interface PastBudget extends StoredBudget {
  /** `undefined` where it was not recorded. */
  readonly setBy: BudgetAuthor | undefined;
  /** `undefined` while it is in force. */
  readonly ended: { readonly at: Date; readonly by: BudgetAuthor | undefined } | undefined;
}

export interface Budgets {
  /** Every active user and team, with a budget or without, and deactivated ones that have a budget. */
  readonly list: () => Promise<readonly OwnerBudget[]>;
  /**
   * `undefined` when there is no such active owner. Changes take the lock of the hard limit, and each writes its event
   * in its own transaction; identical terms change nothing.
   */
  readonly set: (owner: Owner, terms: BudgetTerms, actor: AdminActor) => Promise<OwnerBudget | undefined>;
  /** `undefined` when there is no such owner, active or not. */
  readonly remove: (
    owner: Owner,
    actor: AdminActor,
  ) => Promise<{ readonly deactivated: boolean } | undefined>;
  /** Every budget that the owner has or had, newest first; `undefined` when there is no such owner, active or not. */
  readonly history: (owner: Owner, page: PageRequest) => Promise<Page<PastBudget> | undefined>;
  /** The last `days` UTC days, including today; `undefined` when there is no such owner, active or not. */
  readonly spendByDay: (owner: Owner, days: number) => Promise<SpendDays | undefined>;
  /**
   * Changes nothing. `undefined` when there is no such owner, active or not; `too_long` when the windows hold more than
   * can be read within the time limit.
   */
  readonly dryRun: (
    owner: Owner,
    terms: Pick<BudgetTerms, 'cadence' | 'amount10000'>,
  ) => Promise<BudgetDryRun | 'too_long' | undefined>;
}

export type DeliveryStatus = 'pending' | 'sending' | 'sent' | 'failed';

export interface AlertDelivery {
  readonly channel: string;
  readonly recipient: string | undefined;
  readonly status: DeliveryStatus;
  readonly attemptedAt: Date | undefined;
  readonly sentAt: Date | undefined;
  readonly failureReason: string | undefined;
}

export interface ListedAlert extends BudgetAlert {
  readonly budgetAlertId: string;
  readonly owner: Owner;
  readonly thresholdBps: number;
  readonly spentBefore: Picodollars;
  readonly createdAt: Date;
  readonly deliveries: readonly AlertDelivery[];
}

export interface BudgetAlerts {
  /** All alerts, newest first, or the one with an id. */
  readonly page: (budgetAlertId: string | undefined, page: PageRequest) => Promise<Page<ListedAlert>>;
}

/** One mail to send, claimed by this process alone. */
export interface ClaimedDelivery {
  readonly deliveryId: string;
  readonly recipient: string;
  readonly alert: BudgetAlert;
}

/** The queue of deliveries. Each is handed out only once, even if its dispatcher dies. */
export interface AlertQueue {
  /** Marks one pending delivery as `sending`; `undefined` when there is none. */
  readonly claim: () => Promise<ClaimedDelivery | undefined>;
  readonly sent: (deliveryId: string) => Promise<void>;
  readonly failed: (deliveryId: string, reason: string) => Promise<void>;
  /** Marks deliveries whose dispatcher died as `failed`, so that no mail is sent twice. Resolves with how many. */
  readonly giveUpStuck: () => Promise<number>;
  /** Failed deliveries that were not reported yet, a bounded number; each is handed out once across all replicas. */
  readonly takeFailures: () => Promise<readonly FailedDelivery[]>;
}

/** A mail that was not sent, for whatever reason; also one that was never going to be sent. */
export interface FailedDelivery {
  readonly deliveryId: string;
  readonly budgetAlertId: string;
  readonly owner: Owner;
  readonly reason: string;
}

/** Counts and logs alert mails. */
export interface AlertMailTelemetry {
  readonly sent: () => void;
  readonly failed: (failure: FailedDelivery) => void;
}
