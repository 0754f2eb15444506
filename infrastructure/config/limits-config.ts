import type { LimitTerms } from '../../domain/limits/rate-limit.ts';
import { object, optional, refined } from './object-codecs.ts';
import { integer, type TypeOf } from './scalar-codecs.ts';

/** The minimum is 1: an owner that may do nothing needs no key, and a limit of 0 would tell it to retry in a minute. */
const most = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

const limitsCodec = refined(
  object({
    requests_per_minute: optional(
      most,
      'Requests admitted per minute, which starts at :00 of the database clock.',
    ),
    tokens_per_minute: optional(
      most,
      'Tokens per minute, counted when a request ends; once they are used up, no request is admitted until the next minute.',
    ),
    requests_in_flight: optional(most, 'Concurrent requests, across all replicas.'),
  }),
  (limits) =>
    Object.values(limits).every((each) => each === undefined)
      ? [
          {
            at: [],
            message: 'needs one of requests_per_minute, tokens_per_minute and requests_in_flight',
          },
        ]
      : [],
);

export const limits = optional(limitsCodec, 'Rate limits, across all replicas; none unless set.');

export const toLimits = (wire: TypeOf<typeof limitsCodec> | undefined): LimitTerms | undefined =>
  wire === undefined
    ? undefined
    : {
        requests: wire.requests_per_minute,
        tokens: wire.tokens_per_minute,
        inFlight: wire.requests_in_flight,
      };
