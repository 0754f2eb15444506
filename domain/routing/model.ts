import type { RateLimit } from '../limits/rate-limit.ts';
import type { JsonObject } from '../shared/json.ts';
import { perObject } from '../shared/per-object.ts';
import type { Capabilities } from './capabilities.ts';

/** Who is behind a route. Each kind has its fields, its folder and its name in telemetry. */
export type ProviderKind = 'compat' | 'cloud_run_compat' | 'cloud_a_platform' | 'cloud_b_platform';

/** The public API families; also the values of `metadata_json.operation`. */
export type ApiFamily = 'chat_completions' | 'messages' | 'responses' | 'embeddings' | 'count_tokens';

/** Counting tokens uses no model: platforms do not bill it, and it writes no ledger row. */
export const isCharged = (family: ApiFamily): boolean => family !== 'count_tokens';

/** A route by its model and its place in the file. */
export const routeIdOf = (modelId: string, position: number): string => `${modelId}#${position}`;

/** One way to serve a model: a provider, the model's name there, and what the pair can do. */
export interface Route {
  readonly routeId: string;
  /** Key of a configured provider. */
  readonly provider: string;
  /** Model identity accepted by the upstream. */
  readonly upstreamModel: string;
  /** Enabled routes are tried in ascending priority, ties in file order. */
  readonly priority: number;
  readonly enabled: boolean;
  readonly capabilities: Capabilities;
  /** Persisted as `model_routes.compatibility_json`; belongs to the route, not the provider. */
  readonly compatibility: Compatibility;
  readonly extraHeaders: Readonly<Record<string, string>>;
  /** Final raw override merged into the upstream body. */
  readonly extraBody: JsonObject;
  /** What a caller who sets no `max_tokens` gets where the upstream's body knows no answer without it. */
  readonly defaultMaxTokens?: number;
  /** The most tokens that the upstream's model can answer with, where the bundled catalogue knows it. */
  readonly outputLimit?: number;
}

/** The blocks as they are configured; each provider kind reads its own. */
export interface Compatibility {
  readonly compat?: JsonObject;
  readonly router?: JsonObject;
  readonly cloud_a?: JsonObject;
  readonly cloud_b?: JsonObject;
}

export interface Model {
  readonly id: string;
  readonly createdAt: Date;
  /** The enabled ones, in the order in which they are tried (`routesInOrder`). */
  readonly routes: readonly Route[];
  /** Of all requests for it, whoever makes them. */
  readonly limit?: RateLimit;
}

/** The one route that executes, and who is behind it. */
export interface ResolvedRoute {
  readonly route: Route;
  readonly provider: RoutingProvider;
}

/** What routing needs to know of a provider; `supports` is what its implementation can do on this route. */
export interface RoutingProvider {
  readonly id: string;
  readonly kind: ProviderKind;
  readonly pricingProviderId: string;
  readonly supports: (route: Route) => Capabilities;
  readonly takes: (route: Route, family: ApiFamily) => Takes | undefined;
}

/**
 * How the upstream of a route takes a family: as it is written, with the edits that the route asks for, or translated
 * by the provider, which merges `extra_body` into what it makes. Undefined: not at all.
 */
export type Takes = 'as_written' | 'translated';

/** Where the provider writes the body itself, it is the one that overrides it. */
export const routeOfBody = ({ route, provider }: ResolvedRoute, family: ApiFamily): Route =>
  provider.takes(route, family) === 'translated' ? withoutOverride(route) : route;

const withoutOverride = perObject((route: Route): Route => ({ ...route, extraBody: {} }));
