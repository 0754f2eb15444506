import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type { TokenUsage } from '../ledger/usage.ts';
import { maxTokenCount } from '../shared/limits.ts';
import type { Window } from '../shared/window.ts';

/** What may have a rate limit. A service account has none of its own: its requests are its team's. */
export const subjectKinds = ['api_key', 'user', 'team', 'model'] as const;
export type SubjectKind = (typeof subjectKinds)[number];

/** What a rate limit is set for; `id` is that of its own table. */
export interface LimitSubject {
  readonly kind: SubjectKind;
  readonly id: string;
}

/** What a limit counts; the order is that in which a refusal names them. */
const measures = ['requests', 'tokens', 'in_flight'] as const;
export type Measure = (typeof measures)[number];

/** The most of each measure: of requests and tokens in a minute, and in flight at once. Undefined: as many as come. */
export interface LimitTerms {
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
  readonly inFlight: number | undefined;
}

export interface RateLimit {
  readonly subject: LimitSubject;
  readonly terms: LimitTerms;
}

/** A limit, and what is taken of it in a window. */
export interface LimitStanding {
  readonly limit: RateLimit;
  readonly window: Window;
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
}

/** A measure of a limit of which nothing is left. */
export interface FullLimit {
  readonly standing: LimitStanding;
  readonly measure: Measure;
}

/** As tables and memory name it. */
export const subjectKey = ({ kind, id }: LimitSubject): string => `${kind}:${id}`;

const minuteMs = 60_000;

/** The minute that holds `at`; half-open, so that an instant is in exactly one. */
export function minuteOf(at: Date): Window {
  const from = Math.floor(at.getTime() / minuteMs) * minuteMs;
  return { from: new Date(from), until: new Date(from + minuteMs) };
}

export const untouched = (limit: RateLimit, at: Date): LimitStanding => ({
  limit,
  window: minuteOf(at),
  requests: 0,
  tokens: 0,
  inFlight: 0,
});

/**
 * In a window that has ended nothing counts any more, nor in one that begins later than the next: a clock that was wrong
 * began it. What is in flight still is.
 */
export const standingAt = (standing: LimitStanding, at: Date): LimitStanding =>
  isWindowOf(standing.window, at)
    ? standing
    : { ...untouched(standing.limit, at), inFlight: standing.inFlight };

const isWindowOf = ({ from, until }: Window, at: Date): boolean =>
  at < until && from.getTime() <= minuteOf(at).until.getTime();

/**
 * The verdict of all limits that a request comes under: it is admitted where each has room in each of its measures, and
 * then counts in all of them; one that is refused counts in none. `gateway_admit_limited` applies the rule in SQL under
 * the locks of the subjects, and tests hold it against this.
 */
export function judged(
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
 * Tokens are known when a request ends: they count then, in the window of that moment, and may overfill it; in a window
 * that begins after it they count no more.
 */
export function withTokens(standing: LimitStanding, tokens: number, at: Date): LimitStanding {
  const now = standingAt(standing, at);
  return at < now.window.from ? now : { ...now, tokens: now.tokens + tokens };
}

const mostOf = ({ terms }: RateLimit, measure: Measure): number | undefined =>
  measure === 'in_flight' ? terms.inFlight : terms[measure];

const takenOf = (standing: LimitStanding, measure: Measure): number =>
  measure === 'in_flight' ? standing.inFlight : standing[measure];

/** Never below 0: a limit may have been lowered, and tokens overfill theirs. Undefined where there is no limit. */
function remainingOf(standing: LimitStanding, measure: Measure): number | undefined {
  const most = mostOf(standing.limit, measure);
  return most === undefined ? undefined : Math.max(0, most - takenOf(standing, measure));
}

const isFull = (standing: LimitStanding, measure: Measure): boolean => remainingOf(standing, measure) === 0;

/** The limit of a measure that has the least left of all, and how much that is. */
export interface Tightest {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAt: Date;
}

/** Undefined where none of the limits has this measure. Of several with as little left the first is meant. */
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

/** Tokens of a request as limits count them: output is counted as it is billed, reasoning too. */
export const limitedTokens = ({ promptTokens, completionTokens, totalTokens }: TokenUsage): number =>
  Math.min(maxTokenCount, Math.max(totalTokens, promptTokens + completionTokens));
