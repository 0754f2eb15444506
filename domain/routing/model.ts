import type { RateLimit } from '../limits/rate-limit.ts';
import type { JsonObject } from '../shared/json.ts';
import { perObject } from '../shared/per-object.ts';
import type { Capabilities } from './capabilities.ts';

/** The kind of provider behind a route. Each kind has its own fields, its folder and its name in telemetry. */
export type ProviderKind = 'compat' | 'cloud_run_compat' | 'cloud_a_platform' | 'cloud_b_platform';

/** The public API families; also the values of `metadata_json.operation`. */
export type ApiFamily = 'chat_completions' | 'messages' | 'responses' | 'embeddings' | 'count_tokens';

/** Token counts are not charged: counting uses no model, platforms do not bill it, and it writes no ledger row. */
export const isCharged = (family: ApiFamily): boolean => family !== 'count_tokens';

/** The id of a route: its model and its position in the file. */
export const routeIdOf = (modelId: string, position: number): string => `${modelId}#${position}`;

/** One way to serve a model: a provider, the model's name there, and the capabilities of the pair. */
export interface Route {
  readonly routeId: string;
  /** Key of a configured provider. */
  readonly provider: string;
  /** The model's name as the upstream accepts it. */
  readonly upstreamModel: string;
  /** Enabled routes are tried in ascending priority, ties in file order. */
  readonly priority: number;
  readonly enabled: boolean;
  readonly capabilities: Capabilities;
  /** Persisted as `model_routes.compatibility_json`; belongs to the route, not the provider. */
  readonly compatibility: Compatibility;
  readonly extraHeaders: Readonly<Record<string, string>>;
  /** The final raw override that is merged into the upstream body. */
  readonly extraBody: JsonObject;
  /** The `max_tokens` of a caller who sets none, where the upstream's body requires it. */
  readonly defaultMaxTokens?: number;
  /** Maximum number of tokens that the upstream's model can generate, if the bundled catalogue knows it. */
  readonly outputLimit?: number;
}

/** The configured compatibility blocks; each provider kind reads its own. */
export interface Compatibility {
  readonly compat?: JsonObject;
  readonly router?: JsonObject;
  readonly cloud_a?: JsonObject;
  readonly cloud_b?: JsonObject;
}

export interface Model {
  readonly id: string;
  readonly createdAt: Date;
  /** The enabled routes, in the order in which they are tried (`routesInOrder`). */
  readonly routes: readonly Route[];
  /** Applies to all requests for the model, whoever makes them. */
  readonly limit?: RateLimit;
}

/** The one route that executes, and its provider. */
export interface ResolvedRoute {
  readonly route: Route;
  readonly provider: RoutingProvider;
}

/** What routing needs to know about a provider; `supports` returns what its implementation can do on a route. */
export interface RoutingProvider {
  readonly id: string;
  readonly kind: ProviderKind;
  readonly pricingProviderId: string;
  readonly supports: (route: Route) => Capabilities;
  readonly takes: (route: Route, family: ApiFamily) => FamilySupport | undefined;
}

/**
 * How the upstream of a route takes a family: as written, with the edits that the route asks for, or translated by the
 * provider, which merges `extra_body` into the body that it makes. `undefined` when the upstream does not take it.
 */
export type FamilySupport = 'as_written' | 'translated';

/** When the provider translates the body it also applies `extra_body`, so the route is returned without it. */
export const routeOfBody = ({ route, provider }: ResolvedRoute, family: ApiFamily): Route =>
  provider.takes(route, family) === 'translated' ? withoutOverride(route) : route;

const withoutOverride = perObject((route: Route): Route => ({ ...route, extraBody: {} }));
