import type { BudgetAlert } from '../../domain/budget/alert-mail.ts';
import type { Window } from '../../domain/budget/budget.ts';
import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import type { Owner } from '../../domain/identity/caller.ts';
import type { Picodollars } from '../../domain/money/money.ts';

export interface StoredBudget extends BudgetTerms {
  readonly budgetId: string;
  readonly createdAt: Date;
}

/** The window that holds now, of the owner's budget, or of the month where there is none. */
export interface CurrentWindow extends Window {
  readonly spent: Picodollars;
}

export interface OwnerBudget {
  readonly owner: Owner;
  readonly name: string;
  /** Of users. */
  readonly email: string | undefined;
  readonly budget: StoredBudget | undefined;
  readonly currentWindow: CurrentWindow;
  /** Addresses that an alert would go to now. */
  readonly alertRecipients: readonly string[];
}

export interface Budgets {
  /** Every active user and team, with budget or without. */
  readonly list: () => Promise<readonly OwnerBudget[]>;
  /** Undefined: there is no such owner. Changes take the lock of the hard limit. */
  readonly set: (owner: Owner, terms: BudgetTerms) => Promise<OwnerBudget | undefined>;
  readonly remove: (owner: Owner) => Promise<{ readonly deactivated: boolean } | undefined>;
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

/** `total` is exact up to a bound; at the bound it is a lower one. */
export interface Page<A> {
  readonly items: readonly A[];
  readonly total: number;
  readonly totalIsLowerBound: boolean;
}

export interface PageAsk {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
}

export interface BudgetAlerts {
  readonly page: (ask: PageAsk) => Promise<Page<ListedAlert>>;
}

/** One mail to be sent, claimed by this process alone. */
export interface ClaimedDelivery {
  readonly deliveryId: string;
  readonly recipient: string;
  readonly alert: BudgetAlert;
}

/** The queue of deliveries. Each is handed out once in its life, whatever dies. */
export interface AlertQueue {
  /** Marks one pending delivery `sending`; undefined when there is none. */
  readonly claim: () => Promise<ClaimedDelivery | undefined>;
  readonly sent: (deliveryId: string) => Promise<void>;
  readonly failed: (deliveryId: string, reason: string) => Promise<void>;
  /** Deliveries whose dispatcher died become `failed`: never a second mail. Gives back how many. */
  readonly giveUpStuck: () => Promise<number>;
}
