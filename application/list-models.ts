import { type Caller, mayUseModel } from '../domain/identity/caller.ts';
import type { Model } from '../domain/routing/model.ts';
import type { Catalogue } from './ports/catalogue.ts';

/** The models that a key may use, ordered by id. */
export const listModels =
  (catalogue: Catalogue) =>
  (caller: Caller): readonly Model[] =>
    [...catalogue.snapshot().models.values()]
      .filter((model) => mayUseModel(caller, model.id))
      .sort((a, b) => (a.id < b.id ? -1 : 1));
