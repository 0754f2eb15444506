import { type Picodollars, pricePerToken } from './money.ts';

/** A public or configured price, as text: USD per million tokens, at most 6 fraction digits. */
export interface CatalogueEntry {
  readonly pricingProviderId: string;
  readonly upstreamModel: string;
  readonly inputUsdPerMillion: string;
  readonly outputUsdPerMillion: string;
  /** RFC 3339 UTC instant from which the price applies, until a later entry of the same pair takes effect. */
  readonly effectiveFrom: string;
  /** Where the price comes from; stored on each ledger row that it priced. */
  readonly source: string;
}

/** The price of one token, in picodollars, and its source. */
export interface Price {
  readonly input: Picodollars;
  readonly output: Picodollars;
  readonly source: string;
}

/** The price of a million tokens, from the price of one. */
export const perMillionTokens = (perToken: Picodollars): Picodollars => perToken * 1_000_000n;

export interface PriceCatalogue {
  /** The price of exactly this pair, effective at `at` (milliseconds since the epoch). */
  readonly priceOf: (pricingProviderId: string, upstreamModel: string, at: number) => Price | undefined;
}

interface DatedPrice extends Price {
  readonly from: number;
}

/**
 * Matches the exact pair or nothing. For a pair that has overrides, only the overrides count and its bundled entries
 * are ignored. An entry whose text is not a price is a defect of the data, and throws.
 */
export function priceCatalogue(
  bundled: readonly CatalogueEntry[],
  overrides: readonly CatalogueEntry[],
): PriceCatalogue {
  const prices = byPair(bundled);
  for (const [provider, models] of byPair(overrides))
    prices.set(provider, new Map([...(prices.get(provider) ?? []), ...models]));
  return {
    priceOf: (provider, model, at) =>
      prices
        .get(provider)
        ?.get(model)
        ?.findLast(({ from }) => from <= at),
  };
}

/** By provider, then by model. The prices of a pair are sorted by their instants. */
type PricesByPair = Map<string, Map<string, readonly DatedPrice[]>>;

function byPair(entries: readonly CatalogueEntry[]): PricesByPair {
  const grouped: PricesByPair = new Map();
  for (const entry of entries) {
    const models = grouped.get(entry.pricingProviderId) ?? new Map<string, readonly DatedPrice[]>();
    const dated = [...(models.get(entry.upstreamModel) ?? []), datedPrice(entry)];
    models.set(
      entry.upstreamModel,
      dated.sort((a, b) => a.from - b.from),
    );
    grouped.set(entry.pricingProviderId, models);
  }
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
