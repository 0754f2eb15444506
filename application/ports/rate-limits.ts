import type { Either } from 'fp-ts/lib/Either.js';
import type { LimitStanding, LimitSubject, LimitTerms } from '../../domain/limits/rate-limit.ts';
import type { SubjectKind } from '../../domain/shared/rate-limit-names.ts';
import type { AdminActor } from './admin-events.ts';
import type { Page, PageRequest } from './page.ts';

/** A rate limit as shown to admins, with what is used of it now. */
export interface StoredLimit {
  readonly standing: LimitStanding;
  /** The name of the key or the person; `undefined` when the id no longer exists. */
  readonly name: string | undefined;
  /** The limit is in the file, which sets it again whenever it is applied. */
  readonly fromConfig: boolean;
  /** Starts at 1; each change increments it. */
  readonly version: number;
  readonly updatedAt: Date;
}

/** A change by an admin. */
export interface LimitChange {
  readonly subject: LimitSubject;
  readonly actor: AdminActor;
  /** The version to change; `undefined` for whichever there is. */
  readonly version: number | undefined;
}

/** Why a limit was not changed. */
export type LimitUnchanged =
  | { readonly kind: 'unknown_subject' }
  /** It has another version, or is gone; then `present` is `undefined`. */
  | { readonly kind: 'conflict'; readonly present: StoredLimit | undefined };

/** Rate limits, for admins. A change is in force on every replica within 5 seconds, and writes its event. */
export interface RateLimits {
  /** Ordered by the kind and the id of the subject. */
  readonly page: (kind: SubjectKind | undefined, page: PageRequest) => Promise<Page<StoredLimit>>;
  /** Identical terms change nothing. A deactivated or revoked subject gets no limit. */
  readonly set: (change: LimitChange, terms: LimitTerms) => Promise<Either<LimitUnchanged, StoredLimit>>;
  readonly remove: (change: LimitChange) => Promise<Either<LimitUnchanged, { readonly deleted: boolean }>>;
}
