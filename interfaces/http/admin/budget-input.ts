import type { BudgetTerms } from '../../../domain/budget/budget-terms.ts';
import { maxAmount10000 } from '../../../domain/money/money.ts';
import {
  choiceInput,
  flagInput,
  type Input,
  input,
  otherwise,
  type ValuesOf,
  integerInput,
} from './inputs.ts';

const timezone = (isTimezone: (name: string) => boolean): Input<string> =>
  input(
    'must be the name of an IANA time zone',
    { type: 'string', examples: ['UTC', 'Europe/Paris'] },
    (given) => (typeof given === 'string' && isTimezone(given) ? given : undefined),
  );

const cadences = ['daily', 'weekly', 'monthly'] as const satisfies readonly BudgetTerms['cadence'][];

const terms = (isTimezone: (name: string) => boolean) => ({
  cadence: choiceInput(cadences),
  amount_10000: integerInput(0, Number(maxAmount10000)),
  timezone: otherwise(timezone(isTimezone), 'UTC'),
});

/** `{cadence, amount_10000, hard_limit, timezone?}`. */
export const budgetBody = (isTimezone: (name: string) => boolean) => ({
  of: 'a budget',
  members: { ...terms(isTimezone), hard_limit: flagInput },
});

/** `{cadence, amount_10000, timezone?}`: a dry run always assumes a hard budget. */
export const dryRunBody = (isTimezone: (name: string) => boolean) => ({
  of: 'a dry run',
  members: terms(isTimezone),
});

export const budgetTerms = ({
  amount_10000: amount10000,
  hard_limit: hardLimit,
  ...rest
}: ValuesOf<ReturnType<typeof budgetBody>['members']>): BudgetTerms => ({
  ...rest,
  amount10000: BigInt(amount10000),
  hardLimit,
});
