import type { CatalogueEntry } from '../../domain/money/price-catalogue.ts';

/**
 * The entries as a `pricing.overrides` block of the configuration file, one line each, ready to paste, below a comment
 * with the origin of the numbers. JSON strings are YAML strings, so any name is safe.
 */
export const formatOverrides = (entries: readonly CatalogueEntry[]): string =>
  entries.length === 0
    ? 'pricing:\n  overrides: []\n'
    : `pricing:\n  overrides:\n${entries.map((entry, index) => provenance(entry, entries[index - 1]) + row(entry)).join('')}`;

/** Written once for each run of entries with the same source and date. */
const provenance = (entry: CatalogueEntry, before: CatalogueEntry | undefined): string =>
  before?.source === entry.source && before.effectiveFrom === entry.effectiveFrom
    ? ''
    : `    # ${entry.source}, in force from ${entry.effectiveFrom}\n`;

const row = (entry: CatalogueEntry): string => {
  const fields = [
    `provider: ${JSON.stringify(entry.pricingProviderId)}`,
    `model: ${JSON.stringify(entry.upstreamModel)}`,
    `input_usd_per_million: ${JSON.stringify(entry.inputUsdPerMillion)}`,
    `output_usd_per_million: ${JSON.stringify(entry.outputUsdPerMillion)}`,
  ];
  return `    - { ${fields.join(', ')} }\n`;
};
