import { type Picodollars, pricePerToken } from './money.ts';

/** A public or configured price, as text: USD per million tokens, at most 6 fraction digits. */
export interface CatalogueEntry {
  readonly pricingProviderId: string;
  readonly upstreamModel: string;
  readonly inputUsdPerMillion: string;
  readonly outputUsdPerMillion: string;
  /** RFC 3339 UTC instant from which the price holds, until a later entry of the same pair does. */
  readonly effectiveFrom: string;
  /** Where the number comes from; stored on each row that it priced. */
  readonly source: string;
}

/** What one token costs, in picodollars, and where that is written. */
export interface Price {
  readonly input: Picodollars;
  readonly output: Picodollars;
  readonly source: string;
}

export interface PriceCatalogue {
  /** The price of exactly this pair, effective at `at` (milliseconds since the epoch). */
  readonly priceOf: (pricingProviderId: string, upstreamModel: string, at: number) => Price | undefined;
}

interface DatedPrice extends Price {
  readonly from: number;
}

/**
 * Exact match or nothing. Overrides come after the bundled entries: for a pair that has overrides, only they
 * count. Entries whose text is no price are a defect of the data and throw.
 */
export function priceCatalogue(
  bundled: readonly CatalogueEntry[],
  overrides: readonly CatalogueEntry[],
): PriceCatalogue {
  const prices = new Map([...byPair(bundled), ...byPair(overrides)]);
  return {
    priceOf: (provider, model, at) =>
      prices.get(pairKey(provider, model))?.findLast(({ from }) => from <= at),
  };
}

const pairKey = (provider: string, model: string): string => JSON.stringify([provider, model]);

function byPair(entries: readonly CatalogueEntry[]): ReadonlyMap<string, readonly DatedPrice[]> {
  const grouped = new Map<string, DatedPrice[]>();
  for (const entry of entries) {
    const key = pairKey(entry.pricingProviderId, entry.upstreamModel);
    grouped.set(key, [...(grouped.get(key) ?? []), datedPrice(entry)]);
  }
  for (const dated of grouped.values()) dated.sort((a, b) => a.from - b.from);
  return grouped;
}

function datedPrice(entry: CatalogueEntry): DatedPrice {
  const input = pricePerToken(entry.inputUsdPerMillion);
  const output = pricePerToken(entry.outputUsdPerMillion);
  const from = Date.parse(entry.effectiveFrom);
  if (input === undefined || output === undefined || Number.isNaN(from))
    throw new TypeError(`not a price: ${entry.pricingProviderId} ${entry.upstreamModel}`);
  return { input, output, source: entry.source, from };
}
