import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isSameNumber } from './decimal-text.ts';
import { members } from './number-text.ts';
import { type PriceRow, type RowPrice, textTokenPrices } from './price-row.ts';
import { modelsDevPair } from './provider-names.ts';

type Fields = Readonly<Record<string, unknown>>;

/** models.dev writes USD per million tokens. */
const places = 0;

/** Whether the file is that of models.dev: an object of providers that have `models`. */
export const isModelsDevApi = (file: Fields): boolean =>
  Object.values(file).some((provider) => members(members(provider)?.['models']) !== undefined);

/** Every model of `api.json`, named `provider/model`, in file order. */
export const modelsDevRows = (file: Fields): readonly PriceRow[] =>
  Object.entries(file).flatMap(([provider, value]) => {
    const models = members(members(value)?.['models']);
    if (models === undefined) return [{ model: provider, price: E.left('no models: not a provider') }];
    return Object.entries(models).map(([model, row]) => ({
      model: `${provider}/${model}`,
      price: modelsDevPrice(provider, model, members(row) ?? {}),
    }));
  });

function modelsDevPrice(provider: string, model: string, row: Fields): Either<string, RowPrice> {
  const cost = members(row['cost']);
  if (cost === undefined) return E.left('no cost');
  const reason = outputReason(row) ?? costReason(cost);
  if (reason !== undefined) return E.left(reason);
  const pair = modelsDevPair(provider, model);
  if (E.isLeft(pair)) return pair;
  const family = row['family'];
  const embeds = /embed/i.test(model) || (typeof family === 'string' && /embed/i.test(family));
  const prices = textTokenPrices({ input: cost['input'], output: cost['output'], embeds, places });
  if (E.isLeft(prices)) return prices;
  return E.right({
    pair: pair.right,
    inputUsdPerMillion: prices.right.input,
    outputUsdPerMillion: prices.right.output,
    notCarried:
      hasOwnPrice(cost, 'input_audio', 'input') || hasOwnPrice(cost, 'output_audio', 'output')
        ? ['audio, image or video tokens at their own price']
        : [],
  });
}

/** The output price of a model that makes images, speech or video is not a price of text tokens. */
function outputReason(row: Fields): string | undefined {
  const made = members(row['modalities'])?.['output'];
  const other = Array.isArray(made) ? made.find((kind) => kind !== 'text') : undefined;
  return other === undefined
    ? undefined
    : `makes ${typeof other === 'string' ? other : 'something unknown'}: not charged by text tokens alone`;
}

const known: ReadonlySet<string> = new Set([
  'input',
  'output',
  'cache_read',
  'cache_write',
  'reasoning',
  'input_audio',
  'output_audio',
]);

function costReason(cost: Fields): string | undefined {
  const tier = Object.keys(cost).find((field) => field === 'tiers' || field.startsWith('context_over_'));
  if (tier !== undefined) return `tiered by prompt length: ${tier}`;
  const unknown = Object.keys(cost).find((field) => !known.has(field));
  if (unknown !== undefined) return `charged for more than text tokens: ${unknown}`;
  return hasOwnPrice(cost, 'reasoning', 'output') ? 'reasoning tokens have their own price' : undefined;
}

/** Whether `field` is present and differs from the price of text. */
function hasOwnPrice(cost: Fields, field: string, text: 'input' | 'output'): boolean {
  const own = cost[field];
  if (own === undefined || own === null) return false;
  return !isSameNumber(own, cost[text]);
}
