import type { FieldShapes, ValueShape } from '../shared/field-shapes.ts';
import { isFilled, membersOf } from '../shared/json.ts';
import type { Watched } from '../shared/json-scan.ts';

const empty: ValueShape = [
  'empty: only the model in `model` answers',
  (value) => !isFilled(value),
  { type: 'array', items: {}, maxItems: 0 },
];
const withoutModels: ValueShape = [
  'without `gateway.models`: only the model in `model` answers',
  (value) => !isFilled(membersOf(membersOf(value)['gateway'])['models']),
  { properties: { gateway: { properties: { models: empty[2] } } } },
];

/**
 * Fields in which aggregators take further models, one of which answers if the first fails. The key may not be allowed
 * to use it, and the answer would have the price of another.
 */
export const otherModels: FieldShapes = [
  ['models', empty],
  ['fallbacks', empty],
  ['providerOptions', withoutModels],
];

export const otherModelsWatched: Watched = { providerOptions: { gateway: {} } };
