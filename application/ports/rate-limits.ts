import type { Either } from 'fp-ts/lib/Either.js';
import type { LimitStanding, LimitSubject, LimitTerms, SubjectKind } from '../../domain/limits/rate-limit.ts';
import type { AdminActor } from './admin-events.ts';
import type { Page, PageAsk } from './page.ts';

/** A rate limit as admins see it, with what is taken of it now. */
export interface StoredLimit {
  readonly standing: LimitStanding;
  /** Of the key or the person; undefined where there is none of the id any more. */
  readonly name: string | undefined;
  /** The file has it, and sets it again when it is taken up. */
  readonly fromConfig: boolean;
  /** From 1; raised by each change. */
  readonly version: number;
  readonly updatedAt: Date;
}

/** A change by an admin. */
export interface LimitChange {
  readonly subject: LimitSubject;
  readonly actor: AdminActor;
  /** The version that is to be changed; undefined: whichever there is. */
  readonly version: number | undefined;
}

/** Why a limit was not changed. */
export type LimitUnchanged =
  | { readonly kind: 'unknown_subject' }
  /** It has another version, or is gone: then there is none. */
  | { readonly kind: 'conflict'; readonly present: StoredLimit | undefined };

/** Rate limits, for admins. A change is in force on every replica within 5 seconds, and leaves its event. */
export interface RateLimits {
  /** By the kind and the id of what is limited. */
  readonly page: (kind: SubjectKind | undefined, ask: PageAsk) => Promise<Page<StoredLimit>>;
  /** The same terms again change nothing. A subject that was deactivated or revoked gets none. */
  readonly set: (change: LimitChange, terms: LimitTerms) => Promise<Either<LimitUnchanged, StoredLimit>>;
  readonly remove: (change: LimitChange) => Promise<Either<LimitUnchanged, { readonly deleted: boolean }>>;
}
