import type { Price } from '../../domain/money/price-catalogue.ts';
import type { ExplainedCapabilities } from '../../domain/routing/explained-capabilities.ts';
import type { Json } from '../../domain/shared/json.ts';
import type { Page, PageAsk } from './page.ts';

export interface ModelFilter {
  readonly modelKey?: string | undefined;
  /** Models with a route to this provider. */
  readonly providerKey?: string | undefined;
  readonly enabled?: boolean | undefined;
}

/** Request logs of the last day, counted from the newest back; at the bound of a total both are lower ones. */
export interface LastDay {
  readonly since: Date;
  readonly requests: number;
  /** Of these: status 400 and above, but for callers who left. */
  readonly errors: number;
  readonly isLowerBound: boolean;
}

/** A route as it is stored, placeholders unresolved: nothing in it is a secret. */
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

/** A provider as it is stored. */
export interface StoredProvider {
  readonly providerKey: string;
  readonly kind: string;
  readonly enabled: boolean;
  readonly config: Json;
}

/** What this process makes of a stored route. */
export interface RouteInsight {
  readonly capabilities: ExplainedCapabilities;
  readonly price: Price | undefined;
}

/** What of a stored provider may be shown. */
export interface ProviderInsight {
  /** Scheme, host and path as they are configured; undefined where there is none. */
  readonly host: string | undefined;
  /** Of a kind whose styles have two hosts, the one of its endpoint styles. */
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
  /** In file order, disabled ones too. */
  readonly routes: readonly ListedRoute[];
  readonly lastDay: LastDay;
}

export interface ListedProvider extends StoredProvider, ProviderInsight {
  /** Of models that are there or were, enabled or not. */
  readonly routeCount: number;
  readonly lastDay: LastDay;
}

/** Models and providers as the file left them in the database. */
export interface ModelList {
  /** By id. */
  readonly page: (filter: ModelFilter, ask: PageAsk) => Promise<Page<ListedModel>>;
  readonly find: (modelKey: string) => Promise<ListedModel | undefined>;
  /** By id. */
  readonly providers: (ask: PageAsk) => Promise<Page<ListedProvider>>;
}
