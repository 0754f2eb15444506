import type { Clock } from '../application/ports/clock.ts';
import type { LimitStandings } from '../application/ports/limit-standings.ts';
import {
  type RateLimit,
  type LimitStanding,
  subjectKey,
  unusedStanding,
  withTokens,
} from '../domain/limits/rate-limit.ts';

/** Remembered subjects: as many as there are keys. Beyond that, the least recently seen ones are evicted. */
const maxRemembered = 50_000;

export function limitStandings(clock: Pick<Clock, 'now'>): LimitStandings {
  const known = new Map<string, LimitStanding>();
  /** How far the database's clock is ahead of this one. */
  let aheadMs = 0;
  const now = (): Date => new Date(clock.now() + aheadMs);
  const remember = (standing: LimitStanding): void => {
    const key = subjectKey(standing.limit.subject);
    known.delete(key);
    known.set(key, standing);
    const [oldest] = known.size > maxRemembered ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
  };
  const of = (limit: RateLimit): LimitStanding => {
    const standing = known.get(subjectKey(limit.subject)) ?? unusedStanding(limit, now());
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
