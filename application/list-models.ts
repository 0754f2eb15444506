import { type Caller, mayUseModel, usableModels } from '../domain/identity/caller.ts';
import type { Model } from '../domain/routing/model.ts';
import type { Catalogue } from './ports/catalogue.ts';

/** The models that a key may use, ordered by id. */
export const listModels =
  (catalogue: Catalogue) =>
  (caller: Caller): readonly Model[] =>
    usableModels(caller, catalogue.snapshot().models).sort((a, b) => (a.id < b.id ? -1 : 1));

/** One of them. */
export const findModel =
  (catalogue: Catalogue) =>
  (caller: Caller, id: string): Model | undefined =>
    mayUseModel(caller, id) ? catalogue.snapshot().models.get(id) : undefined;
