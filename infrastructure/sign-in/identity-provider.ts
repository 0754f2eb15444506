import type { IdentityProvider } from '../../application/ports/sign-in.ts';
import type { OidcConfig } from '../config/admin-auth-config.ts';

/**
 * One identity provider under one configuration, with the URI that it redirects browsers to. The library is loaded with
 * the first sign-in: most replicas never have one, and would keep it in memory all the same.
 */
export function identityProvider(oidc: OidcConfig, redirectUri: string): IdentityProvider {
  let loaded: Promise<IdentityProvider> | undefined;
  const provider = (): Promise<IdentityProvider> => {
    loaded ??= import('./openid-provider.ts')
      .then(({ openIdProvider }) => openIdProvider(oidc, redirectUri))
      .catch((error: unknown) => {
        // Too many open files may have been the cause, so the next call loads it again.
        loaded = undefined;
        throw error;
      });
    return loaded;
  };
  return {
    authorizationUrl: async (keys, asksAccount) => (await provider()).authorizationUrl(keys, asksAccount),
    claims: async (query, keys) => (await provider()).claims(query, keys),
    endSessionUrl: async () => (await provider()).endSessionUrl(),
  };
}
