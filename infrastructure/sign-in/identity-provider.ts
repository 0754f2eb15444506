import type { IdentityProvider } from '../../application/ports/sign-in.ts';
import type { OidcConfig } from '../config/admin-auth-config.ts';

/**
 * One identity provider under one configuration, and where it sends browsers back to. Its library is loaded with the
 * first sign-in: most replicas never see one, and would hold it in memory all the same.
 */
export function identityProvider(oidc: OidcConfig, redirectUri: string): IdentityProvider {
  let loaded: Promise<IdentityProvider> | undefined;
  const provider = (): Promise<IdentityProvider> => {
    loaded ??= import('./openid-provider.ts')
      .then(({ openIdProvider }) => openIdProvider(oidc, redirectUri))
      .catch((error: unknown) => {
        // There may have been too many open files.
        loaded = undefined;
        throw error;
      });
    return loaded;
  };
  return {
    authorizationUrl: async (keys) => (await provider()).authorizationUrl(keys),
    claims: async (query, keys) => (await provider()).claims(query, keys),
    endSessionUrl: async () => (await provider()).endSessionUrl(),
  };
}
