import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { maxAmount10000 } from '../money/money.ts';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { isObject, isString, type Json } from '../shared/json.ts';
import { maxNamedKeyChars } from '../shared/limits.ts';
import type { Cadence } from './budget.ts';

/** A budget as an admin sets it. */
export interface BudgetTerms {
  readonly cadence: Cadence;
  readonly amount10000: bigint;
  readonly hardLimit: boolean;
  /** A known IANA name; stored, but windows are always computed in UTC. */
  readonly timezone: string;
}

const cadences: readonly Cadence[] = ['daily', 'weekly', 'monthly'];
const fields = new Set(['cadence', 'amount_10000', 'hard_limit', 'timezone']);

/** Reads `{cadence, amount_10000, hard_limit, timezone?}`; an error names the field. */
export function readBudgetTerms(
  body: Json | undefined,
  isTimezone: (name: string) => boolean,
): Either<GatewayError, BudgetTerms> {
  if (!isObject(body)) return E.left(invalidRequest('The body must be a JSON object.', 'body'));
  const unknown = Object.keys(body)
    .find((key) => !fields.has(key))
    ?.slice(0, maxNamedKeyChars);
  if (unknown !== undefined)
    return E.left(invalidRequest(`\`${unknown}\` is no field of a budget.`, unknown));
  const { amount_10000: amount, hard_limit: hardLimit, timezone = 'UTC' } = body;
  const cadence = cadences.find((each) => each === body['cadence']);
  if (cadence === undefined)
    return E.left(invalidRequest('`cadence` must be `daily`, `weekly` or `monthly`.', 'cadence'));
  if (!isAmount(amount))
    return E.left(
      invalidRequest(`\`amount_10000\` must be a whole number from 0 to ${maxAmount10000}.`, 'amount_10000'),
    );
  if (typeof hardLimit !== 'boolean')
    return E.left(invalidRequest('`hard_limit` must be a boolean.', 'hard_limit'));
  if (!isString(timezone) || !isTimezone(timezone))
    return E.left(invalidRequest('`timezone` must be the name of an IANA time zone.', 'timezone'));
  return E.right({ cadence, amount10000: BigInt(amount), hardLimit, timezone });
}

const isAmount = (amount: Json | undefined): amount is number =>
  typeof amount === 'number' && Number.isInteger(amount) && amount >= 0 && amount <= Number(maxAmount10000);
