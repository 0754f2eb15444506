import type { LimitStanding, RateLimit } from '../../domain/limits/rate-limit.ts';
import type { LimitedTokens } from './ledger.ts';

/**
 * What this process last saw of rate limits, for the headers of answers: they cost no question to the database. What
 * other replicas count in between shows at the next admission here; limits are kept by the admission alone.
 */
export interface LimitStandings {
  readonly note: (standings: readonly LimitStanding[], databaseTime: Date) => void;
  /** Tokens of a request that is settled. */
  readonly spent: (used: Pick<LimitedTokens, 'limits' | 'tokens'>) => void;
  readonly of: (limits: readonly RateLimit[]) => LimitsNow;
}

export interface LimitsNow {
  readonly standings: readonly LimitStanding[];
  /** By the database's clock. */
  readonly now: Date;
}
