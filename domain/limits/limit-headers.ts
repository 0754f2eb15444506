import { type Measure, type LimitStanding, standingAt, tightest, type Tightest } from './rate-limit.ts';

/** Whose names the headers have: each family's clients read their own. */
export type HeaderStyle = 'openai' | 'messages';

/** What the headers of a style begin with, upstreams' own of that style too. */
export const headerPrefix = {
  openai: 'x-ratelimit-',
  messages: 'anthropic-ratelimit-',
} as const satisfies Record<HeaderStyle, string>;

/** There are no headers of what is in flight: clients know none. */
const shown = ['requests', 'tokens'] as const satisfies readonly Measure[];

/** What is left of the tightest limit of each measure, and when its window ends; nothing of a measure without limits. */
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
    [`x-ratelimit-limit-${measure}`]: String(limit),
    [`x-ratelimit-remaining-${measure}`]: String(remaining),
    [`x-ratelimit-reset-${measure}`]: `${Math.ceil((resetsAt.getTime() - now.getTime()) / 1000)}s`,
  }),
  messages: (measure, { limit, remaining, resetsAt }) => ({
    [`anthropic-ratelimit-${measure}-limit`]: String(limit),
    [`anthropic-ratelimit-${measure}-remaining`]: String(remaining),
    [`anthropic-ratelimit-${measure}-reset`]: resetsAt.toISOString().replace('.000Z', 'Z'),
  }),
};
