import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { type GatewayError, invalidRequest } from '../shared/gateway-error.ts';
import { type Capability, type CapabilityFields, missingCapability } from './capabilities.ts';
import type { Model, ResolvedRoute, Route, RoutingProvider } from './model.ts';

/**
 * Enabled routes in ascending `priority`, ties in file order; the first whose effective capabilities suffice
 * is the one that executes; never a second. A model with usable routes of which none suffices is a capability
 * mismatch that names what the first route lacks; one without any usable route is `no_routes_available`.
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

/** The routes of a model as they are tried; `routes` come in file order. */
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

/** The request field that asks for a capability, in chat completions; `fields` tells where a request has another. */
const fieldOf = {
  chat_completions: 'model',
  responses: 'model',
  embeddings: 'model',
  stream: 'stream',
  tools: 'tools',
  vision: 'messages',
  json_schema: 'response_format',
} as const satisfies Record<Capability, string>;
