import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isSameNumber, isZero, shiftDecimal } from './decimal-text.ts';
import { members, NumberText } from './number-text.ts';
import { type PriceRow, type RowPrice, textTokenPrices } from './price-row.ts';
import { litellmPair } from './provider-names.ts';

type Fields = Readonly<Record<string, unknown>>;

/** LiteLLM writes USD per token: six decimal places from USD per million. */
const places = 6;

/** The modes that are charged by text tokens; images, speech, video, search and the rest are not. */
const textModes: ReadonlySet<unknown> = new Set(['chat', 'responses', 'completion', 'embedding']);

/** What one price field of a row means for carrying the row. */
type Verdict = 'carried' | { readonly note: string } | { readonly skip: string };

interface FieldRule {
  readonly pattern: RegExp;
  readonly judge: (field: string, row: Fields, key: string) => Verdict;
}

const always =
  (verdict: Verdict): FieldRule['judge'] =>
  () =>
    verdict;

/**
 * The first rule whose pattern matches a field decides. Cached and batch prices do not keep a row from being carried:
 * tokens are charged at the input price whether cached or not, and the gateway has no batch calls.
 */
const fieldRules: readonly FieldRule[] = [
  { pattern: /^(input|output)_cost_per_token$/, judge: always('carried') },
  { pattern: /cache|_batches$/, judge: always('carried') },
  {
    pattern: /^(input|output)_cost_per_(audio|image|video)_token(_above_\d+k?_tokens.*)?$/,
    judge: (field, row) =>
      isPricedAsText(field, row) ? 'carried' : { note: 'audio, image or video tokens at their own price' },
  },
  {
    pattern: /_above_\d+k?_tokens|^tiered_pricing$/,
    judge: (field) => ({ skip: `tiered by prompt length: ${field}` }),
  },
  { pattern: /^off_peak_pricing$/, judge: always({ skip: 'price depends on the time of day' }) },
  {
    pattern: /_(priority|flex|balanced|ultrafast|decisions)$/,
    judge: always({ note: 'service tiers other than the default' }),
  },
  {
    pattern: /^(search_context|google_maps_grounding)_cost_per_query$/,
    judge: (field, row, key) =>
      alwaysSearches(row, key)
        ? { skip: `fee for each call besides tokens: ${field}` }
        : { note: 'fees of search tools' },
  },
  {
    pattern: /^(code_interpreter|computer_use|file_search|vector_store)_/,
    judge: always({ note: 'fees of hosted tools' }),
  },
  {
    pattern: /^output_cost_per_reasoning_token$/,
    judge: (field, row) =>
      isPricedAsText(field, row) ? 'carried' : { skip: 'reasoning tokens have their own price' },
  },
  { pattern: /_dbu_cost_per_token$/, judge: always({ note: 'the provider charges in its own unit' }) },
  { pattern: /uplift_multiplier/, judge: always({ note: 'regional endpoints cost more' }) },
  {
    pattern: /^provider_specific_entry$/,
    judge: (field, row) =>
      Object.values(members(row[field]) ?? {}).some((value) => value instanceof NumberText)
        ? { note: 'regions or modes with a multiplier' }
        : 'carried',
  },
  {
    pattern: /cost|pric|fee|surcharge/,
    judge: (field, row) =>
      isNothing(row[field]) ? 'carried' : { skip: `charged for more than text tokens: ${field}` },
  },
];

/** Whether the file is LiteLLM's map: an object of models, whose rows name their `litellm_provider`. */
export const isLitellmMap = (file: Fields): boolean =>
  Object.values(file).some((row) => typeof members(row)?.['litellm_provider'] === 'string');

/** Every row of `model_prices_and_context_window.json`, in file order. */
export const litellmRows = (file: Fields): readonly PriceRow[] =>
  Object.entries(file).map(([key, row]) => ({ model: key, price: litellmPrice(key, members(row)) }));

function litellmPrice(key: string, row: Fields | undefined): Either<string, RowPrice> {
  const provider = row?.['litellm_provider'];
  if (row === undefined || typeof provider !== 'string') return E.left('no litellm_provider: not a model');
  if (key === 'sample_spec') return E.left("the file's own legend, not a model");
  const mode = row['mode'] ?? 'chat';
  if (!textModes.has(mode))
    return E.left(`mode ${typeof mode === 'string' ? mode : 'unknown'} is not charged by text tokens`);
  const verdicts = Object.keys(row).map((field) => judge(field, row, key));
  const reasons = verdicts.flatMap((verdict) =>
    typeof verdict === 'object' && 'skip' in verdict ? [verdict.skip] : [],
  );
  if (reasons[0] !== undefined) return E.left(reasons[0]);
  const pair = litellmPair(provider, key);
  if (E.isLeft(pair)) return pair;
  const prices = textTokenPrices({
    input: row['input_cost_per_token'],
    output: row['output_cost_per_token'],
    embeds: mode === 'embedding',
    places,
  });
  if (E.isLeft(prices)) return prices;
  const notes = verdicts.flatMap((verdict) =>
    typeof verdict === 'object' && 'note' in verdict ? [verdict.note] : [],
  );
  return E.right({
    pair: pair.right,
    inputUsdPerMillion: prices.right.input,
    outputUsdPerMillion: prices.right.output,
    notCarried: [...new Set(notes)],
  });
}

const judge = (field: string, row: Fields, key: string): Verdict =>
  fieldRules.find(({ pattern }) => pattern.test(field))?.judge(field, row, key) ?? 'carried';

/** Models that search in every call, so that every call costs the search fee. */
const alwaysSearches = (row: Fields, key: string): boolean =>
  row['litellm_provider'] === 'perplexity' || /search/.test(key);

/** Whether a token of another kind costs the same as a text token of the same direction. */
function isPricedAsText(field: string, row: Fields): boolean {
  const text = field.startsWith('input') ? 'input_cost_per_token' : 'output_cost_per_token';
  return isSameNumber(row[field], row[text]);
}

/** Whether there is no fee: a written zero or null. */
const isNothing = (value: unknown): boolean =>
  value === null || (value instanceof NumberText && isZero(shiftDecimal(value.source, 0) ?? value.source));
