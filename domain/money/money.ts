import type { Named } from '../shared/named.ts';

/**
 * Money is a whole number of picodollars (1e-12 USD), in `bigint`: exact, and rounded only for display (`toUsd10000`).
 */
export type Picodollars = Named<bigint, 'picodollars'>;

/** Money in the unit of budgets and of the API: a whole number of 1e-4 USD. */
export type Amount10000 = Named<bigint, 'amount_10000'>;

const picodollarsPerUsd = 1_000_000_000_000n;
/** Budget amounts are scaled by 10000, so one unit is 1e-4 USD. */
const picodollarsPerAmountUnit = 100_000_000n;

/** The largest `amount_10000`: 2^53 − 1, so that JSON numbers carry it exactly. */
export const maxAmount10000: Amount10000 = 9_007_199_254_740_991n;

export const fromAmount10000 = (amount: Amount10000): Picodollars => amount * picodollarsPerAmountUnit;

const decimal = /^(\d{1,12})(?:\.(\d{1,6}))?$/;

/**
 * Reads a price in USD per million tokens, decimal text with at most 6 fraction digits, as picodollars per token. A
 * price of 1 USD per million tokens is 1 000 000 picodollars per token, so that six decimals give a whole number.
 * `undefined` when the text is not such a price.
 */
export function pricePerToken(usdPerMillion: string): Picodollars | undefined {
  const [, whole, fraction = ''] = decimal.exec(usdPerMillion) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(6, '0'));
}

/** Exact decimal text in USD, without trailing zeros: `0.00000015`. */
export function toUsd(amount: Picodollars): string {
  const sign = amount < 0n ? '-' : '';
  const size = amount < 0n ? 0n - amount : amount;
  const fraction = (size % picodollarsPerUsd).toString().padStart(12, '0').replace(/0+$/, '');
  return `${sign}${size / picodollarsPerUsd}${fraction === '' ? '' : `.${fraction}`}`;
}

/** The one rounding rule, for display only: units of 1e-4 USD, rounded half up. */
export const toUsd10000 = (amount: Picodollars): Amount10000 => {
  const doubled = 2n * amount + picodollarsPerAmountUnit;
  const divisor = 2n * picodollarsPerAmountUnit;
  const floored = doubled / divisor;
  return doubled < 0n && doubled % divisor !== 0n ? floored - 1n : floored;
};
