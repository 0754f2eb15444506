import type { LimitTerms } from '../../domain/limits/rate-limit.ts';
import { capabilities, type Capability } from '../../domain/routing/capabilities.ts';
import type { Route } from '../../domain/routing/model.ts';
import { id, modelId, upstreamModel } from './formats.ts';
import { headers } from './headers-codec.ts';
import { limits, toLimits } from './limits-config.ts';
import { type Field, jsonObject, list, object, optional, required, withDefault } from './object-codecs.ts';
import { compatibilityCodec, toCompatibility } from './route-compatibility.ts';
import { boolean, integer, type TypeOf } from './scalar-codecs.ts';

const capability = (name: Capability): Field<boolean> =>
  withDefault(boolean, true, `false keeps ${name} requests off this route.`);

const capabilitiesCodec = object(
  Object.fromEntries(capabilities.map((name) => [name, capability(name)])) as Readonly<
    Record<Capability, Field<boolean>>
  >,
);

export const routeCodec = object({
  provider: required(id, 'Id of a configured provider.'),
  upstream_model: required(upstreamModel, 'Name of the model at that provider.'),
  // Leaves room for gaps of any size between neighbours.
  priority: withDefault(
    integer({ min: 0, max: 1_000_000 }),
    100,
    'Routes are tried in ascending priority, ties in file order.',
  ),
  enabled: withDefault(boolean, true, 'Whether requests may take this route.'),
  // More than any model answers with; a larger number is a mistake.
  default_max_tokens: optional(
    integer({ min: 1, max: 10_000_000 }),
    "Token limit for requests that set none, on routes that send messages bodies; unless set, the model's limit, or else 8192.",
  ),
  capabilities: withDefault(
    capabilitiesCodec,
    {},
    'What the route may serve, within what its provider supports.',
  ),
  compatibility: withDefault(compatibilityCodec, {}, 'How requests are adapted to the upstream.'),
  extra_headers: withDefault(
    headers,
    {},
    'Headers added to upstream requests; they cannot replace authentication.',
  ),
  extra_body: withDefault(
    jsonObject,
    {},
    'Merged last into the upstream body: objects are merged deeply, other values are replaced.',
  ),
});

export const modelCodec = object({
  id: required(modelId, 'Name that callers send as `model`.'),
  // Only the first usable route executes; more than a hundred is a mistake of a generator.
  routes: withDefault(list(routeCodec, 100), [], 'Routes that serve the model.'),
  limits,
});

/** A route of the domain that has no row in the database yet. */
export type RouteConfig = Omit<Route, 'routeId'>;

export interface ModelConfig {
  readonly id: string;
  /** In file order. */
  readonly routes: readonly RouteConfig[];
  readonly limits: LimitTerms | undefined;
}

export const toRoute = (wire: TypeOf<typeof routeCodec>): RouteConfig => ({
  provider: wire.provider,
  upstreamModel: wire.upstream_model,
  priority: wire.priority,
  enabled: wire.enabled,
  capabilities: wire.capabilities,
  compatibility: toCompatibility(wire.compatibility),
  extraHeaders: wire.extra_headers,
  extraBody: wire.extra_body,
  ...(wire.default_max_tokens === undefined ? {} : { defaultMaxTokens: wire.default_max_tokens }),
});

export const toModel = (wire: TypeOf<typeof modelCodec>): ModelConfig => ({
  id: wire.id,
  routes: wire.routes.map(toRoute),
  limits: toLimits(wire.limits),
});
