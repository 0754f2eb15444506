import type { LimitedTokens } from '../application/ports/ledger.ts';
import type { Clock } from '../application/ports/clock.ts';
import {
  type RateLimit,
  type Standing,
  subjectKey,
  untouched,
  withTokens,
} from '../domain/limits/rate-limit.ts';

/**
 * What this process last saw of rate limits, for the headers of answers: they cost no question to the database. What
 * other replicas count in between shows at the next admission here; limits are kept by the admission alone.
 */
export interface LimitStandings {
  readonly note: (standings: readonly Standing[], databaseTime: Date) => void;
  /** Tokens of a request that is settled. */
  readonly spent: (used: Pick<LimitedTokens, 'limits' | 'tokens'>) => void;
  readonly of: (limits: readonly RateLimit[]) => LimitsNow;
}

export interface LimitsNow {
  readonly standings: readonly Standing[];
  /** By the database's clock. */
  readonly now: Date;
}

/** Subjects that are remembered: as many as keys are. Beyond it those that were seen first are forgotten. */
const maxRemembered = 50_000;

export function limitStandings(clock: Pick<Clock, 'now'>): LimitStandings {
  const known = new Map<string, Standing>();
  /** How far the database's clock is before this one. */
  let aheadMs = 0;
  const now = (): Date => new Date(clock.now() + aheadMs);
  const remember = (standing: Standing): void => {
    const key = subjectKey(standing.limit.subject);
    known.delete(key);
    known.set(key, standing);
    const [oldest] = known.size > maxRemembered ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
  };
  const of = (limit: RateLimit): Standing => {
    const standing = known.get(subjectKey(limit.subject)) ?? untouched(limit, now());
    return { ...standing, limit };
  };
  return {
    note: (standings, databaseTime) => {
      aheadMs = databaseTime.getTime() - clock.now();
      standings.forEach(remember);
    },
    spent: ({ limits, tokens }) => {
      for (const limit of limits) remember(withTokens(of(limit), tokens, now()));
    },
    of: (limits) => ({ standings: limits.map(of), now: now() }),
  };
}
