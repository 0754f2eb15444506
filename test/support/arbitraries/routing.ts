import * as fc from 'fast-check';
import {
  type Capabilities,
  type Capability,
  capabilities,
  permissive,
} from '../../../domain/routing/capabilities.ts';
import type { Model, Route, RoutingProvider } from '../../../domain/routing/model.ts';
import { routesInOrder } from '../../../domain/routing/resolve-route.ts';

/** A usable route; a test sets only what it is about. */
export const aRoute = (over: Partial<Route> = {}): Route => ({
  routeId: 'fast#0',
  provider: 'up',
  upstreamModel: 'upstream-fast',
  priority: 100,
  enabled: true,
  capabilities: permissive,
  compatibility: {},
  extraHeaders: {},
  extraBody: {},
  ...over,
});

/** A model as the catalogue holds it, from routes in file order. */
export const aModel = (routes: readonly Route[]): Model => ({
  id: 'fast',
  createdAt: new Date(0),
  routes: routesInOrder(routes),
});

/** A provider that supports everything, or the given capabilities. */
export const aProvider = (id: string, supports: Capabilities = permissive): RoutingProvider => ({
  id,
  kind: 'compat',
  pricingProviderId: id,
  supports: () => supports,
  takes: () => 'as_written',
});

/** Every capability except these. */
export const allBut = (...missing: readonly Capability[]): Capabilities => ({
  ...permissive,
  ...Object.fromEntries(missing.map((each) => [each, false])),
});

export const someCapabilities: fc.Arbitrary<Capabilities> = fc
  .subarray([...capabilities])
  .map((missing) => allBut(...missing));

export const someNeeds: fc.Arbitrary<readonly Capability[]> = fc.shuffledSubarray([...capabilities], {
  minLength: 1,
});
