import * as t from 'io-ts';
import type { LimitTerms, RateLimit } from '../../domain/limits/rate-limit.ts';
import type { SubjectKind } from '../../domain/shared/rate-limit-names.ts';
import { nullable } from './codecs.ts';

/** The terms of a row of `rate_limits` inside a JSON value. Every limit fits a number. */
export const limitColumns = t.type({
  requests_per_minute: nullable(t.number),
  tokens_per_minute: nullable(t.number),
  requests_in_flight: nullable(t.number),
});

export const termsOf = (columns: t.TypeOf<typeof limitColumns>): LimitTerms => ({
  requests: columns.requests_per_minute ?? undefined,
  tokens: columns.tokens_per_minute ?? undefined,
  inFlight: columns.requests_in_flight ?? undefined,
});

const subjectKind = t.keyof({
  api_key: null,
  user: null,
  team: null,
  model: null,
} satisfies Record<SubjectKind, null>);

/** A whole row inside a JSON value, as `to_json` prints it. */
export const limitJson = t.intersection([
  limitColumns,
  t.type({ subject_kind: subjectKind, subject_id: t.string }),
]);

export const rateLimitOf = (found: t.TypeOf<typeof limitJson>): RateLimit => ({
  subject: { kind: found.subject_kind, id: found.subject_id },
  terms: termsOf(found),
});
