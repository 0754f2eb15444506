import type { Measure, SubjectKind } from '../shared/rate-limit-names.ts';
import type { CodedError } from '../shared/gateway-error.ts';
import type { FullLimit, RateLimit } from './rate-limit.ts';

/**
 * The refusal of a request when limits are full. The request may be retried: `Retry-After` is the longest wait of all
 * full limits, which is the time to the end of the window, or one second for requests in flight.
 */
export function rateLimited(
  full: readonly [FullLimit, ...FullLimit[]],
  now: Date,
): CodedError<'rate_limited'> {
  const longest = full.reduce((found, each) => (waitSecs(each, now) > waitSecs(found, now) ? each : found));
  const wait = waitSecs(longest, now);
  const {
    standing: { limit },
    measure,
  } = longest;
  return {
    code: 'rate_limited',
    message: `Rate limit reached: ${named[limit.subject.kind](limit)} ${mayDo[measure](limit)}; try again in ${wait} s.`,
    retryAfterSecs: wait,
    rateLimit: { subjectKind: limit.subject.kind, measure },
  };
}

/** At least 1 and never less than the time left, so that a caller who waits this long retries in a new window. */
const waitSecs = ({ standing: { window }, measure }: FullLimit, now: Date): number =>
  measure === 'in_flight' ? 1 : Math.max(1, Math.ceil((window.until.getTime() - now.getTime()) / 1000));

const named: Readonly<Record<SubjectKind, (limit: RateLimit) => string>> = {
  api_key: () => 'this API key',
  user: () => 'the user of this API key',
  team: () => 'the team of this API key',
  model: ({ subject }) => `the model \`${subject.id}\``,
};

const mayDo: Readonly<Record<Measure, (limit: RateLimit) => string>> = {
  requests: ({ terms }) => `has ${terms.requests} requests a minute`,
  tokens: ({ terms }) => `has ${terms.tokens} tokens a minute`,
  in_flight: ({ terms }) => `has ${terms.inFlight} requests in flight at once`,
};
