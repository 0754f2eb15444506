import type { LimitStanding, RateLimit } from '../../domain/limits/rate-limit.ts';
import type { LimitedTokens } from './ledger.ts';

/**
 * What this process last saw of rate limits, for the headers of answers, so that they need no query. What other
 * replicas count in between shows at the next admission here. Limits are enforced by admission alone.
 */
export interface LimitStandings {
  readonly note: (standings: readonly LimitStanding[], databaseTime: Date) => void;
  /** The tokens of a settled request. */
  readonly spent: (used: Pick<LimitedTokens, 'limits' | 'tokens'>) => void;
  readonly of: (limits: readonly RateLimit[]) => LimitsNow;
}

export interface LimitsNow {
  readonly standings: readonly LimitStanding[];
  /** By the database's clock. */
  readonly now: Date;
}
