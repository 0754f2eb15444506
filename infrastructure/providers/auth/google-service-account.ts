import type { Either } from 'fp-ts/lib/Either.js';
import { addFragment } from '../../../domain/shared/fragments.ts';
import { maxParsedDepth } from '../../../domain/shared/limits.ts';
import { nestsDeeperThan } from '../../../domain/shared/nesting.ts';
import type { CredentialLease } from './renewed.ts';
import type { ServiceAccount } from './service-account-file.ts';
import { accessTokenLease, cloudPlatformScope, idTokenLease, maxTokenBytes } from './token-service.ts';

/** An access token in exchange for an assertion that the account signs. */
export async function accountAccessToken(
  account: ServiceAccount,
  signal: AbortSignal,
): Promise<Either<string, CredentialLease<string>>> {
  const { access_token: token, expiry_date: endsAt } = await exchanged(account, signal, {
    scope: cloudPlatformScope,
  });
  return accessTokenLease(token, endsAt);
}

/** An ID token in exchange for an assertion that names the token's audience (`target_audience`). */
export async function accountIdToken(
  account: ServiceAccount,
  audience: string,
  signal: AbortSignal,
): Promise<Either<string, CredentialLease<string>>> {
  const { id_token: token } = await exchanged(account, signal, { target_audience: audience });
  return idTokenLease(token);
}

/**
 * The library always uses its own token URL, both as the address and as the assertion's audience, whatever the file
 * says: both are replaced here. Its interceptors are not used, because they print headers when debugging is on.
 */
async function exchanged(
  account: ServiceAccount,
  signal: AbortSignal,
  claims: Readonly<Record<string, string>>,
) {
  const { JWT } = await import('google-auth-library');
  const client = new JWT({
    email: account.email,
    key: account.privateKey,
    additionalClaims: { ...claims, aud: account.tokenUri },
    useAuthRequestParameters: false,
    transporterOptions: {
      fetchImplementation: async (_, options) =>
        bounded(await fetch(account.tokenUri, { ...options, redirect: 'error', signal })),
    },
  });
  return client.authorize();
}

/**
 * Bounds an answer in size and depth, because the library does neither: it reads any length, and parses with the
 * engine's own parser, for which some thousand levels of nesting may end the process (`parseText`).
 */
async function bounded({ body, status, headers }: Response): Promise<Response> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    bytes += piece.length;
    if (bytes > maxTokenBytes) throw new RangeError('the token service answered with too much');
    addFragment(pieces, piece);
  }
  const text = Buffer.concat(pieces).toString();
  if (nestsDeeperThan(text, maxParsedDepth)) throw new RangeError('the token service answered too deep');
  return new Response(text === '' ? null : text, { status, headers });
}
