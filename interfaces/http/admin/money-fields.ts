import { type Picodollars, toUsd, toUsd10000 } from '../../../domain/money/money.ts';
import type { JsonObject } from '../../../domain/shared/json.ts';

/** JSON shows money twice (rule 36.6): exact decimal text, and rounded for display. */
export const moneyFields = (name: string, amount: Picodollars): JsonObject => ({
  [`${name}_usd`]: toUsd(amount),
  [`${name}_usd_10000`]: Number(toUsd10000(amount)),
});
