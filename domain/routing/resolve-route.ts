import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { type Capability, type CapabilityFields, missingCapability } from './capabilities.ts';
import type { Model, ResolvedRoute, Route, RoutingProvider } from './model.ts';

/**
 * Enabled routes are tried in ascending `priority`, ties in file order. The first whose effective capabilities meet all
 * needs executes, and never a second one. When a model has usable routes but none suffices, the error is a capability
 * mismatch that names what the first route lacks; without any usable route it is `no_routes_available`.
 */
export function resolveRoute(
  model: Model,
  needs: readonly Capability[],
  providerOf: (id: string) => RoutingProvider | undefined,
  fields: CapabilityFields = {},
): Either<GatewayError, ResolvedRoute> {
  let missing: Capability | undefined;
  for (const route of model.routes) {
    const provider = providerOf(route.provider);
    if (provider === undefined) continue;
    const lacks = missingCapability(needs, route.capabilities, provider.supports(route));
    if (lacks === undefined) return E.right({ route, provider });
    missing ??= lacks;
  }
  return E.left(
    missing === undefined ? noRoutes(model) : mismatch(model, missing, fields[missing] ?? fieldOf[missing]),
  );
}

/** The enabled routes of a model in the order in which they are tried; `routes` are in file order. */
export const routesInOrder = (routes: readonly Route[]): readonly Route[] =>
  routes.filter((route) => route.enabled).sort((a, b) => a.priority - b.priority);

const noRoutes = (model: Model): GatewayError => ({
  code: 'no_routes_available',
  message: `No route of the model \`${model.id}\` is available.`,
});

const mismatch = (model: Model, missing: Capability, field: string): GatewayError =>
  invalidRequest(
    `The model \`${model.id}\` has no route with the capability \`${missing}\`, which this request needs${
      field === 'model' ? '' : ` for \`${field}\``
    }.`,
    field,
  );

/** The field of chat completions that needs a capability; `fields` names those of a request that differ. */
const fieldOf = {
  chat_completions: 'model',
  responses: 'model',
  embeddings: 'model',
  stream: 'stream',
  tools: 'tools',
  vision: 'messages',
  json_schema: 'response_format',
} as const satisfies Record<Capability, string>;
