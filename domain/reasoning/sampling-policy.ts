import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { fieldError } from '../shared/field-errors.ts';
import type { GatewayError } from '../shared/gateway-error.ts';
import { isAbsent, type JsonObject, numberOf } from '../shared/json.ts';
import type { ModelTier } from './model-tier.ts';

/** The sampling fields, each with the default value that is left out; `top_k` has no default. */
const defaults = [
  { field: 'temperature', silent: 1 },
  { field: 'top_p', silent: 1 },
  { field: 'top_k', silent: undefined },
] as const;

export type SamplingField = (typeof defaults)[number]['field'];

/**
 * Returns the sampling fields to leave out. The latest tier rejects `temperature`, `top_p` and `top_k` that are not the
 * default, and omits the defaults `temperature: 1` and `top_p: 1`. Other tiers, and models of no tier, take all of them
 * unchanged.
 */
export function omittedSampling(
  tier: ModelTier | undefined,
  body: JsonObject,
): Either<GatewayError, readonly SamplingField[]> {
  if (tier !== 'latest') return E.right([]);
  const present = defaults.filter(({ field }) => !isAbsent(body[field]));
  const refused = present.find(
    ({ field, silent }) => silent === undefined || numberOf(body[field]) !== silent,
  );
  if (refused === undefined) return E.right(present.map(({ field }) => field));
  const fix = refused.silent === undefined ? 'leave it out' : 'leave it out or send 1';
  return E.left(fieldError(refused.field, `cannot be set on this model, which samples by itself: ${fix}.`));
}
