import type { Measure } from '../shared/rate-limit-names.ts';
import { type LimitStanding, standingAt, tightest, type Tightest } from './rate-limit.ts';

/** Which names the headers have: the clients of each API family read their own. */
export type HeaderStyle = 'openai' | 'messages';

/** The prefix of a style's headers, also of those that upstreams of that style send. */
export const headerPrefix = {
  openai: 'x-ratelimit-',
  messages: 'anthropic-ratelimit-',
} as const satisfies Record<HeaderStyle, string>;

/** The measures that have headers. There are none for requests in flight, because clients know no such header. */
const shown = ['requests', 'tokens'] as const satisfies readonly Measure[];

/**
 * For each measure the tightest limit, what remains of it, and when its window ends. A measure without limits has no
 * headers.
 */
export function limitHeaders(
  style: HeaderStyle,
  standings: readonly LimitStanding[],
  now: Date,
): Readonly<Record<string, string>> {
  const present = standings.map((standing) => standingAt(standing, now));
  return Object.assign(
    {},
    ...shown.map((measure) => {
      const found = tightest(present, measure);
      return found === undefined ? {} : headersOf[style](measure, found, now);
    }),
  );
}

type MeasureHeaders = (measure: string, found: Tightest, now: Date) => Readonly<Record<string, string>>;

const headersOf: Readonly<Record<HeaderStyle, MeasureHeaders>> = {
  openai: (measure, { limit, remaining, resetsAt }, now) => ({
    [`${headerPrefix.openai}limit-${measure}`]: String(limit),
    [`${headerPrefix.openai}remaining-${measure}`]: String(remaining),
    [`${headerPrefix.openai}reset-${measure}`]: `${Math.ceil((resetsAt.getTime() - now.getTime()) / 1000)}s`,
  }),
  messages: (measure, { limit, remaining, resetsAt }) => ({
    [`${headerPrefix.messages}${measure}-limit`]: String(limit),
    [`${headerPrefix.messages}${measure}-remaining`]: String(remaining),
    [`${headerPrefix.messages}${measure}-reset`]: resetsAt.toISOString().replace('.000Z', 'Z'),
  }),
};
