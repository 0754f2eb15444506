import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import type {
  CatalogueInsight,
  ProviderInsight,
  StoredProvider,
  StoredRoute,
} from '../../application/ports/model-list.ts';
import type { PriceCatalogue } from '../../domain/money/price-catalogue.ts';
import { type Capabilities, noCapabilities, permissive } from '../../domain/routing/capabilities.ts';
import { explainedCapabilities, type ProviderHalf } from '../../domain/routing/explained-capabilities.ts';
import type { ProviderKind } from '../../domain/routing/model.ts';
import { isObject, isString, type Json } from '../../domain/shared/json.ts';
import type { RouteConfig } from '../config/model-config.ts';
import type { Resolver } from '../config/resolver.ts';
import { implementations } from './registry.ts';

/** The configuration in force at the moment. */
interface LiveFoundations {
  readonly resolver: () => Resolver;
  readonly prices: () => PriceCatalogue;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * How this process understands stored routes and providers. Capabilities are those that routing uses. Hosts are shown
 * as they are stored, with placeholders for values from the environment.
 */
export const catalogueInsight = ({ resolver, prices, now }: LiveFoundations): CatalogueInsight => ({
  ofRoute: (stored) => {
    const { modelKey, position, config, provider } = stored;
    const route = resolver().route(modelKey, position, config);
    const usable = resolver().provider(provider.providerKey, provider.config);
    const configured = E.isRight(route) ? route.right.capabilities : configuredIn(config);
    return {
      capabilities: explainedCapabilities(configured, providerHalf(stored, route, usable)),
      price: prices().priceOf(pricingIdOf(provider, usable), stored.upstreamModel, now()),
    };
  },
  ofProvider: (stored): ProviderInsight => {
    const usable = resolver().provider(stored.providerKey, stored.config);
    return { ...hostsOf(stored), pricingProviderId: pricingIdOf(stored, usable) };
  },
});

/** The capabilities of a route that this process cannot read: every one that is not set to `false` is true. */
const configuredIn = (config: Json): Capabilities => {
  const value = isObject(config) ? config['capabilities'] : undefined;
  return isObject(value)
    ? Object.entries(value).reduce<Capabilities>(
        (all, [name, value]) =>
          value === false && Object.hasOwn(all, name) ? { ...all, [name]: false } : all,
        permissive,
      )
    : permissive;
};

const pricingIdOf = (
  { providerKey, config }: StoredProvider,
  usable: Either<string, { readonly pricingProviderId: string }>,
): string => {
  if (E.isRight(usable)) return usable.right.pricingProviderId;
  const value = isObject(config) ? config['pricing_provider_id'] : undefined;
  return isString(value) ? value : providerKey;
};

const isKind = (kind: string): kind is ProviderKind => Object.hasOwn(implementations, kind);

/** What the provider's implementation supports on this route, as `LiveCatalogue` passes it to routing. */
function providerHalf(
  { provider: { kind } }: StoredRoute,
  route: Either<string, RouteConfig>,
  usable: Either<string, unknown>,
): ProviderHalf {
  if (E.isLeft(route)) return cannot(`This process cannot use the route: ${route.left}.`);
  if (E.isLeft(usable)) return cannot(`This process cannot use the provider: ${usable.left}.`);
  if (!isKind(kind)) return cannot(`This release has no provider kind \`${kind}\`.`);
  const { supports, whatServes } = implementations[kind];
  const subject = whatServes?.(route.right) ?? `The provider kind \`${kind}\``;
  return {
    can: supports(route.right),
    why: (capability) => `${subject} does not serve \`${capability}\`.`,
  };
}

const cannot = (why: string): ProviderHalf => ({ can: noCapabilities, why: () => why });

/** A provider is called at its `base_url`, unless the implementation of its kind has `placesOf`. */
function hostsOf({ kind, config }: StoredProvider): Pick<ProviderInsight, 'host' | 'endpointbHost'> {
  if (!isKind(kind) || !isObject(config)) return { host: undefined, endpointbHost: undefined };
  const [host, endpointbHost] = implementations[kind].placesOf?.(config) ?? [config['base_url']];
  return { host: shown(host), endpointbHost: shown(endpointbHost) };
}

/** Scheme, host and path. The configuration rejects a user or query in a URL, but a stored row may be older. */
const shown = (url: Json | undefined): string | undefined =>
  isString(url)
    ? url.replace(/[?#].*$/su, '').replace(/^([a-z][a-z0-9+.-]*:[/\\]*)?[^/\\]*@/iu, '$1')
    : undefined;
