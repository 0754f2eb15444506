import type { routeCodec } from './model-config.ts';
import { type Finding, finding, type Path } from './problem.ts';
import { authHeadersOf, type providerCodec } from './provider-config.ts';
import type { TypeOf } from './scalar-codecs.ts';

type RouteWire = TypeOf<typeof routeCodec>;
type ProviderWire = TypeOf<typeof providerCodec>;

/** A rule between a route and the provider that it names; `path` is the route's. */
type RouteRule = (route: RouteWire, provider: ProviderWire, path: Path) => readonly Finding[];

/** Headers that some provider or other takes a credential from. */
const credentialHeaders = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'anthropic-api-key'];

/**
 * `extra_headers` never replace authentication. Where the ID token goes into a header of its own,
 * `Authorization` is the application's, and a route may fill it.
 */
const authenticationStays: RouteRule = (route, provider, path) => {
  const own = authHeadersOf(provider);
  const free =
    provider.type === 'cloud_run_compat' && !own.includes('authorization') ? 'authorization' : undefined;
  return Object.keys(route.extra_headers)
    .filter((name) => own.includes(name.toLowerCase()) || credentialHeaders.includes(name.toLowerCase()))
    .filter((name) => name.toLowerCase() !== free)
    .map((name) =>
      finding([...path, 'extra_headers', name], "would replace authentication: that is the provider's"),
    );
};

/** Rules of the `router` and `cloud_b` blocks belong into this list. */
export const routeRules: readonly RouteRule[] = [authenticationStays];
