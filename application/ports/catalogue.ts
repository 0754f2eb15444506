import type { PriceCatalogue } from '../../domain/money/price-catalogue.ts';
import type { Model, RoutingProvider } from '../../domain/routing/model.ts';

/** Models, routes and providers as one immutable snapshot; a request uses the same one from start to end. */
export interface CatalogueSnapshot {
  readonly models: ReadonlyMap<string, Model>;
  /** `undefined` when the provider is disabled, or this process lacks what it needs to call it. */
  readonly provider: (id: string) => RoutingProvider | undefined;
  readonly prices: PriceCatalogue;
}

export interface Catalogue {
  readonly snapshot: () => CatalogueSnapshot;
}
