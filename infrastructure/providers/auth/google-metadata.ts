import type { Either } from 'fp-ts/lib/Either.js';
import type { CredentialLease } from './renewed.ts';
import { accessTokenLease, cloudPlatformScope, idTokenLease } from './token-service.ts';

/**
 * An access token of the machine's own account. The metadata server is called directly: checking first whether there is
 * one takes about a second.
 */
export async function metadataAccessToken(): Promise<Either<string, CredentialLease<string>>> {
  const { Compute } = await directLibrary();
  const client = new Compute({ scopes: [cloudPlatformScope] });
  const { token } = await client.getAccessToken();
  return accessTokenLease(token, client.credentials.expiry_date);
}

/** An ID token of the machine's own account. The library puts the audience into the query unencoded. */
export async function metadataIdToken(audience: string): Promise<Either<string, CredentialLease<string>>> {
  const { Compute } = await directLibrary();
  return idTokenLease(await new Compute().fetchIdToken(encodeURIComponent(audience)));
}

/**
 * The metadata server is asked directly (rule 21.7): a proxy that `HTTPS_PROXY` or `HTTP_PROXY` names cannot reach it,
 * or reaches that of its own machine. The library's clients have no option for these requests.
 */
async function directLibrary() {
  const library = await import('google-auth-library');
  library.gaxios.instance.defaults.noProxy = [/^/];
  return library;
}
