import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { TokenUsage } from '../ledger/usage.ts';
import { maxTokenCount } from '../shared/limits.ts';
import { type Measure, measures, type SubjectKind } from '../shared/rate-limit-names.ts';
import type { Window } from '../shared/window.ts';

/** What a rate limit applies to; `id` is the id in the subject's own table. */
export interface LimitSubject {
  readonly kind: SubjectKind;
  readonly id: string;
}

/**
 * The maximum of each measure: requests and tokens per minute, and requests in flight at once. `undefined` is no limit.
 */
export interface LimitTerms {
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
  readonly inFlight: number | undefined;
}

export interface RateLimit {
  readonly subject: LimitSubject;
  readonly terms: LimitTerms;
}

/** A limit, and how much of it is used in a window. */
export interface LimitStanding {
  readonly limit: RateLimit;
  readonly window: Window;
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
}

/** A measure of a limit of which nothing remains. */
export interface FullLimit {
  readonly standing: LimitStanding;
  readonly measure: Measure;
}

/** The key of a subject in tables and in memory. */
export const subjectKey = ({ kind, id }: LimitSubject): string => `${kind}:${id}`;

const minuteMs = 60_000;

/** The minute that contains `at`. Windows are half-open, so that each instant is in exactly one. */
export function minuteOf(at: Date): Window {
  const from = Math.floor(at.getTime() / minuteMs) * minuteMs;
  return { from: new Date(from), until: new Date(from + minuteMs) };
}

export const unusedStanding = (limit: RateLimit, at: Date): LimitStanding => ({
  limit,
  window: minuteOf(at),
  requests: 0,
  tokens: 0,
  inFlight: 0,
});

/**
 * The standing as it is at `at`. Requests and tokens no longer count once their window has ended, nor do those of a
 * window that begins later than the next minute, since only a wrong clock can have begun it. Requests in flight still
 * count.
 */
export const standingAt = (standing: LimitStanding, at: Date): LimitStanding =>
  isWindowOf(standing.window, at)
    ? standing
    : { ...unusedStanding(standing.limit, at), inFlight: standing.inFlight };

const isWindowOf = ({ from, until }: Window, at: Date): boolean =>
  at < until && from.getTime() <= minuteOf(at).until.getTime();

/**
 * The verdict of all limits that apply to a request. It is admitted when each limit has room in each of its measures,
 * and then counts in all of them; a refused request counts in none. `gateway_admit_limited` applies the rule in SQL
 * under the locks of the subjects. The store checks every verdict of the SQL against this function, and so do tests.
 */
export function limitVerdict(
  standings: readonly LimitStanding[],
): Either<readonly FullLimit[], readonly LimitStanding[]> {
  const full = standings.flatMap((standing) =>
    measures.filter((measure) => isFull(standing, measure)).map((measure) => ({ standing, measure })),
  );
  return full.length > 0 ? E.left(full) : E.right(standings.map(withRequest));
}

const withRequest = (standing: LimitStanding): LimitStanding => ({
  ...standing,
  requests: standing.requests + 1,
  inFlight: standing.inFlight + 1,
});

/**
 * Tokens are known only when a request ends. They count at that moment, in its window, and may take it over the limit.
 * A window that begins after that moment does not count them.
 */
export function withTokens(standing: LimitStanding, tokens: number, at: Date): LimitStanding {
  const now = standingAt(standing, at);
  return at < now.window.from ? now : { ...now, tokens: now.tokens + tokens };
}

const mostOf = ({ terms }: RateLimit, measure: Measure): number | undefined =>
  measure === 'in_flight' ? terms.inFlight : terms[measure];

const takenOf = (standing: LimitStanding, measure: Measure): number =>
  measure === 'in_flight' ? standing.inFlight : standing[measure];

/**
 * Never below 0, although a limit may have been lowered and tokens may exceed theirs. `undefined` when there is no
 * limit.
 */
function remainingOf(standing: LimitStanding, measure: Measure): number | undefined {
  const most = mostOf(standing.limit, measure);
  return most === undefined ? undefined : Math.max(0, most - takenOf(standing, measure));
}

const isFull = (standing: LimitStanding, measure: Measure): boolean => remainingOf(standing, measure) === 0;

/** The limit with the least remaining of a measure, and how much remains. */
export interface Tightest {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAt: Date;
}

/** `undefined` when none of the limits has this measure. Of several with the same remainder the first counts. */
export function tightest(standings: readonly LimitStanding[], measure: Measure): Tightest | undefined {
  let found: Tightest | undefined;
  for (const standing of standings) {
    const limit = mostOf(standing.limit, measure);
    const remaining = remainingOf(standing, measure);
    if (limit === undefined || remaining === undefined) continue;
    if (found === undefined || remaining < found.remaining)
      found = { limit, remaining, resetsAt: standing.window.until };
  }
  return found;
}

/** The tokens of a request as limits count them: output counts as it is billed, including reasoning. */
export const limitedTokens = ({ promptTokens, completionTokens, totalTokens }: TokenUsage): number =>
  Math.min(maxTokenCount, Math.max(totalTokens, promptTokens + completionTokens));
