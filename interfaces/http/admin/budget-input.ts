import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { BudgetTerms } from '../../../domain/budget/budget-terms.ts';
import { maxAmount10000 } from '../../../domain/money/money.ts';
import { type GatewayError, invalidRequest } from '../../../domain/shared/gateway-error.ts';
import { isObject, type Json } from '../../../domain/shared/json.ts';
import { input, otherwise, readInputs } from './inputs.ts';

const cadences: readonly BudgetTerms['cadence'][] = ['daily', 'weekly', 'monthly'];

const cadence = input('must be `daily`, `weekly` or `monthly`', (given) =>
  cadences.find((each) => each === given),
);

const amount = input(`must be a whole number from 0 to ${maxAmount10000}`, (given) =>
  typeof given === 'number' && Number.isInteger(given) && given >= 0 && given <= Number(maxAmount10000)
    ? BigInt(given)
    : undefined,
);

const boolean = input('must be a boolean', (given) => (typeof given === 'boolean' ? given : undefined));

const timezone = (isTimezone: (name: string) => boolean) =>
  input('must be the name of an IANA time zone', (given) =>
    typeof given === 'string' && isTimezone(given) ? given : undefined,
  );

/** Reads `{cadence, amount_10000, hard_limit, timezone?}`; an error names the field. */
export function readBudgetTerms(
  body: Json | undefined,
  isTimezone: (name: string) => boolean,
): Either<GatewayError, BudgetTerms> {
  if (!isObject(body)) return E.left(invalidRequest('The body must be a JSON object.', 'body'));
  const inputs = {
    cadence,
    amount_10000: amount,
    hard_limit: boolean,
    timezone: otherwise(timezone(isTimezone), 'UTC'),
  };
  return pipe(
    readInputs(body, inputs, (name) => `\`${name}\` is no field of a budget.`),
    E.map(({ amount_10000: amount10000, hard_limit: hardLimit, ...rest }) => ({
      ...rest,
      amount10000,
      hardLimit,
    })),
  );
}
