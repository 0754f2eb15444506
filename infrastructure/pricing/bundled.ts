import { readFileSync } from 'node:fs';
import * as E from 'fp-ts/lib/Either.js';
import * as t from 'io-ts';
import type { CatalogueEntry } from '../../domain/money/price-catalogue.ts';
import { isUtcInstant } from './instant.ts';

/** Decimal text, USD per million tokens, at most 6 decimals (rule 36.1). */
const price = t.refinement(t.string, (text) => /^\d{1,12}(\.\d{1,6})?$/.test(text), 'price');
const instant = t.refinement(t.string, isUtcInstant, 'UTC instant');
const name = t.refinement(t.string, (text) => text !== '', 'name');

const catalogueRow = t.strict({
  provider: name,
  model: name,
  input_usd_per_million: price,
  output_usd_per_million: price,
  effective_from: instant,
  source: name,
});

const catalogueRows = t.array(catalogueRow);

/**
 * The prices that ship with the gateway. Each call reads and decodes the file, so call it once, at startup. A missing
 * or malformed file is a defect of the installation and throws: a gateway without its prices would count nothing
 * against any budget.
 */
export const bundledCatalogue = (): readonly CatalogueEntry[] =>
  decodeCatalogue(readFileSync(new URL('./catalogue.json', import.meta.url), 'utf8'));

/** The entries of a catalogue file's text. Throws on any fault, naming the first bad place. */
export function decodeCatalogue(text: string): readonly CatalogueEntry[] {
  const decoded = catalogueRows.decode(JSON.parse(text));
  if (E.isLeft(decoded)) throw new TypeError(`price catalogue: ${firstFault(decoded.left)}`);
  if (decoded.right.length === 0) throw new TypeError('price catalogue: no rows');
  const entries = decoded.right.map(toEntry);
  const seen = new Set<string>();
  for (const { pricingProviderId, upstreamModel, effectiveFrom } of entries) {
    const key = JSON.stringify([pricingProviderId, upstreamModel, Date.parse(effectiveFrom)]);
    if (seen.has(key)) throw new TypeError(`price catalogue: two rows for ${key}`);
    seen.add(key);
  }
  return entries;
}

const toEntry = (row: t.TypeOf<typeof catalogueRow>): CatalogueEntry => ({
  pricingProviderId: row.provider,
  upstreamModel: row.model,
  inputUsdPerMillion: row.input_usd_per_million,
  outputUsdPerMillion: row.output_usd_per_million,
  effectiveFrom: row.effective_from,
  source: row.source,
});

/** Path and expected type of the first fault, such as `3.effective_from is no UTC instant`. */
function firstFault(errors: t.Errors): string {
  const context = errors[0]?.context ?? [];
  const path = context.map(({ key }) => key).filter((key) => key !== '');
  return `${path.join('.') || 'file'} is no ${context.at(-1)?.type.name ?? 'catalogue'}`;
}
