import type { Picodollars } from '../money/money.ts';
import type { Price } from '../money/price-catalogue.ts';
import { priceUsage } from './price-usage.ts';
import type { TokenUsage } from './usage.ts';

/** Ledger pricing status: the four states of the specification (rule 7.6). */
export type PricingStatus = 'priced' | 'legacy_estimated' | 'unpriced' | 'usage_missing';

/**
 * Only rows of the statuses that are `true` here count toward spend and budget windows; the others are visible in
 * reports.
 */
export const countsTowardSpend = {
  priced: true,
  legacy_estimated: true,
  unpriced: false,
  usage_missing: false,
} as const satisfies Record<PricingStatus, boolean>;

/** What one accounted request used and cost. */
export type UsageCost =
  | {
      readonly pricingStatus: 'priced';
      readonly usage: TokenUsage;
      readonly price: Price;
      readonly cost: Picodollars;
    }
  | {
      readonly pricingStatus: 'unpriced';
      readonly usage: TokenUsage;
      readonly unpricedReason: string;
    }
  | { readonly pricingStatus: 'usage_missing' };

/** Why a row, or a route, is unpriced. */
export const noCataloguePrice = 'no_catalogue_price';

/**
 * `priced` when the provider's usage can be normalised and the catalogue has a price for the exact pair,
 * `usage_missing` without usage, and `unpriced` with usage but without an exact catalogue match.
 */
export function usageCost(usage: TokenUsage | undefined, price: Price | undefined): UsageCost {
  if (usage === undefined) return { pricingStatus: 'usage_missing' };
  if (price === undefined) return { pricingStatus: 'unpriced', usage, unpricedReason: noCataloguePrice };
  return { pricingStatus: 'priced', usage, price, cost: priceUsage(usage, price) };
}
