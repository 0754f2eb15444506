import type { Either } from 'fp-ts/lib/Either.js';
import type { Budget } from '../../domain/budget/budget.ts';
import type { RequestId, RequestLogId } from '../../domain/request-log/request-ids.ts';
import type { Window } from '../../domain/shared/window.ts';
import type { Caller } from '../../domain/identity/caller.ts';
import type { UsageCost } from '../../domain/ledger/usage-cost-event.ts';
import type { Picodollars } from '../../domain/money/money.ts';
import type { RequestLog } from '../../domain/request-log/request-log.ts';
import type { FullLimit, RateLimit } from '../../domain/limits/rate-limit.ts';
import type { CodedError } from '../../domain/shared/gateway-error.ts';

export interface AdmissionRequest {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  /** A generated id is always new, so the ledger is not searched for it. */
  readonly callerChoseRequestId: boolean;
  readonly caller: Caller;
  /** Claim `(request_id, scope)` for this request alone until it ends (`duplicate_request_ids: reject`). */
  readonly claim: boolean;
  /** The rate limits that apply to it; absent when there are none, and then none is looked up. */
  readonly limits?: readonly RateLimit[];
}

/** What is known of an owner before the provider is called. */
export interface Admission {
  /** The ledger has a row of this `(request_id, ownership_scope_key)`: both budget phases are bypassed. */
  readonly alreadyAccounted: boolean;
  /** False when another request holds the claim that was asked for. */
  readonly claimed: boolean;
  readonly budget: ActiveBudget | undefined;
  readonly databaseTime: Date;
  /** The verdict of its rate limits; absent when it comes under none. */
  readonly limits?: LimitVerdict;
}

export type LimitVerdict =
  /**
   * The request counts under its limits. When `held`, its settlement must release it: that ends its hold and counts its
   * tokens.
   */
  | { readonly kind: 'admitted'; readonly held: boolean }
  /** The request counts under none of its limits. */
  | { readonly kind: 'refused'; readonly full: readonly [FullLimit, ...FullLimit[]] };

export interface ActiveBudget {
  readonly terms: Budget;
  readonly window: Window;
  readonly spent: Picodollars;
  /** A blocked cost has closed this window (`after_block: close_window`). */
  readonly closed: boolean;
}

/** A future ledger row, judged against the owner's hard limit when it is written. */
export interface Charge {
  readonly requestLogId: RequestLogId;
  readonly requestId: RequestId;
  readonly caller: Caller;
  readonly modelKey: string;
  readonly providerKey: string;
  readonly upstreamModel: string;
  readonly cost: UsageCost;
}

/**
 * A future summary row. When its charge is blocked, the row says 429 `budget_exceeded` and keeps `blockedCostUsd` under
 * `metadata_json.accounting`; when the charge is a duplicate, the row is marked as one.
 */
export interface LoggedRequest {
  readonly caller: Caller;
  readonly log: RequestLog;
  readonly blockedCostUsd: string | undefined;
}

export interface LimitedTokens {
  readonly requestLogId: RequestLogId;
  readonly limits: readonly RateLimit[];
  readonly tokens: number;
}

/** What one ended request leaves behind: written in one transaction, or not at all. */
export interface SettlementRecord {
  readonly charge: Charge | undefined;
  readonly logged: LoggedRequest | undefined;
  /** The request log id of the claim, and of the holds under rate limits, that end with this record. */
  readonly release: RequestLogId | undefined;
  /** The tokens that count under the rate limits of a released request. */
  readonly limited?: LimitedTokens | undefined;
  /**
   * If the database is lost, the record may wait in a durable journal, to be settled in the window of this database
   * time. `undefined` for an owner with a hard limit, who must be judged before anything completes.
   */
  readonly deferrableTo: Date | undefined;
}

export type Verdict =
  | { readonly kind: 'recorded' }
  /** Kept in the journal; settled when the database is back. */
  | { readonly kind: 'journaled' }
  /** A row with the same `(request_id, ownership_scope_key)` exists: no-op. */
  | { readonly kind: 'duplicate' }
  /** The cost would have taken the counted spend over a hard budget: no row. */
  | {
      readonly kind: 'blocked';
      readonly budget: Budget;
      readonly window: Window;
      readonly databaseTime: Date;
    };

/** The database cannot be queried; a later retry may succeed. */
export type StoreUnavailable = CodedError<'store_unavailable'>;

/** The database refused the record, and would refuse it again. */
export type NotRecorded = CodedError<'internal_error'>;

/** Admission and settlement. Each is one statement that concurrent requests share. */
export interface Ledger {
  readonly admit: (request: AdmissionRequest) => Promise<Either<StoreUnavailable, Admission>>;
  /** Left: the record is not known to be written, so nothing complete may reach the caller. */
  readonly settle: (record: SettlementRecord) => Promise<Either<StoreUnavailable | NotRecorded, Verdict>>;
}
