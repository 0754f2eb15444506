import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { CatalogueEntry } from '../../domain/money/price-catalogue.ts';
import { isUtcInstant } from './instant.ts';
import { isLitellmMap, litellmRows } from './litellm-map.ts';
import { isModelsDevApi, modelsDevRows } from './models-dev.ts';
import { members, parseKeepingNumbers } from './number-text.ts';
import type { PriceRow, RowPrice } from './price-row.ts';

/** What the file does not say about its prices, so that the importer must. */
export interface ImportOptions {
  /** RFC 3339 UTC instant from which the prices apply. */
  readonly effectiveFrom: string;
  /** Where the file comes from, with its date; one line. */
  readonly source: string;
}

/** A row to report to people: its name in the file, and the reason. */
export interface ListedRow {
  readonly model: string;
  readonly reason: string;
}

/** The prices that could be carried exactly, and every row that was not carried, or not completely. */
export interface ImportedPrices {
  /** Sorted by provider, then model; one for each pair. */
  readonly entries: readonly CatalogueEntry[];
  readonly skipped: readonly ListedRow[];
  /** Rows with an entry for which the file also prices something that a caller can ask for and no entry carries. */
  readonly notes: readonly ListedRow[];
}

/** The longest file that is read, in characters; the two public ones have 3 and 4 million. */
const maxFileLength = 64 * 1024 * 1024;

/**
 * Reads LiteLLM's `model_prices_and_context_window.json` or models.dev's `api.json`, distinguished by their shape. The
 * error says why the file or an option is not valid.
 */
export function importPrices(text: string, options: ImportOptions): Either<string, ImportedPrices> {
  if (!isUtcInstant(options.effectiveFrom))
    return E.left(`not an RFC 3339 UTC instant: ${options.effectiveFrom}`);
  if (!/^\P{Cc}+$/u.test(options.source)) return E.left('the source must be one line of text');
  if (text.length > maxFileLength) return E.left(`longer than ${maxFileLength} characters`);
  return pipe(
    parseKeepingNumbers(text),
    E.chain(rowsOf),
    E.map((read) => collect(withoutDuplicates(read), options)),
  );
}

function rowsOf(file: unknown): Either<string, readonly PriceRow[]> {
  const fields = members(file);
  if (fields !== undefined && isLitellmMap(fields)) return E.right(litellmRows(fields));
  if (fields !== undefined && isModelsDevApi(fields)) return E.right(modelsDevRows(fields));
  return E.left('neither a LiteLLM price map nor a models.dev api.json');
}

/**
 * Of several rows for the same pair, the first is kept if all have the same price. If prices differ, none is exact and
 * all are skipped.
 */
function withoutDuplicates(rows: readonly PriceRow[]): readonly PriceRow[] {
  const first = new Map<string, PriceRow & { readonly written: string }>();
  const disputed = new Set<string>();
  for (const row of rows) {
    if (E.isLeft(row.price)) continue;
    const pair = pairText(row.price.right);
    const written = pricesText(row.price.right);
    const before = first.get(pair);
    if (before === undefined) first.set(pair, { ...row, written });
    else if (before.written !== written) disputed.add(pair);
  }
  return rows.map(({ model, price }) => ({
    model,
    price: pipe(
      price,
      E.chain((row) => {
        const pair = pairText(row);
        const original = first.get(pair);
        if (disputed.has(pair)) return E.left(`duplicate: rows for ${pair} differ in price`);
        return original?.price === price ? E.right(row) : E.left(`duplicate of ${original?.model}`);
      }),
    ),
  }));
}

const pairText = ({ pair }: RowPrice): string => `${pair.pricingProviderId} ${pair.upstreamModel}`;

const pricesText = (row: RowPrice): string => `${row.inputUsdPerMillion} ${row.outputUsdPerMillion}`;

function collect(rows: readonly PriceRow[], options: ImportOptions): ImportedPrices {
  const entries: CatalogueEntry[] = [];
  const skipped: ListedRow[] = [];
  const notes: ListedRow[] = [];
  for (const { model, price } of rows) {
    if (E.isLeft(price)) {
      skipped.push({ model, reason: price.left });
      continue;
    }
    const { pair, inputUsdPerMillion, outputUsdPerMillion, notCarried } = price.right;
    entries.push({ ...pair, inputUsdPerMillion, outputUsdPerMillion, ...options });
    if (notCarried.length > 0) notes.push({ model, reason: `not carried: ${notCarried.join('; ')}` });
  }
  return { entries: entries.sort(byPair), skipped, notes };
}

/** The order of the bundled file and of imports: provider, then model, by code unit. */
const byPair = (a: CatalogueEntry, b: CatalogueEntry): number =>
  compare(a.pricingProviderId, b.pricingProviderId) || compare(a.upstreamModel, b.upstreamModel);

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
