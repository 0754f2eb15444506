import type { BudgetTerms } from '../../domain/budget/budget-terms.ts';
import type { TeamRole, UserRole } from '../../domain/identity/owner-names.ts';
import type { LimitTerms } from '../../domain/limits/rate-limit.ts';
import type { ProviderKind } from '../../domain/routing/model.ts';
import type { Json } from '../../domain/shared/json.ts';
import type { OwnerRef } from './accounts.ts';

/** What the configuration file says should be in the database. Routes and models are in file order. */
export interface Seed {
  readonly providers: readonly SeedProvider[];
  readonly models: readonly {
    readonly id: string;
    readonly routes: readonly SeedRoute[];
    readonly limits?: LimitTerms | undefined;
  }[];
  readonly teams: readonly {
    readonly id: string;
    readonly name: string;
    readonly budget: BudgetTerms | undefined;
    readonly limits?: LimitTerms | undefined;
  }[];
  readonly serviceAccounts: readonly { readonly id: string; readonly name: string; readonly team: string }[];
  readonly users: readonly SeedUser[];
  readonly apiKeys: readonly SeedKey[];
  /** Mails can be sent: a budget that is already at its threshold queues its alert's deliveries. */
  readonly mailReady: boolean;
}

/** `config` holds placeholders (`${NAME}`) and never a secret. */
export interface SeedProvider {
  readonly id: string;
  readonly kind: ProviderKind;
  readonly config: Json;
}

export interface SeedRoute {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly priority: number;
  readonly enabled: boolean;
  readonly config: Json;
}

export interface SeedUser {
  readonly email: string;
  readonly name: string;
  readonly role: UserRole;
  readonly requestLoggingEnabled: boolean;
  readonly membership: { readonly team: string; readonly role: TeamRole } | undefined;
  readonly budget: BudgetTerms | undefined;
  readonly limits?: LimitTerms | undefined;
}

export interface SeedKey {
  readonly publicId: string;
  readonly secretSha256: Uint8Array;
  readonly name: string;
  readonly owner: OwnerRef;
  readonly allowedModels: readonly string[];
  readonly limits?: LimitTerms | undefined;
}

/** Of one kind: how many are in force, and how many of them a seed would end. */
export interface SeedLoss {
  readonly there: number;
  readonly lost: number;
}

/** What a seed would disable or revoke, by kind. */
export type Losses = Readonly<Record<'providers' | 'models' | 'API keys', SeedLoss>>;

/** Decisions of admins that contradict the file and stay in force. */
export interface KeptByAdmins {
  /** The names of keys that an admin revoked. */
  readonly keptRevoked: readonly string[];
  /** Owners that an admin deactivated, such as `team:platform`. */
  readonly keptInactive: readonly string[];
}

export interface SeedStore {
  readonly losses: (seed: Seed) => Promise<Losses>;
  /**
   * Makes the database match the seed, in one transaction under one lock. When something is gone from the file,
   * providers, models and routes are disabled, keys that came from it are revoked, budgets of listed owners are
   * deactivated, and its rate limits are removed. Owners and everything made by admins stay.
   */
  readonly reconcile: (seed: Seed) => Promise<KeptByAdmins>;
}
