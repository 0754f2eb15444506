import type { Price } from '../../domain/money/price-catalogue.ts';
import type { ExplainedCapabilities } from '../../domain/routing/explained-capabilities.ts';
import type { Json } from '../../domain/shared/json.ts';
import type { Page, PageRequest } from './page.ts';

export interface ModelFilter {
  readonly modelKey?: string | undefined;
  /** Models with a route to this provider. */
  readonly providerKey?: string | undefined;
  readonly enabled?: boolean | undefined;
}

/**
 * Request logs of the last day, counted from the newest back. When counting stops at its bound, both are lower bounds.
 */
export interface LastDay {
  readonly since: Date;
  readonly requests: number;
  /** How many of these have status 400 or above, without those whose client disconnected. */
  readonly errors: number;
  readonly isLowerBound: boolean;
}

/** A route as stored, with placeholders unresolved, so that it holds no secret. */
export interface StoredRoute {
  readonly modelKey: string;
  readonly position: number;
  readonly upstreamModel: string;
  readonly priority: number;
  readonly enabled: boolean;
  readonly compatibility: Json;
  readonly config: Json;
  readonly provider: StoredProvider;
}

/** A provider as stored. */
export interface StoredProvider {
  readonly providerKey: string;
  readonly kind: string;
  readonly enabled: boolean;
  readonly config: Json;
}

/** What this process derives from a stored route. */
export interface RouteInsight {
  readonly capabilities: ExplainedCapabilities;
  readonly price: Price | undefined;
}

/** What may be shown of a stored provider. */
export interface ProviderInsight {
  /** Scheme, host and path as configured; `undefined` when there is none. */
  readonly host: string | undefined;
  /** For a kind whose styles have two hosts, the host of its endpoint styles. */
  readonly endpointbHost: string | undefined;
  readonly pricingProviderId: string;
}

export interface CatalogueInsight {
  readonly ofRoute: (route: StoredRoute) => RouteInsight;
  readonly ofProvider: (provider: StoredProvider) => ProviderInsight;
}

export interface ListedRoute extends StoredRoute, RouteInsight {}

export interface ListedModel {
  readonly modelKey: string;
  readonly enabled: boolean;
  readonly createdAt: Date;
  /** In file order, including disabled ones. */
  readonly routes: readonly ListedRoute[];
  readonly lastDay: LastDay;
}

export interface ListedProvider extends StoredProvider, ProviderInsight {
  /** Routes of present and past models, enabled or not. */
  readonly routeCount: number;
  readonly lastDay: LastDay;
}

/** Models and providers as the file left them in the database. */
export interface ModelList {
  /** Ordered by id. */
  readonly page: (filter: ModelFilter, page: PageRequest) => Promise<Page<ListedModel>>;
  readonly find: (modelKey: string) => Promise<ListedModel | undefined>;
  /** Ordered by id. */
  readonly providers: (page: PageRequest) => Promise<Page<ListedProvider>>;
}
