import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type * as t from 'io-ts';
import type { StoredLimit } from '../../../application/ports/rate-limits.ts';
import type { LimitTerms } from '../../../domain/limits/rate-limit.ts';
import { subjectKinds } from '../../../domain/shared/rate-limit-names.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { choiceValue, countValue, flagValue, instantValue, objectOf, orNull, textValue } from '../answers.ts';
import { optionalInput, nullableInput, type ValuesOf, integerInput } from './inputs.ts';

const most = optionalInput(nullableInput(integerInput(1, Number.MAX_SAFE_INTEGER)));

/** `{requests_per_minute?, tokens_per_minute?, requests_in_flight?}`: null means the same as a missing member. */
export const limitBody = {
  of: 'a rate limit',
  members: { requests_per_minute: most, tokens_per_minute: most, requests_in_flight: most },
};

/** The terms of a body. A limit that limits nothing is rejected: such a limit is deleted instead. */
export function limitTerms(body: ValuesOf<typeof limitBody.members>): Either<GatewayError, LimitTerms> {
  const terms = {
    requests: body.requests_per_minute ?? undefined,
    tokens: body.tokens_per_minute ?? undefined,
    inFlight: body.requests_in_flight ?? undefined,
  };
  const isNone = Object.values(terms).every((each) => each === undefined);
  return isNone ? E.left(needsOne) : E.right(terms);
}

const needsOne = invalidRequest(
  'A rate limit needs one of `requests_per_minute`, `tokens_per_minute` and `requests_in_flight`.',
  'requests_per_minute',
);

const subjectKind = choiceValue(subjectKinds);

export const rateLimit = objectOf({
  subject_kind: subjectKind,
  subject_id: textValue,
  subject_name: orNull(textValue),
  requests_per_minute: orNull(countValue),
  tokens_per_minute: orNull(countValue),
  requests_in_flight: orNull(countValue),
  current_window: objectOf({
    start: instantValue,
    end: instantValue,
    requests: countValue,
    tokens: countValue,
  }),
  in_flight: countValue,
  from_config: flagValue,
  version: countValue,
  updated_at: instantValue,
});

export const removedLimit = objectOf({
  subject_kind: subjectKind,
  subject_id: textValue,
  deleted: flagValue,
});

export function presentLimit({
  standing,
  name,
  fromConfig,
  version,
  updatedAt,
}: StoredLimit): t.TypeOf<typeof rateLimit> {
  const { limit, window, requests, tokens, inFlight } = standing;
  return {
    subject_kind: limit.subject.kind,
    subject_id: limit.subject.id,
    subject_name: name ?? null,
    requests_per_minute: limit.terms.requests ?? null,
    tokens_per_minute: limit.terms.tokens ?? null,
    requests_in_flight: limit.terms.inFlight ?? null,
    current_window: {
      start: window.from.toISOString(),
      end: window.until.toISOString(),
      requests,
      tokens,
    },
    in_flight: inFlight,
    from_config: fromConfig,
    version,
    updated_at: updatedAt.toISOString(),
  };
}
