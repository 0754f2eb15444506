import { limitHeaders } from '../../../domain/limits/limit-headers.ts';
import type { LimitStandings } from '../../../application/ports/limit-standings.ts';
import type { RateLimit } from '../../../domain/limits/rate-limit.ts';
import type { Envelope } from '../error-presenter.ts';
import type { RequestContext } from '../request-context.ts';

export interface LimitsPorts {
  /** The standing of these limits, as far as this process knows. */
  readonly limitsNow: LimitStandings['of'];
}

/** Sets the rate limit headers of an answer that is not sent yet. Does nothing without limits. */
export function setLimitHeaders(
  { limitsNow }: LimitsPorts,
  { res }: Pick<RequestContext, 'res'>,
  envelope: Envelope,
  limits: readonly RateLimit[] | undefined,
): void {
  if (limits === undefined || limits.length === 0 || res.headersSent) return;
  const { standings, now } = limitsNow(limits);
  for (const [name, value] of Object.entries(limitHeaders(envelope, standings, now)))
    res.setHeader(name, value);
}
