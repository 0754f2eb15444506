import { limitHeaders } from '../../../domain/limits/limit-headers.ts';
import type { LimitStandings } from '../../../application/ports/limit-standings.ts';
import type { RateLimit } from '../../../domain/limits/rate-limit.ts';
import type { Envelope } from '../error-presenter.ts';
import type { RequestContext } from '../request-context.ts';

export interface LimitsPorts {
  /** What these limits stand at, as far as this process knows. */
  readonly limitsNow: LimitStandings['of'];
}

/** Puts what is left of rate limits onto an answer that is yet to be sent; nothing where there are none. */
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
